import {
  Call,
  type CallOutcome,
  type CallRequest,
  type Cancellation,
  type Era,
  type InFlightSet,
  type LogLevel,
  type RequestId,
  type RpcObject,
} from "@wirescope/tool-server/internal";
import type { TraceFields } from "./trace-fields.js";

/** A client: its identity, its limits and its calls in flight. */
export interface ClientAccount {
  /** Identifies the owner of sessions and parked calls. Clients with the same token have the same principal. */
  readonly principal: string;
  /** Its name and version, as it states them. */
  readonly label: string;
  /** Whether its requests come through a proxy: the client may be on another machine, so it must not sign in for this gateway. */
  readonly isForwarded: boolean;
  readonly calls: Iterable<ClientCall> & Pick<InFlightSet<ClientCall>, "size" | "find">;
  /** Adds a call, or returns the limit that it would exceed. Each added call must be removed. */
  add(call: ClientCall): "concurrency" | "rate" | undefined;
  remove(call: ClientCall): void;
  /** Counts a message that is no new call, such as `initialize`, or returns the limit that it would exceed. */
  count(): "rate" | undefined;
}

/** The session of a legacy client that a call belongs to. */
export interface CallSession {
  readonly id: string;
  /** The start of the id: enough to distinguish sessions in a log. */
  readonly shortId: string;
  readonly protocolVersion: string;
  setLogLevel(level: LogLevel): void;
  /** Notifies the client when a resource changes. The URI is the one that the client uses. */
  watch(uri: string, resource: WatchedResource): Promise<void>;
  unwatch(uri: string): void;
}

/** A server's resource that a client subscribes to. */
export interface WatchedResource {
  readonly server: string;
  /** The server's own URI. */
  readonly uri: string;
  /** Rejects if the server refuses. */
  subscribe(): Promise<void>;
  unsubscribe(): void;
}

/** The headers of a request, by name in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A call from a client, and how to reach the client while it runs. */
export abstract class ClientCall extends Call {
  abstract readonly account: ClientAccount;
  /** Undefined for a modern client. */
  abstract readonly session: CallSession | undefined;
  /** The capabilities that the client declared. */
  abstract readonly capabilities: RpcObject;
  /** The lowest log level for this request; undefined if the client requested no log messages. */
  abstract readonly logLevel: LogLevel | undefined;
  abstract readonly progressToken: RequestId | undefined;
  /** Undefined if it did not arrive over HTTP. */
  readonly headers: RequestHeaders | undefined;
  /** When it started, by `performance.now()`. */
  readonly startedAt: number = performance.now();
  /** Whether the gateway implements its method: a client can invent any number of method names. */
  isKnown = false;
  /** The capabilities that a legacy server needed during the call and the client does not have; undefined if none. */
  missingCapabilities: RpcObject | undefined = undefined;
  /** Requests from its server, on a connection that all calls share, to which the client has not responded. */
  openQuestions = 0;
  /** The trace context of the client, for the server. */
  traceFields: TraceFields | undefined = undefined;

  constructor(request: CallRequest, era: Era, headers: RequestHeaders | undefined) {
    super(request, era);
    this.headers = headers;
  }

  /** Sends the response, once the call is settled. */
  abstract respond(outcome: CallOutcome): void;

  /** Sends a notification about the call. Dropped if the client cannot be reached. */
  abstract notify(method: string, params: RpcObject): void;

  /**
   * Sends a server's request to the client. Rejects with an RpcError, also when the signal aborts or `during` is cancelled: by default
   * this call. A legacy client may respond after this call has ended.
   */
  abstract ask(
    method: string,
    params: RpcObject | undefined,
    signal?: AbortSignal | undefined,
    during?: Cancellation,
  ): Promise<RpcObject>;

  override onProgress(progress: RpcObject): void {
    this.activeAt = performance.now();
    const { progressToken } = this;
    if (progressToken !== undefined) this.notify("notifications/progress", { ...progress, progressToken });
  }
}
