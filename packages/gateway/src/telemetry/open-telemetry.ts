import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import type { Telemetry } from "./call-trace.js";
import type { Propagator, TraceFieldReader } from "./trace-fields.js";

/** Where spans and metrics of a gateway go, and what it tells servers of traces. */
export interface GatewayTelemetry {
  /** Takes the spans; false for nobody. Default: the global one, where one is set when the gateway starts. */
  readonly tracerProvider?: TracerProvider | false | undefined;
  /** Takes the metrics; false for nobody. Default: the global one, where one is set when the gateway starts. */
  readonly meterProvider?: MeterProvider | false | undefined;
  /**
   * What is taken from clients and passed on to servers, also where nobody takes spans. Baggage may hold what is not for
   * others, and servers are others, so it is not passed on unless it stands here. Default `["tracecontext"]`.
   */
  readonly propagators?: readonly Propagator[] | undefined;
  /** Sends what was gathered. Awaited when the gateway has stopped. */
  readonly flush?: (() => Promise<void>) | undefined;
}

export interface OpenTelemetryOptions {
  readonly given: GatewayTelemetry;
  readonly reader: TraceFieldReader;
  /** What clients over the network reach the gateway by. */
  readonly transport: "tcp" | "unix";
}

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
