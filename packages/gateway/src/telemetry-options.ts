import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import type { Propagator } from "./trace-fields.js";

/** Where a gateway sends spans and metrics, and which trace fields it forwards to servers. */
export interface GatewayTelemetry {
  /** Receives the spans; false disables them. Default: the global provider, if one is set when the gateway starts. */
  readonly tracerProvider?: TracerProvider | false | undefined;
  /** Receives the metrics; false disables them. Default: the global provider, if one is set when the gateway starts. */
  readonly meterProvider?: MeterProvider | false | undefined;
  /**
   * Trace fields that are read from clients and forwarded to servers, even if no spans are recorded. Baggage may contain data
   * that is not meant for third parties, so it is forwarded only if it is listed here. Default `["tracecontext"]`.
   */
  readonly propagators?: readonly Propagator[] | undefined;
  /** Exports what is buffered. Awaited after the gateway has stopped. */
  readonly flush?: (() => Promise<void>) | undefined;
}
