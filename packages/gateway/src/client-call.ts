import {
  Call,
  type CallRequest,
  type Era,
  type JsonObject,
  type LogLevel,
  type RequestId,
} from "@wirescope/tool-server/internal";
import type { TraceFields } from "./trace-fields.js";

/** A client as far as it is known: who it is, and its calls in flight. */
export interface ClientAccount {
  /** The owner of its sessions and of calls that wait: whoever has the same token. */
  readonly principal: string;
  /** What it calls itself. */
  readonly label: string;
  readonly calls: Iterable<ClientCall> & { readonly size: number };
  /** Takes a call in, or says which limit it would exceed. Each that is taken in is to be removed. */
  add(call: ClientCall): "concurrency" | "rate" | undefined;
  remove(call: ClientCall): void;
  /** Counts a request that is not a call, such as `initialize`. */
  count(): "concurrency" | "rate" | undefined;
}

/** The session of the older era that a call belongs to. */
export interface CallSession {
  /** Enough to tell sessions apart in a log. */
  readonly shortId: string;
  readonly protocolVersion: string;
  setLogLevel(level: LogLevel): void;
  /** Notifies the client when a resource changes that it knows by this URI. */
  watch(uri: string, resource: WatchedResource): Promise<void>;
  unwatch(uri: string): void;
}

/** A resource of a server, which a client watches. */
export interface WatchedResource {
  readonly server: string;
  /** As the server knows it. */
  readonly uri: string;
  /** Rejects if the server refuses; then it is not subscribed. */
  subscribe(): Promise<void>;
  unsubscribe(): void;
}

/** The headers of a request, by name in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A call of a client, and how to reach the client as long as it runs. */
export abstract class ClientCall extends Call {
  abstract readonly account: ClientAccount;
  /** Undefined in the newer era. */
  abstract readonly session: CallSession | undefined;
  /** What the client can do for a server. */
  abstract readonly capabilities: JsonObject;
  /** The lowest level of log messages that the client wants with this request; undefined if it wants none. */
  abstract readonly logLevel: LogLevel | undefined;
  abstract readonly progressToken: RequestId | undefined;
  /** Undefined if it did not arrive over HTTP. */
  readonly headers: RequestHeaders | undefined;
  /** When it started, by `performance.now()`. */
  readonly startedAt: number = performance.now();
  /** Whether the gateway has its method: a client can make up as many as it likes. */
  isKnown = false;
  /** The trace that the client says it is part of, for the server. */
  traceFields: TraceFields | undefined = undefined;

  constructor(request: CallRequest, era: Era, headers: RequestHeaders | undefined) {
    super(request, era);
    this.headers = headers;
  }

  /** Notifies the client of something that relates to the call. Lost if the client cannot be reached. */
  abstract notify(method: string, params: JsonObject): void;

  /** Asks the client for something that the call needs. Rejects with an RpcError, also when the call or the signal is cancelled. */
  abstract ask(method: string, params: JsonObject | undefined, signal?: AbortSignal | undefined): Promise<JsonObject>;

  override onProgress(progress: JsonObject): void {
    this.activeAt = Date.now();
    const { progressToken } = this;
    if (progressToken !== undefined) this.notify("notifications/progress", { ...progress, progressToken });
  }
}
