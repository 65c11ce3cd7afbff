import { type Attributes, context, type Histogram, type Meter } from "@opentelemetry/api";
import type { Telemetry } from "./call-trace.js";
import { createCallTrace } from "./create-call-trace.js";
import { observeNumbers } from "./observe-numbers.js";
import type { OpenTelemetryOptions } from "./open-telemetry.js";
import { meterOf, tracerOf } from "./providers.js";
import { safely } from "./safely.js";
import { watchConnections } from "./watch-connections.js";

/** The bounds of durations that the conventions for the protocol name, in seconds. */
const durationBounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Follows what passes; undefined where neither spans nor metrics are taken. */
export function createTelemetry({ given, reader, transport }: OpenTelemetryOptions): Telemetry | undefined {
  const tracer = tracerOf(given);
  const meter = meterOf(given);
  if (tracer === undefined && meter === undefined) return undefined;
  const connections = tracer === undefined ? undefined : watchConnections(tracer);
  const parts = {
    tracer,
    reader,
    transport,
    connections,
    serverDuration: meter && durationOf(meter, "server", "How long requests of clients took."),
    clientDuration: meter && durationOf(meter, "client", "How long requests of servers took."),
  };
  let stopObserving = (): void => {};
  return {
    begin: (method, params, caller) => safely(() => createCallTrace(parts, method, params, caller, context.active())),
    observe(observed) {
      connections?.watch(observed.hasServer);
      if (meter !== undefined) stopObserving = observeNumbers(meter, observed);
    },
    async close() {
      connections?.close();
      try {
        await given.flush?.();
      } finally {
        stopObserving();
      }
    },
  };
}

function durationOf(meter: Meter, side: "client" | "server", description: string): Histogram<Attributes> {
  return meter.createHistogram(`mcp.${side}.operation.duration`, {
    description,
    unit: "s",
    advice: { explicitBucketBoundaries: durationBounds },
  });
}
