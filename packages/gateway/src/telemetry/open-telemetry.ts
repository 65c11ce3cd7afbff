import type { Telemetry } from "./call-trace.js";
import type { OpenTelemetryOptions } from "./telemetry-options.js";

/** Where the API of OpenTelemetry, whichever copy of it, keeps what was set for the process. */
const globalKey = Symbol.for("opentelemetry.js.api.1");

/** Begins to follow what passes; undefined where nobody takes it, for then not even the API is loaded. */
export async function openTelemetry(options: OpenTelemetryOptions): Promise<Telemetry | undefined> {
  const { tracerProvider, meterProvider } = options.given;
  const isGlobalAsked = tracerProvider === undefined || meterProvider === undefined;
  const isGiven = Boolean(tracerProvider) || Boolean(meterProvider);
  if (!isGiven && !(isGlobalAsked && globalKey in globalThis)) return undefined;
  const { createTelemetry } = await import("./create-telemetry.js");
  return createTelemetry(options);
}
