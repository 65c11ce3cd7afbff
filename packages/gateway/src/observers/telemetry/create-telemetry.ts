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
import type { GatewayObserver, ObserverContext } from "../../gateway-observer.js";
import type { GatewayTelemetry } from "../../telemetry-options.js";
import { type CallTrace, createCallTrace } from "./call-trace.js";
import { createConnectionSpans } from "./connection-spans.js";
import { createCredentialSpans } from "./credential-spans.js";
import { exportMetrics } from "./export-metrics.js";
import { createRequestSpans } from "./request-spans.js";
import type { SpanParent } from "./span-parent.js";

/** Bucket boundaries of durations, in seconds, as the semantic conventions for MCP define them. */
const durationBoundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Records calls, connections and credential operations as spans and durations; undefined if neither is recorded. */
export function createTelemetry({
  telemetry,
  traceFields,
  transport,
  gateway,
  events: { reportDefect: onDefect },
  metrics: exported,
}: ObserverContext): GatewayObserver | undefined {
  const tracer = tracerOf(telemetry);
  const meter = meterOf(telemetry);
  if (tracer === undefined && meter === undefined) return undefined;
  const { hasServer } = gateway;
  const requests = createRequestSpans();
  const connections = tracer && createConnectionSpans({ tracer, requests, hasServer, onDefect });
  const spanParents = tracer && new AsyncLocalStorage<SpanParent | undefined>();
  const duration =
    meter && durationOf(meter, "wirescope.credential", "Duration of refreshes, sign-ins and helper runs.");
  const credentials = createCredentialSpans({
    spans: tracer && spanParents && { tracer, spanParents, requests },
    duration,
    hasServer,
    onDefect,
  });
  const stopExport = meter && exportMetrics(meter, exported);
  const options = {
    tracer,
    reader: traceFields,
    transport,
    requests,
    credentials,
    spanParents,
    serverDuration: meter && durationOf(meter, "mcp.server", "Duration of requests from clients."),
    clientDuration: meter && durationOf(meter, "mcp.client", "Duration of requests to servers."),
  };
  const traces = new WeakMap<ClientCall, CallTrace>();
  return {
    calls: {
      started: (call) => void traces.set(call, createCallTrace(options, call, context.active())),
      within(call, work) {
        const trace = traces.get(call);
        return trace === undefined ? work() : trace.run(work);
      },
      forwarding: (call, request) => traces.get(call)?.forward(request),
      ended: (call, ending) => traces.get(call)?.end(ending),
    },
    async close() {
      connections?.close();
      credentials.close();
      try {
        await telemetry.flush?.();
      } finally {
        stopExport?.();
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
