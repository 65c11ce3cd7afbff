import type { GatewayObserver, ObserverContext } from "../../gateway-observer.js";

/** Where every copy of the OpenTelemetry API keeps the global providers. */
const globalKey = Symbol.for("opentelemetry.js.api.1");

/** Starts to record; undefined if there is no provider, in which case the OpenTelemetry API is not even loaded. */
export async function startTelemetry(context: ObserverContext): Promise<GatewayObserver | undefined> {
  const { tracerProvider, meterProvider } = context.telemetry;
  const mayBeGlobal = tracerProvider === undefined || meterProvider === undefined;
  const isGiven = Boolean(tracerProvider) || Boolean(meterProvider);
  if (!isGiven && !(mayBeGlobal && globalKey in globalThis)) return undefined;
  const { createTelemetry } = await import("./create-telemetry.js");
  return createTelemetry(context);
}
