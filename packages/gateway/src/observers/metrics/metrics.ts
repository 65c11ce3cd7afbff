import type { CallObserver } from "../../call-observer.js";
import type { GatewayEvents } from "../../events.js";

/** Counts calls and refused requests, for Prometheus. */
export interface Metrics extends CallObserver {
  counts(): Counts;
  /** The text format of Prometheus, with these gauges. */
  render(gauges: readonly Gauge[]): string;
}

/** Counts since the start. */
export interface Counts {
  readonly calls: readonly {
    readonly method: string;
    readonly server: string | undefined;
    readonly outcome: string;
    readonly count: number;
  }[];
  readonly refusals: readonly { readonly limit: string; readonly count: number }[];
  readonly inFlight: number;
}

/** A metric that is read on request. */
export interface Gauge {
  readonly name: string;
  /** "counter" if it only grows. Default "gauge". */
  readonly type?: "gauge" | "counter";
  readonly help: string;
  readonly values: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

/** The upper bounds of the duration buckets, in seconds. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Beyond this number of series, others are counted together: a client must not be able to fill the memory. */
const maxSeries = 2000;

interface Series {
  readonly method: string;
  readonly server: string | undefined;
  readonly labels: string;
  readonly outcomes: Map<string, number>;
  readonly counts: Uint32Array;
  count: number;
  sumSeconds: number;
}

export function createMetrics(events: Pick<GatewayEvents, "subscribe">): Metrics {
  const series: Series[] = [];
  /** By server, then by method: a combined key would cost a string for each call. */
  const index = new Map<string | undefined, Map<string, Series>>();
  const refusals = new Map<string, number>();
  let inFlight = 0;
  events.subscribe({ refused: ({ limit }) => refusals.set(limit, (refusals.get(limit) ?? 0) + 1) });

  const seriesOf = (method: string, server: string | undefined): Series => {
    const known = index.get(server)?.get(method);
    if (known !== undefined) return known;
    if (series.length >= maxSeries && method !== "other") return seriesOf("other", undefined);
    const labels = labelsOf({ method, server: server ?? "" });
    const counts = new Uint32Array(buckets.length);
    const added: Series = { method, server, labels, outcomes: new Map(), counts, count: 0, sumSeconds: 0 };
    const ofServer = index.get(server) ?? new Map<string, Series>();
    index.set(server, ofServer.set(method, added));
    series.push(added);
    return added;
  };

  return {
    started() {
      inFlight += 1;
    },
    ended({ method, isKnown, route }, { how, durationMs }) {
      inFlight -= 1;
      const found = seriesOf(isKnown ? method : "unknown", route?.server);
      const seconds = durationMs / 1000;
      found.outcomes.set(how, (found.outcomes.get(how) ?? 0) + 1);
      found.count += 1;
      found.sumSeconds += seconds;
      const at = buckets.findIndex((end) => seconds <= end);
      if (at >= 0) found.counts[at] = (found.counts[at] ?? 0) + 1;
    },
    counts: () => ({
      calls: series.flatMap(({ method, server, outcomes }) =>
        [...outcomes].map(([outcome, count]) => ({ method, server, outcome, count })),
      ),
      refusals: [...refusals].map(([limit, count]) => ({ limit, count })),
      inFlight,
    }),
    render(gauges) {
      const lines: string[] = [];
      const head = (name: string, type: string, help: string): void =>
        void lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      head(
        "wirescope_gateway_calls_total",
        "counter",
        "Completed requests from clients, by method, server and outcome.",
      );
      for (const { labels, outcomes } of series) {
        for (const [outcome, count] of outcomes) {
          lines.push(`wirescope_gateway_calls_total{${labels},${labelsOf({ outcome })}} ${count}`);
        }
      }
      head("wirescope_gateway_call_duration_seconds", "histogram", "Duration of requests from clients.");
      for (const { labels, counts, count, sumSeconds } of series) {
        let sum = 0;
        for (const [index, end] of buckets.entries()) {
          sum += counts[index] ?? 0;
          lines.push(`wirescope_gateway_call_duration_seconds_bucket{${labels},le="${end}"} ${sum}`);
        }
        lines.push(`wirescope_gateway_call_duration_seconds_bucket{${labels},le="+Inf"} ${count}`);
        lines.push(`wirescope_gateway_call_duration_seconds_sum{${labels}} ${sumSeconds}`);
        lines.push(`wirescope_gateway_call_duration_seconds_count{${labels}} ${count}`);
      }
      head("wirescope_gateway_calls_in_flight", "gauge", "Requests from clients in flight.");
      lines.push(`wirescope_gateway_calls_in_flight ${inFlight}`);
      head(
        "wirescope_gateway_refused_total",
        "counter",
        "Refused requests, by the limit that they would have exceeded.",
      );
      for (const [limit, count] of refusals)
        lines.push(`wirescope_gateway_refused_total{${labelsOf({ limit })}} ${count}`);
      for (const { name, type = "gauge", help, values } of gauges) {
        head(name, type, help);
        for (const { labels, value } of values) {
          const text = labelsOf(labels);
          lines.push(`${name}${text === "" ? "" : `{${text}}`} ${value}`);
        }
      }
      return `${lines.join("\n")}\n`;
    },
  };
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  const escaped = (text: string): string => text.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(",");
}
