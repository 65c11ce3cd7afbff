import { AsyncLocalStorage } from "node:async_hooks";
import { type Attributes, context, type Histogram, type Meter } from "@opentelemetry/api";
import type { ClientCall } from "../client-call.js";
import type { CallTrace, Telemetry } from "./call-trace.js";
import { createCallTrace } from "./create-call-trace.js";
import { observeNumbers } from "./observe-numbers.js";
import type { Place } from "./place.js";
import { meterOf, tracerOf } from "./providers.js";
import { createRequestSpans } from "./request-spans.js";
import type { OpenTelemetryOptions } from "./telemetry-options.js";
import { watchConnections } from "./watch-connections.js";
import { watchCredentials } from "./watch-credentials.js";

/** The bounds of durations that the conventions for the protocol name, in seconds. */
const durationBounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Follows what passes; undefined where neither spans nor metrics are taken. */
export function createTelemetry({ given, reader, transport }: OpenTelemetryOptions): Telemetry | undefined {
  const tracer = tracerOf(given);
  const meter = meterOf(given);
  if (tracer === undefined && meter === undefined) return undefined;
  const requests = createRequestSpans();
  const connections = tracer && watchConnections(tracer, requests);
  const places = tracer && new AsyncLocalStorage<Place | undefined>();
  const duration =
    meter && durationOf(meter, "wirescope.credential", "How long refreshes, sign-ins and runs of helpers took.");
  const credentials = watchCredentials({ spans: tracer && places && { tracer, places, requests }, duration });
  const parts = {
    tracer,
    reader,
    transport,
    requests,
    credentials,
    places,
    serverDuration: meter && durationOf(meter, "mcp.server", "How long requests of clients took."),
    clientDuration: meter && durationOf(meter, "mcp.client", "How long requests of servers took."),
  };
  const traces = new WeakMap<ClientCall, CallTrace>();
  let stopObserving = (): void => {};
  return {
    started: (call) => void traces.set(call, createCallTrace(parts, call, context.active())),
    within(call, work) {
      const trace = traces.get(call);
      return trace === undefined ? work() : trace.run(work);
    },
    forwarding: (call, request) => traces.get(call)?.forward(request),
    ended: (call, ending) => traces.get(call)?.end(ending),
    observe(observed) {
      connections?.watch(observed.hasServer);
      credentials.watch(observed.hasServer);
      if (meter !== undefined) stopObserving = observeNumbers(meter, observed);
    },
    async close() {
      connections?.close();
      credentials.close();
      try {
        await given.flush?.();
      } finally {
        stopObserving();
      }
    },
  };
}

function durationOf(meter: Meter, subject: string, description: string): Histogram<Attributes> {
  return meter.createHistogram(`${subject}.operation.duration`, {
    description,
    unit: "s",
    advice: { explicitBucketBoundaries: durationBounds },
  });
}
