import type { BatchObservableCallback, Meter, MetricOptions, Observable } from "@opentelemetry/api";
import type { ObservedGateway } from "./telemetry.js";

/** Prometheus names of metrics that have their own name in the semantic conventions. */
const conventional: Readonly<Record<string, { readonly name: string; readonly unit: string }>> = {
  process_resident_memory_bytes: { name: "process.memory.usage", unit: "By" },
  process_uptime_seconds: { name: "process.uptime", unit: "s" },
};

/** Prometheus labels that have their own name in the semantic conventions. */
const attributeNames: Readonly<Record<string, string>> = { code: "error.type" };

/** Exports the metrics of `/metrics`, read on each collection. Returns a function that stops the export. */
export function exportMetrics(meter: Meter, { metrics, gauges }: ObservedGateway): () => void {
  const calls = meter.createObservableCounter("wirescope.gateway.calls", {
    description: "Completed requests from clients, by method, server and outcome.",
    unit: "{call}",
  });
  const inFlight = meter.createObservableUpDownCounter("wirescope.gateway.calls_in_flight", {
    description: "Requests from clients in flight.",
    unit: "{call}",
  });
  const refused = meter.createObservableCounter("wirescope.gateway.refused", {
    description: "Refused requests, by the limit that they would have exceeded.",
    unit: "{request}",
  });
  const observables = new Map<string, Observable>(
    gauges().map(({ name, type, help }) => {
      const known = Object.hasOwn(conventional, name) ? conventional[name] : undefined;
      const options: MetricOptions = { description: help, unit: known?.unit ?? "1" };
      if (type === "counter") return [name, meter.createObservableCounter(dotted(name), options)];
      return [name, meter.createObservableGauge(known?.name ?? dotted(name), options)];
    }),
  );

  const collect: BatchObservableCallback = (result) => {
    const counts = metrics.counts();
    for (const { method, server, outcome, count } of counts.calls) {
      const at = server === undefined ? {} : { "wirescope.server": server };
      result.observe(calls, count, { "mcp.method.name": method, ...at, "wirescope.outcome": outcome });
    }
    for (const { limit, count } of counts.refusals) result.observe(refused, count, { "wirescope.limit": limit });
    result.observe(inFlight, counts.inFlight);
    for (const { name, values } of gauges()) {
      const observable = observables.get(name);
      if (observable === undefined) continue;
      for (const { labels, value } of values) {
        const attributes = Object.entries(labels).map(([key, text]) => [
          attributeNames[key] ?? `wirescope.${key}`,
          text,
        ]);
        result.observe(observable, value, Object.fromEntries(attributes));
      }
    }
  };
  const all: Observable[] = [calls, inFlight, refused, ...observables.values()];
  meter.addBatchObservableCallback(collect, all);
  return () => meter.removeBatchObservableCallback(collect, all);
}

/** `wirescope_gateway_sessions` as `wirescope.gateway.sessions`; a counter without the `_total` that Prometheus requires. */
function dotted(name: string): string {
  return name.replace(/^wirescope_gateway_/, "wirescope.gateway.").replace(/_total$/, "");
}
