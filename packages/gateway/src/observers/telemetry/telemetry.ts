import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import type { CallObserver } from "../../call-observer.js";
import type { Propagator, TraceFieldReader } from "../../trace-fields.js";
import type { Gauge, Metrics } from "../metrics/metrics.js";

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

export interface StartTelemetryOptions {
  readonly telemetry: GatewayTelemetry;
  readonly reader: TraceFieldReader;
  /** How clients on the network reach the gateway. */
  readonly transport: "tcp" | "unix";
}

/** Records calls as spans and durations. */
export interface Telemetry extends CallObserver {
  /** Also exports the gateway's metrics, and records connections and credential operations. */
  observe(gateway: ObservedGateway): void;
  /** Flushes and stops. */
  close(): Promise<void>;
}

/** The parts of a gateway that are observed in addition to calls. */
export interface ObservedGateway {
  readonly metrics: Metrics;
  readonly gauges: () => readonly Gauge[];
  readonly hasServer: (name: string) => boolean;
}
