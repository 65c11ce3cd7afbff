import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import type { Propagator, TraceFieldReader } from "../trace-fields.js";

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
