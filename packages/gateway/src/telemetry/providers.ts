import {
  createNoopMeter,
  type Meter,
  metrics,
  ProxyTracerProvider,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { GatewayTelemetry } from "./telemetry-options.js";

/** How spans and metrics say who made them. */
const scope = "@wirescope/gateway";

/** Who takes spans; undefined where nobody does. */
export function tracerOf({ tracerProvider }: GatewayTelemetry): Tracer | undefined {
  if (tracerProvider === false) return undefined;
  const provider = tracerProvider ?? trace.getTracerProvider();
  return isSet(provider) ? provider.getTracer(scope) : undefined;
}

/** Who takes metrics; undefined where nobody does. */
export function meterOf({ meterProvider }: GatewayTelemetry): Meter | undefined {
  if (meterProvider === false) return undefined;
  const meter = (meterProvider ?? metrics.getMeterProvider()).getMeter(scope);
  return meter === createNoopMeter() ? undefined : meter;
}

/** The provider of the API itself makes a span for each call, which nobody takes. */
function isSet(provider: TracerProvider): boolean {
  return (
    !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== new ProxyTracerProvider().getDelegate()
  );
}
