import {
  type CallOutcome,
  type Cancellation,
  isId,
  type LogLevel,
  metaOf,
  type RequestId,
  type RpcObject,
  type RpcRequest,
  type RpcResponse,
} from "@wirescope/tool-server/internal";
import { type CallSession, type ClientAccount, ClientCall, type RequestHeaders } from "../client-call.js";
import { maxOpenRequests, tooManyOpenRequests } from "../input-requests.js";
import type { MessageWriter } from "./message-writer.js";

/** What a call needs from its session. */
export interface CallHost {
  readonly session: CallSession & {
    readonly account: ClientAccount;
    readonly logLevel: LogLevel | undefined;
    touch(): void;
  };
  readonly capabilities: RpcObject;
  /** The writer of the request; if it is closed, the session's own stream. */
  reach(writer: MessageWriter): MessageWriter | undefined;
  /** Sends a notification on the session's own stream. Dropped if there is none. */
  notify(method: string, params: RpcObject): void;
  /** Sends a request to the client. Rejects as `ClientCall.ask` does. */
  ask(
    call: SessionCall,
    method: string,
    params: RpcObject | undefined,
    signal: AbortSignal | undefined,
    during: Cancellation,
  ): Promise<RpcObject>;
}

/**
 * A call from a legacy client, which belongs to a session. One class for all sessions: code that handles calls is twice as slow if
 * each session creates objects of its own shape.
 */
export class SessionCall extends ClientCall {
  readonly progressToken: RequestId | undefined;
  readonly writer: MessageWriter;
  readonly #host: CallHost;
  #openRequestCount = 0;

  constructor(host: CallHost, request: RpcRequest, writer: MessageWriter, headers: RequestHeaders | undefined) {
    super(request, "legacy", headers);
    const token = metaOf(request.params)?.progressToken;
    this.#host = host;
    this.progressToken = isId(token) ? token : undefined;
    this.writer = writer;
  }

  get session(): CallSession {
    return this.#host.session;
  }

  get account(): ClientAccount {
    return this.#host.session.account;
  }

  get capabilities(): RpcObject {
    return this.#host.capabilities;
  }

  get logLevel(): LogLevel | undefined {
    return this.#host.session.logLevel;
  }

  notify(method: string, params: RpcObject): void {
    this.#host.reach(this.writer)?.send({ jsonrpc: "2.0", method, params });
  }

  ask(
    method: string,
    params: RpcObject | undefined,
    signal?: AbortSignal,
    during: Cancellation = this,
  ): Promise<RpcObject> {
    if (this.#openRequestCount >= maxOpenRequests) return Promise.reject(tooManyOpenRequests());
    this.#openRequestCount += 1;
    return this.#host.ask(this, method, params, signal, during).finally(() => {
      this.#openRequestCount -= 1;
    });
  }

  override taskProgress(): ((progress: RpcObject) => void) | undefined {
    const { progressToken } = this;
    if (progressToken === undefined) return undefined;
    const host = this.#host;
    return (progress) => host.notify("notifications/progress", { ...progress, progressToken });
  }

  respond(outcome: CallOutcome): void {
    this.#host.session.touch();
    if (this.isAbandoned) this.writer.end();
    else this.writer.respond(responseOf(this.id, outcome), legacyStatusOf(outcome));
  }
}

export function responseOf(id: RequestId, { result, error }: CallOutcome): RpcResponse {
  return error === undefined ? { jsonrpc: "2.0", id, result } : { jsonrpc: "2.0", id, error };
}

/** For a legacy client, only a request that exceeds a limit has a status other than 200. */
function legacyStatusOf(outcome: CallOutcome): number {
  return outcome.error !== undefined && outcome.status === 429 ? 429 : 200;
}
