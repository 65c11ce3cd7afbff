import { createBackOff } from "../../back-off.js";
import { Canceller } from "../../cancellation.js";
import { systemClock } from "../../clock.js";
import { messageOf, ToolServerError } from "../../errors.js";
import { isRepeatable } from "../connection-failures.js";
import {
  cancelledIdOf,
  type RequestId,
  type RpcMessage,
  type RpcRequest,
  requestIdOf,
  responseIdOf,
} from "../rpc/json-rpc.js";
import { isModernRequest } from "../transports/streamable-http-session.js";
import type { ToolTransport } from "../transports/transport.js";

export interface RemoteOptions {
  /** A new transport to the server, not yet started. */
  readonly openTransport: () => ToolTransport;
  readonly onMessage: (message: RpcMessage) => void;
  /** A request gets no response. Called once at most, and not after its response, its cancellation or `close`. */
  readonly onFailed: (id: RequestId, error: unknown) => void;
  /** Reports a problem that concerns no request. */
  readonly onProblem: (text: string) => void;
  /**
   * Whether the client's session is reopened as soon as its transport has ended instead of with the next message, so that the
   * client gets the server's notifications. Default false.
   */
  readonly isEager?: boolean | undefined;
  /** The client's session continues over another transport: what it knows about the server may have changed. */
  readonly onReopened?: (() => void) | undefined;
}

/** The remote server, over one transport after the other. */
export interface Remote {
  /** Forwards a client message, over a new transport if none is open. Never rejects: failures are reported. */
  send(message: RpcMessage): Promise<void>;
  /** Opens another transport now. Requests in flight finish on the previous one. */
  reopen(): void;
  close(): Promise<void>;
}

/** A transport and its state. */
interface Link {
  readonly transport: ToolTransport;
  /** Receives the response to the repeated handshake. */
  onHandshake: ((response: RpcMessage) => void) | undefined;
  /** Resolves when it has ended. */
  readonly over: Promise<ToolServerError>;
  /** Whether another one has replaced it: it ends with its last request. */
  isRetired: boolean;
}

/** A client request without a response. */
interface OpenRequest {
  readonly canceller: Canceller;
  readonly isModern: boolean;
  /** Where it was sent; undefined while no transport is open for it. */
  link: Link | undefined;
}

/** The handshake of a client of the older era. */
interface Handshake {
  readonly request: RpcRequest;
  /** The notification that completed it. */
  readonly done: RpcMessage | undefined;
}

/** The delays before a session is reopened automatically, in milliseconds. */
const reopening = { firstMs: 200, maxMs: 10_000 };

/** The id of a repeated handshake, which no client uses. */
const ownId = "wirescope-bridge-handshake";

/**
 * Creates the connection to a remote server. After a loss, the next message opens it again. If the server forgot the session, the
 * message was not accepted and is sent again in a new one. A session of the older era repeats the client's handshake, but nothing
 * else, such as its subscriptions.
 */
export function createRemote(options: RemoteOptions): Remote {
  const { openTransport, onMessage, onFailed, onProblem, onReopened, isEager = false } = options;
  const links = new Set<Link>();
  const requests = new Map<RequestId, OpenRequest>();
  const backOff = createBackOff(reopening, systemClock);
  let cancelReopening = (): void => {};
  /** The current link, or the one that is being opened. */
  let current: Promise<Link> | undefined;
  let live: Link | undefined;
  let handshake: Handshake | undefined;
  let isClosed = false;

  const receive = (link: Link, message: RpcMessage): void => {
    const id = responseIdOf(message);
    if (id === ownId) {
      link.onHandshake?.(message);
      return;
    }
    if (id !== undefined) {
      requests.delete(id);
      if (id === handshake?.request.id) adoptVersion(message, link.transport);
      endIfDone(link);
    }
    onMessage(message);
  };
  /** The next message uses another link. */
  const retire = (link: Link): void => {
    link.isRetired = true;
    if (live !== link) return;
    live = undefined;
    current = undefined;
  };
  const requestsOf = (link: Link): RequestId[] =>
    [...requests].flatMap(([id, request]) => (request.link === link ? [id] : []));
  const endIfDone = (link: Link): void => {
    if (link.isRetired && requestsOf(link).length === 0) void link.transport.close();
  };
  const fail = (id: RequestId, error: unknown): void => {
    if (requests.delete(id)) onFailed(id, error);
  };
  /** Cancels a request. Returns whether the server has to be notified. */
  const cancel = (id: RequestId): boolean => {
    const request = requests.get(id);
    if (request === undefined) return true;
    const { canceller, isModern, link } = request;
    requests.delete(id);
    canceller.cancel();
    if (link === undefined) return false;
    endIfDone(link);
    // If each request has its own stream, the newer era cancels it by closing the stream; the older era sends a message.
    return !(isModern && link.transport.hasPerRequestStream === true);
  };
  const createLink = (): Link => {
    const transport = openTransport();
    const over = new Promise<ToolServerError>((resolve) => {
      transport.onclose = () => {
        const failure = transport.failure ?? lost();
        const wasLive = live === link;
        retire(link);
        links.delete(link);
        for (const id of requestsOf(link)) fail(id, failure);
        resolve(failure);
        if (wasLive) reopenLater();
      };
    });
    const link: Link = { transport, onHandshake: undefined, over, isRetired: false };
    transport.ondraining = () => {
      const wasLive = live === link;
      retire(link);
      endIfDone(link);
      if (wasLive) reopenLater();
    };
    transport.onmessage = (message) => receive(link, message);
    transport.onerror = (error) => onProblem(error.message);
    transport.onrequestfailed = (id, error) => {
      fail(id, error);
      endIfDone(link);
    };
    links.add(link);
    return link;
  };
  const begin = async (): Promise<Link> => {
    const link = createLink();
    try {
      await link.transport.start();
      const isReopened = handshake?.done !== undefined;
      if (handshake?.done !== undefined) await repeatHandshake(link, handshake.request, handshake.done);
      if (link.isRetired) throw await link.over;
      if (isReopened) onReopened?.();
    } catch (error) {
      current = undefined;
      await link.transport.close();
      reopenLater();
      throw error;
    }
    backOff.opened();
    live = link;
    return link;
  };
  const reopenLater = (): void => {
    if (!isEager || isClosed || handshake?.done === undefined) return;
    cancelReopening();
    cancelReopening = systemClock.after(backOff.ended(), () => void ensure().catch(() => {}));
  };
  /** The current link, which is opened if necessary. */
  const ensure = async (): Promise<Link> => {
    if (isClosed) throw new ToolServerError("CONNECTION_CLOSED", { problem: "The bridge has ended.", advice: "" });
    current ??= begin();
    return current;
  };

  /** Sends a message, and repeats it once if that is safe. Rejects with a ToolServerError. */
  const forward = async (message: RpcMessage, request: OpenRequest | undefined): Promise<void> => {
    for (let isRepeated = false; ; isRepeated = true) {
      const link = await ensure();
      request?.canceller.throwIfAborted();
      if (request !== undefined) request.link = link;
      try {
        await link.transport.send(message, { requestSignal: request?.canceller });
        return;
      } catch (error) {
        if (request !== undefined) request.link = undefined;
        const failure = ToolServerError.is(error) ? error : undefined;
        if (failure?.code === "SESSION_LOST" || failure?.code === "SERVER_UNREACHABLE") retire(link);
        endIfDone(link);
        const method = "method" in message ? message.method : "";
        // During a handshake only its first message can be repeated.
        const canBegin = handshake?.done !== undefined || handshake === undefined || message === handshake.request;
        if (!isRepeated && canBegin && failure !== undefined && isRepeatable(failure, method)) continue;
        if (link.isRetired) reopenLater();
        throw error;
      }
    }
  };

  return {
    async send(message) {
      handshake = handshakeAfter(handshake, message);
      const cancelledId = cancelledIdOf(message);
      if (cancelledId !== undefined && !cancel(cancelledId)) return;
      const id = requestIdOf(message);
      if (id === undefined) {
        await forward(message, undefined).catch((error: unknown) => onProblem(messageOf(error)));
        return;
      }
      const request: OpenRequest = {
        canceller: new Canceller(),
        isModern: isModernRequest(message),
        link: undefined,
      };
      requests.set(id, request);
      await forward(message, request).catch((error: unknown) => fail(id, error));
    },
    reopen() {
      if (live === undefined || isClosed) return;
      const before = live;
      retire(before);
      endIfDone(before);
      if (handshake?.done !== undefined) void ensure().catch(() => {});
    },
    async close() {
      isClosed = true;
      requests.clear();
      cancelReopening();
      await Promise.all([...links].map(({ transport }) => transport.close()));
    },
  };
}

/** Repeats the client's handshake. */
async function repeatHandshake(link: Link, request: RpcRequest, done: RpcMessage): Promise<void> {
  const { transport } = link;
  const responded = new Promise<RpcMessage>((resolve) => {
    link.onHandshake = resolve;
  });
  await transport.send({ ...request, id: ownId });
  const response = await Promise.race([responded, link.over]);
  if (response instanceof Error) throw response;
  if (!("method" in response) && response.error !== undefined) {
    const problem = `The server did not start a new session: ${response.error.message}`;
    throw new ToolServerError("CALL_REFUSED", { problem, advice: "Check the log of the server." });
  }
  adoptVersion(response, transport);
  await transport.send(done);
}

function handshakeAfter(before: Handshake | undefined, message: RpcMessage): Handshake | undefined {
  if (!("method" in message)) return before;
  if (message.method === "initialize" && "id" in message) return { request: message, done: undefined };
  if (message.method === "notifications/initialized" && before !== undefined) return { ...before, done: message };
  return before;
}

/** After a handshake of the older era, the transport sends the negotiated version. */
function adoptVersion(message: RpcMessage, transport: ToolTransport): void {
  const version = "method" in message ? undefined : message.result?.protocolVersion;
  if (typeof version === "string") transport.setProtocolVersion?.(version);
}

function lost(): ToolServerError {
  const parts = { problem: "The connection to the server ended.", advice: "The next request connects again." };
  return new ToolServerError("CONNECTION_LOST", parts);
}
