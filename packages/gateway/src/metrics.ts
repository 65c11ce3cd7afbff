import type { CallObserver } from "./call-observer.js";

/** Counts calls, for Prometheus. */
export interface Metrics extends CallObserver {
  refused(limit: string): void;
  /** All that was counted, as of now. */
  counts(): Counts;
  /** The text that Prometheus reads, with these gauges. */
  render(gauges: readonly Gauge[]): string;
}

/** What was counted since the start. */
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

/** A value as of now, which is read when it is asked for. */
export interface Gauge {
  readonly name: string;
  /** Whether it only grows. Default "gauge". */
  readonly type?: "gauge" | "counter";
  readonly help: string;
  readonly values: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

/** The upper ends of the buckets of durations, in seconds. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Past so many different calls the rest are counted together: what a client makes up must not fill the memory. */
const mostSeries = 2000;

interface Series {
  readonly method: string;
  readonly server: string | undefined;
  readonly labels: string;
  readonly outcomes: Map<string, number>;
  readonly counts: Uint32Array;
  count: number;
  sumSeconds: number;
}

export function createMetrics(): Metrics {
  const series: Series[] = [];
  /** By server, then by method: to make one key of the two costs every call a text. */
  const index = new Map<string | undefined, Map<string, Series>>();
  const refusals = new Map<string, number>();
  let inFlight = 0;

  const seriesOf = (method: string, server: string | undefined): Series => {
    const known = index.get(server)?.get(method);
    if (known !== undefined) return known;
    if (series.length >= mostSeries && method !== "other") return seriesOf("other", undefined);
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
    refused(limit) {
      refusals.set(limit, (refusals.get(limit) ?? 0) + 1);
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
        "Requests of clients that were answered, by method, server and outcome.",
      );
      for (const { labels, outcomes } of series) {
        for (const [outcome, count] of outcomes) {
          lines.push(`wirescope_gateway_calls_total{${labels},${labelsOf({ outcome })}} ${count}`);
        }
      }
      head("wirescope_gateway_call_duration_seconds", "histogram", "How long requests of clients took.");
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
      head("wirescope_gateway_calls_in_flight", "gauge", "Requests of clients under way.");
      lines.push(`wirescope_gateway_calls_in_flight ${inFlight}`);
      head("wirescope_gateway_refused_total", "counter", "What was refused, by the limit that it would have passed.");
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
