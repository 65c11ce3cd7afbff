import type { GatewayObserver, Metric, MetricValue, ObserverContext } from "../../gateway-observer.js";
import { createGauges } from "./gauges.js";

/** The upper bounds of the duration buckets, in seconds. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Beyond this number of series, others are counted together: a client must not be able to fill the memory. */
const maxSeries = 2000;

interface Series {
  readonly labels: { readonly method: string; readonly server: string };
  readonly outcomes: Map<string, number>;
  readonly counts: Uint32Array;
  count: number;
  sumSeconds: number;
}

/** Counts calls and refused requests, and serves all metrics of the gateway in the text format of Prometheus. */
export function startMetrics({ events, gateway }: ObserverContext): GatewayObserver {
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
    const labels = { method, server: server ?? "" };
    const counts = new Uint32Array(buckets.length);
    const added: Series = { labels, outcomes: new Map(), counts, count: 0, sumSeconds: 0 };
    const ofServer = index.get(server) ?? new Map<string, Series>();
    index.set(server, ofServer.set(method, added));
    series.push(added);
    return added;
  };

  const calls: Metric = {
    name: "wirescope_gateway_calls_total",
    type: "counter",
    help: "Completed requests from clients, by method, server and outcome.",
    read: () =>
      series.flatMap(({ labels, outcomes }) =>
        [...outcomes].map(([outcome, value]) => ({ labels: { ...labels, outcome }, value })),
      ),
  };
  const others: readonly Metric[] = [
    {
      name: "wirescope_gateway_calls_in_flight",
      type: "gauge",
      help: "Requests from clients in flight.",
      read: () => [{ labels: {}, value: inFlight }],
    },
    {
      name: "wirescope_gateway_refused_total",
      type: "counter",
      help: "Refused requests, by the limit that they would have exceeded.",
      read: () => [...refusals].map(([limit, value]) => ({ labels: { limit }, value })),
    },
    ...createGauges(gateway, events.reportDefect),
  ];
  const render = (): string => {
    const lines = [...linesOf(calls), ...durationLines(series), ...others.flatMap(linesOf)];
    return `${lines.join("\n")}\n`;
  };

  return {
    calls: {
      started() {
        inFlight += 1;
      },
      ended({ method, isKnown, route }, { kind, durationMs }) {
        inFlight -= 1;
        const found = seriesOf(isKnown ? method : "unknown", route?.server);
        const seconds = durationMs / 1000;
        found.outcomes.set(kind, (found.outcomes.get(kind) ?? 0) + 1);
        found.count += 1;
        found.sumSeconds += seconds;
        const at = buckets.findIndex((end) => seconds <= end);
        if (at >= 0) found.counts[at] = (found.counts[at] ?? 0) + 1;
      },
    },
    metrics: [calls, ...others],
    pages: { "/metrics": { type: "text/plain; version=0.0.4; charset=utf-8", read: render } },
  };
}

function linesOf({ name, type, help, read }: Metric): string[] {
  return [...headerLines(name, type, help), ...read().map(({ labels, value }) => line(name, labels, value))];
}

function durationLines(series: readonly Series[]): string[] {
  const name = "wirescope_gateway_call_duration_seconds";
  const lines = headerLines(name, "histogram", "Duration of requests from clients.");
  for (const { labels, counts, count, sumSeconds } of series) {
    let sum = 0;
    for (const [index, end] of buckets.entries()) {
      sum += counts[index] ?? 0;
      lines.push(line(`${name}_bucket`, { ...labels, le: String(end) }, sum));
    }
    lines.push(line(`${name}_bucket`, { ...labels, le: "+Inf" }, count));
    lines.push(line(`${name}_sum`, labels, sumSeconds), line(`${name}_count`, labels, count));
  }
  return lines;
}

function headerLines(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function line(name: string, labels: MetricValue["labels"], value: number): string {
  const escaped = (text: string): string => text.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}
