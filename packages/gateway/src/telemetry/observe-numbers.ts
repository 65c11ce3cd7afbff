import type { BatchObservableCallback, Meter, MetricOptions, Observable } from "@opentelemetry/api";
import type { ObservedGateway } from "./call-trace.js";

/** Names of Prometheus whose measure has a name of its own in the conventions. */
const conventional: Readonly<Record<string, { readonly name: string; readonly unit: string }>> = {
  process_resident_memory_bytes: { name: "process.memory.usage", unit: "By" },
  process_uptime_seconds: { name: "process.uptime", unit: "s" },
};

/** Labels that have a name of their own there too. */
const attributeNames: Readonly<Record<string, string>> = { code: "error.type" };

/** Tells the numbers that Prometheus gets too, read whenever they are asked for. Returns how to stop. */
export function observeNumbers(meter: Meter, { metrics, gauges }: ObservedGateway): () => void {
  const calls = meter.createObservableCounter("wirescope.gateway.calls", {
    description: "Requests of clients that were answered, by method, server and outcome.",
    unit: "{call}",
  });
  const inFlight = meter.createObservableUpDownCounter("wirescope.gateway.calls_in_flight", {
    description: "Requests of clients under way.",
    unit: "{call}",
  });
  const refused = meter.createObservableCounter("wirescope.gateway.refused", {
    description: "What was refused, by the limit that it would have passed.",
    unit: "{request}",
  });
  const observed = new Map<string, Observable>(
    gauges().map(({ name, type, help }) => {
      const known = Object.hasOwn(conventional, name) ? conventional[name] : undefined;
      const options: MetricOptions = { description: help, unit: known?.unit ?? "1" };
      if (type === "counter") return [name, meter.createObservableCounter(dotted(name), options)];
      return [name, meter.createObservableGauge(known?.name ?? dotted(name), options)];
    }),
  );

  const tell: BatchObservableCallback = (result) => {
    const counts = metrics.counts();
    for (const { method, server, outcome, count } of counts.calls) {
      const at = server === undefined ? {} : { "wirescope.server": server };
      result.observe(calls, count, { "mcp.method.name": method, ...at, "wirescope.outcome": outcome });
    }
    for (const { limit, count } of counts.refusals) result.observe(refused, count, { "wirescope.limit": limit });
    result.observe(inFlight, counts.inFlight);
    for (const { name, values } of gauges()) {
      const observable = observed.get(name);
      if (observable === undefined) continue;
      for (const { labels, value } of values) {
        const told = Object.entries(labels).map(([key, text]) => [attributeNames[key] ?? `wirescope.${key}`, text]);
        result.observe(observable, value, Object.fromEntries(told));
      }
    }
  };
  const all: Observable[] = [calls, inFlight, refused, ...observed.values()];
  meter.addBatchObservableCallback(tell, all);
  return () => meter.removeBatchObservableCallback(tell, all);
}

/** `wirescope_gateway_sessions` as `wirescope.gateway.sessions`; a counter without the `_total` that Prometheus wants. */
function dotted(name: string): string {
  return name.replace(/^wirescope_gateway_/, "wirescope.gateway.").replace(/_total$/, "");
}
