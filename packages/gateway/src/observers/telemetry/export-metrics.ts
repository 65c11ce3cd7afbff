import type { BatchObservableCallback, Meter, MetricOptions, Observable } from "@opentelemetry/api";
import type { Metric } from "../../gateway-observer.js";

/** Metrics whose name, unit or instrument cannot be derived. The process has names in the semantic conventions. */
const known: Readonly<Record<string, { readonly name?: string; readonly unit: string; readonly isSum?: true }>> = {
  wirescope_gateway_calls_total: { unit: "{call}" },
  wirescope_gateway_calls_in_flight: { unit: "{call}", isSum: true },
  wirescope_gateway_refused_total: { unit: "{request}" },
  process_resident_memory_bytes: { name: "process.memory.usage", unit: "By" },
  process_uptime_seconds: { name: "process.uptime", unit: "s" },
};

/** Prometheus labels that have their own name in the semantic conventions. */
const attributeNames: Readonly<Record<string, string>> = { code: "error.type", method: "mcp.method.name" };

/** Exports metrics, read on each collection. Returns a function that stops the export. */
export function exportMetrics(meter: Meter, metrics: readonly Metric[]): () => void {
  const exported = metrics.map((metric) => ({ metric, instrument: instrumentOf(meter, metric) }));
  const collect: BatchObservableCallback = (result) => {
    for (const { metric, instrument } of exported) {
      for (const { labels, value } of metric.read()) {
        const attributes = Object.entries(labels)
          .filter(([, text]) => text !== "")
          .map(([label, text]) => [attributeNames[label] ?? `wirescope.${label}`, text]);
        result.observe(instrument, value, Object.fromEntries(attributes));
      }
    }
  };
  const instruments = exported.map(({ instrument }) => instrument);
  meter.addBatchObservableCallback(collect, instruments);
  return () => meter.removeBatchObservableCallback(collect, instruments);
}

function instrumentOf(meter: Meter, { name, type, help }: Metric): Observable {
  const {
    name: conventional = dotted(name),
    unit = "1",
    isSum,
  } = Object.hasOwn(known, name) ? (known[name] ?? {}) : {};
  const options: MetricOptions = { description: help, unit };
  if (type === "counter") return meter.createObservableCounter(conventional, options);
  if (isSum) return meter.createObservableUpDownCounter(conventional, options);
  return meter.createObservableGauge(conventional, options);
}

/** `wirescope_gateway_sessions` as `wirescope.gateway.sessions`; a counter without the `_total` that Prometheus requires. */
function dotted(name: string): string {
  return name.replace(/^wirescope_gateway_/, "wirescope.gateway.").replace(/_total$/, "");
}
