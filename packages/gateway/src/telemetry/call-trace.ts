import type { Connection } from "@wirescope/tool-server";
import type { JsonObject } from "@wirescope/tool-server/rpc";
import type { Caller } from "../clients/caller.js";
import type { GatewayEvent } from "../events.js";
import type { Gauge, Metrics } from "../metrics.js";
import type { TraceFields } from "./trace-fields.js";

/** Follows what passes, in spans and durations. There is one only where somebody takes them. */
export interface Telemetry {
  /** Begins to follow a request of a client. `method` is one that there is; undefined for all others. */
  begin(method: string | undefined, params: JsonObject, caller: Caller): CallTrace | undefined;
  /** Follows the gateway itself too: its numbers, and how its servers are connected to. */
  observe(observed: ObservedGateway): void;
  /** Lets what was gathered be sent, and ends. */
  close(): Promise<void>;
}

/** What is followed of a gateway besides requests. */
export interface ObservedGateway {
  readonly metrics: Metrics;
  readonly gauges: () => readonly Gauge[];
  /** Whether there is a server of this name behind it. */
  readonly hasServer: (name: string) => boolean;
}

/** A request of a client, being followed. */
export interface CallTrace {
  /** Runs what answers the request: what others trace in it stands below it. */
  run<T>(work: () => T): T;
  /** Begins a request of a server that is made for it. */
  ask(asked: AskedServer): AskTrace | undefined;
  end(outcome: CallOutcome): void;
}

/** A request of a server. */
export interface AskedServer {
  readonly connection: Pick<Connection, "facts" | "server">;
  readonly method: string;
  /** As the server knows things. */
  readonly params: JsonObject;
}

/** A request of a server, being followed. */
export interface AskTrace {
  /** What the server is told of the trace. */
  readonly fields: TraceFields | undefined;
  /** It is sent: for the first time, or once more. */
  sent(): void;
  answered(result: JsonObject): void;
  failed(error: unknown): void;
}

/** How a request of a client ended. */
export interface CallOutcome {
  readonly how: Extract<GatewayEvent, { kind: "call" }>["outcome"];
  /** The code of JSON-RPC, where it failed. */
  readonly code: number | undefined;
  readonly durationMs: number;
}
