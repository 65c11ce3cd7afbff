import type { CallPhases } from "../../call-phases.js";
import type { Cancellation } from "../../cancellation.js";
import { ToolServerError } from "../../errors.js";
import { InFlightMap } from "../../in-flight.js";
import type { Call } from "./call.js";
import { type ClientQueue, createClientQueue } from "./client-queue.js";
import type { RequestId, RpcMessage, RpcNotification, RpcObject, RpcRequest, RpcResponse } from "./json-rpc.js";
import { RpcError, rpcCodes } from "./json-rpc.js";
import { hasEnvelope } from "./protocol.js";

/** Sends messages to a server and receives its messages. */
export interface MessageTransport {
  send(message: RpcMessage, options?: SendOptions): Promise<void>;
  /** Ends the stream of a request, which is how modern requests are cancelled. Only for transports with a stream for each request. */
  endStream?(id: RequestId): void;
  onmessage?: ((message: RpcMessage, extra?: MessageOriginId) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  /** A request failed, and the transport continues: its response cannot be used. Only for transports whose `send` does not wait. */
  onrequestfailed?: ((id: RequestId, error: Error) => void) | undefined;
}

export interface SendOptions {
  /** Headers of the request, in addition to those of the transport and the credential. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly requestSignal?: Cancellation | undefined;
  /** Receives the phases of the request. Default: nothing does. */
  readonly phases?: CallPhases | undefined;
  /** The message is about to be written, for the first time or again: from now on it may arrive. */
  onSending?(): void;
  /** Over HTTP: whether the message waits for a connection, because all that may be open are in use. */
  onQueued?(isQueued: boolean): void;
}

export interface MessageOriginId {
  /** Our request on whose stream a message arrived, if each request has its own stream. */
  readonly relatedRequestId?: RequestId | undefined;
}

/** How many tasks a server may report progress for. */
const maxTasks = 1000;

/** The call that a server message belongs to: undefined if that is not known, because all calls share one socket. */
export type RelatedCall = Call | "ended" | undefined;

/** Returns the list that a caller gets instead of the one that was received. */
type ReadList = (result: RpcObject, method: string, params: RpcObject | undefined) => RpcObject;

/** A request that waits for its response. */
interface Pending {
  /** Undefined for one of the SDK's client. */
  readonly call: Call | undefined;
  /** The id that the SDK's client gave it; undefined for a call. */
  readonly clientId: RequestId | undefined;
  readonly method: string;
  readonly params: RpcObject | undefined;
  onResponse(response: RpcResponse): void;
  onProgress(notification: RpcNotification): void;
  onEnd(error: Error): void;
}

/**
 * Matches requests and responses by id over one transport. There is one sequence of ids and one table of pending requests, which the
 * SDK's client shares through `clientTransport`.
 */
export class Peer<Transport extends MessageTransport> {
  readonly #transport: Transport;
  readonly #pending = new InFlightMap<RequestId, Pending>();
  /** Progress of tasks, by the id of the request that created each of them. */
  readonly #taskProgress = new Map<RequestId, (progress: RpcObject) => void>();
  readonly #onIncoming: (message: RpcRequest | RpcNotification, call: RelatedCall) => void;
  readonly #readList: ReadList;
  #lastId = 0;
  /** The transport for the SDK's client: its requests get ids of this peer, and it receives what concerns it. */
  readonly clientTransport: Transport;
  readonly #clientQueue: ClientQueue;

  /** `onIncoming` is called with each server request and notification, before the SDK's client receives it. */
  constructor(
    transport: Transport,
    onIncoming: (message: RpcRequest | RpcNotification, call: RelatedCall) => void,
    readList: ReadList = (result) => result,
  ) {
    this.#transport = transport;
    this.#onIncoming = onIncoming;
    this.#readList = readList;
    this.clientTransport = Object.assign(Object.create(transport) as Transport, {
      send: (message: RpcMessage, options?: SendOptions) => this.#sendForClient(message, options),
      onmessage: undefined,
      onclose: undefined,
      onerror: undefined,
    });
    this.#clientQueue = createClientQueue(this.clientTransport);
    transport.onmessage = (message, extra) => this.#receive(message, extra?.relatedRequestId);
    transport.onerror = (error) => this.clientTransport.onerror?.(error);
    transport.onrequestfailed = (id, error) => this.#fail(id, error);
  }

  /**
   * Sends a request for a call, with `meta` and a progress token as its `_meta`. Resolves with the result as received.
   * Rejects with an RpcError if the server responds with an error, as the transport does, and with the call's reason if it is
   * cancelled: then the server is notified, or the stream of the request ends.
   */
  request(
    call: Call,
    method: string,
    given: RpcObject,
    meta: RpcObject | undefined,
    headers: SendOptions["headers"],
  ): Promise<RpcObject> {
    return new Promise((resolve, reject) => {
      call.throwIfAborted();
      this.#lastId += 1;
      const id = this.#lastId;
      const request = new PendingRequest(call, method, given, headers, resolve, reject, () => {
        // A server need not respond to a cancelled request, so nothing waits for it.
        if (!this.#pending.delete(id)) return;
        this.#cancel(message, request.mayHaveArrived);
        reject(call.reason);
      });
      const message: RpcRequest = { jsonrpc: "2.0", id, method, params: withProgressToken(given, meta, id) };
      this.#pending.add(id, request);
      this.#transport.send(message, request).catch((error: unknown) => {
        if (this.#pending.delete(id)) request.onEnd(error as Error);
      });
    });
  }

  /** Sends a notification. Rejects as the transport does. */
  notify(notification: RpcNotification): Promise<void> {
    return this.#transport.send(notification);
  }

  #cancel({ id, params }: RpcRequest, mayHaveArrived: boolean): void {
    // A server must not be notified of a request that it never received.
    if (this.#transport.endStream !== undefined && (hasEnvelope(params) || !mayHaveArrived)) {
      this.#transport.endStream(id);
      return;
    }
    const cancelled = { requestId: id, reason: "The caller gave up." };
    this.notify({ jsonrpc: "2.0", method: "notifications/cancelled", params: cancelled }).catch(() => {});
  }

  /** No more responses arrive: pending requests reject with this error. */
  end(error: Error): void {
    const left = this.#pending.entries();
    this.#pending.clear();
    for (const [, request] of left) request.onEnd(error);
  }

  #fail(id: RequestId, error: Error): void {
    const request = this.#pending.get(id);
    if (request === undefined || !this.#pending.delete(id)) return;
    if (request.call !== undefined) request.onEnd(error);
    else request.onResponse({ jsonrpc: "2.0", id, error: { code: rpcCodes.failed, message: error.message } });
  }

  #receive(message: RpcMessage, relatedId: RequestId | undefined): void {
    if ("method" in message) {
      if (!("id" in message) && message.method === "notifications/progress") {
        const token = message.params?.progressToken as RequestId;
        const request = this.#pending.get(token);
        if (request !== undefined) request.onProgress(message);
        else this.#taskProgress.get(token)?.(progressOf(message));
        return;
      }
      this.#onIncoming(message, this.#relatedCall(relatedId));
      this.#clientQueue.deliver(message);
      return;
    }
    const { id } = message;
    const found = id == null ? undefined : this.#pending.get(id);
    if (found !== undefined && id != null) {
      this.#pending.delete(id);
      found.onResponse(this.#read(message, found));
      if (message.result?.task !== undefined) this.#keepProgress(id, found.call);
    }
    // A number belonged to a request that was cancelled. The client's subscriptions have strings.
    else if (typeof id === "string" && this.#pending.get(Number(id)) !== undefined)
      this.#fail(Number(id), retypedId(id));
    else if (typeof id !== "number") this.#clientQueue.deliver(message);
  }

  #read(response: RpcResponse, { method, params }: Pending): RpcResponse {
    if (response.result === undefined || !method.endsWith("/list")) return response;
    const result = this.#readList(response.result, method, params);
    return result === response.result ? response : { ...response, result };
  }

  /** A call that created a task has ended, but not its progress. */
  #keepProgress(id: RequestId, call: Call | undefined): void {
    const onProgress = call?.taskProgress();
    if (onProgress === undefined) return;
    this.#taskProgress.set(id, onProgress);
    const [oldest] = this.#taskProgress.keys();
    if (this.#taskProgress.size > maxTasks && oldest !== undefined) this.#taskProgress.delete(oldest);
  }

  #relatedCall(id: RequestId | undefined): RelatedCall {
    if (typeof id !== "number") return undefined;
    const found = this.#pending.get(id);
    return found === undefined ? "ended" : found.call;
  }

  async #sendForClient(message: RpcMessage, options: SendOptions | undefined): Promise<void> {
    if (!("method" in message)) return this.#transport.send(message, options);
    if (!("id" in message)) return this.#notifyForClient(message, options);
    const { id: clientId, method, params } = message;
    // A subscription, whose notifications carry its id.
    if (typeof clientId === "string") return this.#transport.send(message, options);
    this.#lastId += 1;
    const id = this.#lastId;
    this.#pending.add(id, new ClientRequest(clientId, method, params, this.#clientQueue));
    const meta = params?._meta as RpcObject | undefined;
    const hasToken = params !== undefined && meta?.progressToken !== undefined;
    const sent = hasToken ? withProgressToken(params, meta, id) : params;
    try {
      await this.#transport.send({ jsonrpc: "2.0", id, method, params: sent }, options);
    } catch (error) {
      this.#pending.delete(id);
      throw error;
    }
  }

  async #notifyForClient(message: RpcNotification, options: SendOptions | undefined): Promise<void> {
    const clientId = message.method === "notifications/cancelled" ? message.params?.requestId : undefined;
    if (typeof clientId !== "number") return this.#transport.send(message, options);
    this.#clientQueue.forget(clientId);
    const [requestId] = this.#pending.entries().find(([, pending]) => pending.clientId === clientId) ?? [];
    if (requestId === undefined) return;
    this.#pending.delete(requestId);
    await this.#transport.send({ ...message, params: { ...message.params, requestId } }, options);
  }
}

// A class, because one is made for every call. It is also the options of its message, so that no other object is.
class PendingRequest implements Pending, SendOptions {
  readonly call: Call;
  readonly clientId = undefined;
  readonly method: string;
  readonly params: RpcObject;
  readonly headers: SendOptions["headers"];
  readonly phases: CallPhases | undefined;
  mayHaveArrived = false;
  /** Whether an earlier request of the call may have arrived. */
  readonly #wasCallSent: boolean;
  readonly #resolve: (result: RpcObject) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onCancel: () => void;

  constructor(
    call: Call,
    method: string,
    params: RpcObject,
    headers: SendOptions["headers"],
    resolve: (result: RpcObject) => void,
    reject: (error: unknown) => void,
    onCancel: () => void,
  ) {
    this.call = call;
    this.method = method;
    this.params = params;
    this.headers = headers;
    this.phases = call.phases;
    this.#wasCallSent = call.wasSent;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onCancel = onCancel;
    call.addEventListener("abort", onCancel);
  }

  onSending(): void {
    this.mayHaveArrived = true;
    this.call.wasSent = true;
    this.call.activeAt = performance.now();
  }

  onQueued(isQueued: boolean): void {
    this.call.isQueued = isQueued;
  }

  onResponse({ result, error }: RpcResponse): void {
    this.call.removeEventListener("abort", this.#onCancel);
    if (error === undefined) this.#resolve(result);
    else this.#reject(new RpcError(error.code, error.message, { data: error.data }));
    // An observer that throws must not leave the call without a response.
    this.call.phases?.end("response");
  }

  onProgress(notification: RpcNotification): void {
    this.call.onProgress(progressOf(notification));
  }

  onEnd(error: Error): void {
    this.call.removeEventListener("abort", this.#onCancel);
    // Such as one of a session that the server no longer knows. It may be sent again.
    if (ToolServerError.is(error) && error.details.wasSent === false) this.call.wasSent = this.#wasCallSent;
    this.#reject(error);
  }
}

/** A request of the SDK's client, which has its own table of pending requests. */
class ClientRequest implements Pending {
  readonly call = undefined;
  readonly clientId: RequestId;
  readonly method: string;
  readonly params: RpcObject | undefined;
  readonly #queue: ClientQueue;

  constructor(clientId: RequestId, method: string, params: RpcObject | undefined, queue: ClientQueue) {
    this.clientId = clientId;
    this.method = method;
    this.params = params;
    this.#queue = queue;
  }

  onResponse({ result, error }: RpcResponse): void {
    const { clientId: id } = this;
    this.#queue.deliver(error === undefined ? { jsonrpc: "2.0", id, result } : { jsonrpc: "2.0", id, error });
  }

  onProgress(notification: RpcNotification): void {
    const params = { ...notification.params, progressToken: this.clientId };
    this.#queue.deliver({ ...notification, params });
  }

  onEnd(): void {}
}

function retypedId(id: string): ToolServerError {
  const problem = `The server responded with the id ${JSON.stringify(id)}, a string, and not with the number of the request.`;
  const advice = "Fix the server: it has to return the id of a request as it is.";
  return new ToolServerError("RESPONSE_INVALID", { problem, advice }, { details: { wasSent: true } });
}

/** A copy of the parameters, with `meta` and the token as their `_meta`. */
function withProgressToken(given: RpcObject, meta: RpcObject | undefined, progressToken: number): RpcObject {
  // Adding a key to a copy costs more than the copy, and on Node 20 a property after a spread gets a separate shape.
  const params: Record<string, unknown> = { _meta: undefined, ...given };
  params._meta = meta === undefined ? { progressToken } : { ...meta, progressToken };
  return params;
}

/** The parameters of a progress notification, without the token. */
function progressOf({ params = {} }: RpcNotification): RpcObject {
  const { progressToken: _, ...progress } = params;
  return progress;
}
