import type { CallEnding, CallObserver, ObservedRequest, RequestObserver } from "../call-observer.js";
import type { Gauge, Metrics } from "../metrics.js";

/** Follows calls in spans and durations. There is one only if somebody takes them. */
export interface Telemetry extends CallObserver {
  /** Follows the gateway itself too: its numbers, and how its servers are connected to. */
  observe(observed: ObservedGateway): void;
  /** Sends what was gathered, and ends. */
  close(): Promise<void>;
}

/** What is followed of a gateway in addition to calls. */
export interface ObservedGateway {
  readonly metrics: Metrics;
  readonly gauges: () => readonly Gauge[];
  /** Whether there is a server of this name behind it. */
  readonly hasServer: (name: string) => boolean;
}

/** A call, being followed. */
export interface CallTrace {
  /** Runs what handles the call: what others trace in it is below it. */
  run<T>(work: () => T): T;
  /** Begins a request to a server that is made for it. */
  forward(request: ObservedRequest): RequestObserver;
  end(ending: CallEnding): void;
}
