import type { Era, JsonObject, LogLevel, RequestId } from "@wirescope/tool-server/rpc";
import type { Admission } from "../admission.js";
import type { CallTrace } from "../telemetry/call-trace.js";
import type { TraceFields } from "../telemetry/trace-fields.js";
import type { CallOff } from "./call-off.js";
import type { Session } from "./session.js";

/** A client, as far as it is known: who it is, and what it may take. */
export interface ClientAccount extends Admission {
  /** Whose token it has: sessions and calls that wait belong to this one. */
  readonly principal: string;
  /** What it calls itself. */
  readonly label: string;
}

/** Who made a request, and how to reach them as long as it runs. */
export interface Caller {
  readonly era: Era;
  readonly id: RequestId;
  readonly account: ClientAccount;
  /** The session of the older era that the request is of. */
  readonly session: Session | undefined;
  /** What the client can do for a server. */
  readonly capabilities: JsonObject;
  /** The least level of log messages that it wants with this request; undefined where it wants none. */
  readonly logLevel: LogLevel | undefined;
  readonly progressToken: RequestId | undefined;
  /** The headers of the request, where it came over HTTP. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> | undefined;
  /** Whether the request is called off, by the client or by a limit of ours. */
  readonly callOff: CallOff;
  /** Tells the client something that relates to the request. Lost where the client cannot be reached. */
  notify(method: string, params: JsonObject): void;
  /** Asks the client for something that the request needs. Rejects with an RpcError, also where it is called off, or the signal aborted. */
  ask(method: string, params: JsonObject | undefined, signal?: AbortSignal | undefined): Promise<JsonObject>;
  /** What became of it, for the audit: set by whoever finds out. */
  readonly story: CallStory;
}

/** What a request turned out to be about. */
export interface CallStory {
  server?: string;
  name?: string;
  /** What the client said of the trace that it is part of, and goes on to servers. */
  carried?: TraceFields;
  /** Follows it, where that is wanted. */
  trace?: CallTrace;
}
