import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  context,
  createNoopMeter,
  type Histogram,
  type Meter,
  metrics,
  ProxyTracerProvider,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { ClientCall } from "../../client-call.js";
import { type CallTrace, createCallTrace } from "./call-trace.js";
import { createConnectionSpans } from "./connection-spans.js";
import { createCredentialSpans } from "./credential-spans.js";
import { exportMetrics } from "./export-metrics.js";
import { createRequestSpans } from "./request-spans.js";
import type { SpanParent } from "./span-parent.js";
import type { GatewayTelemetry, StartTelemetryOptions, Telemetry } from "./telemetry.js";

/** Bucket boundaries of durations, in seconds, as the semantic conventions for MCP define them. */
const durationBoundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Creates the observer; undefined if neither spans nor metrics are recorded. */
export function createTelemetry({ telemetry, reader, transport }: StartTelemetryOptions): Telemetry | undefined {
  const tracer = tracerOf(telemetry);
  const meter = meterOf(telemetry);
  if (tracer === undefined && meter === undefined) return undefined;
  const requests = createRequestSpans();
  const connections = tracer && createConnectionSpans(tracer, requests);
  const spanParents = tracer && new AsyncLocalStorage<SpanParent | undefined>();
  const duration =
    meter && durationOf(meter, "wirescope.credential", "Duration of refreshes, sign-ins and helper runs.");
  const credentials = createCredentialSpans({
    spans: tracer && spanParents && { tracer, spanParents, requests },
    duration,
  });
  const options = {
    tracer,
    reader,
    transport,
    requests,
    credentials,
    spanParents,
    serverDuration: meter && durationOf(meter, "mcp.server", "Duration of requests from clients."),
    clientDuration: meter && durationOf(meter, "mcp.client", "Duration of requests to servers."),
  };
  const traces = new WeakMap<ClientCall, CallTrace>();
  let stopExport = (): void => {};
  return {
    started: (call) => void traces.set(call, createCallTrace(options, call, context.active())),
    within(call, work) {
      const trace = traces.get(call);
      return trace === undefined ? work() : trace.run(work);
    },
    forwarding: (call, request) => traces.get(call)?.forward(request),
    ended: (call, ending) => traces.get(call)?.end(ending),
    observe(gateway) {
      connections?.watch(gateway.hasServer);
      credentials.watch(gateway.hasServer);
      if (meter !== undefined) stopExport = exportMetrics(meter, gateway);
    },
    async close() {
      connections?.close();
      credentials.close();
      try {
        await telemetry.flush?.();
      } finally {
        stopExport();
      }
    },
  };
}

function durationOf(meter: Meter, subject: string, description: string): Histogram<Attributes> {
  return meter.createHistogram(`${subject}.operation.duration`, {
    description,
    unit: "s",
    advice: { explicitBucketBoundaries: durationBoundaries },
  });
}

/** The instrumentation scope of spans and metrics. */
const scope = "@wirescope/gateway";

function tracerOf({ tracerProvider }: GatewayTelemetry): Tracer | undefined {
  if (tracerProvider === false) return undefined;
  const provider = tracerProvider ?? trace.getTracerProvider();
  return isSet(provider) ? provider.getTracer(scope) : undefined;
}

function meterOf({ meterProvider }: GatewayTelemetry): Meter | undefined {
  if (meterProvider === false) return undefined;
  const meter = (meterProvider ?? metrics.getMeterProvider()).getMeter(scope);
  return meter === createNoopMeter() ? undefined : meter;
}

/** Whether the application has set a provider. The API's default provider would create a span for each call that nothing records. */
function isSet(provider: TracerProvider): boolean {
  return (
    !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== new ProxyTracerProvider().getDelegate()
  );
}
