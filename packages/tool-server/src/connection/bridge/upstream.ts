import { createBackOff } from "../../back-off.js";
import { systemClock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import { isRepeatable } from "../connection-failures.js";
import { type RequestId, type RpcMessage, type RpcRequest, requestIdOf, responseIdOf } from "../rpc/json-rpc.js";
import type { ToolTransport } from "../transports/transport.js";

export interface UpstreamOptions {
  /** A new transport to the server, not yet started. */
  readonly openTransport: () => ToolTransport;
  readonly onMessage: (message: RpcMessage) => void;
  /** No response comes to these requests any more. */
  readonly onLost: (requests: Iterable<RequestId>, failure: ToolServerError) => void;
  /** What went wrong and concerns no request. */
  readonly onProblem: (text: string) => void;
  /**
   * Whether a session of the client is begun again as soon as its transport has ended, and not only with the next message, so
   * that the client hears what the server says by itself. Default false.
   */
  readonly isEager?: boolean | undefined;
  /** The session of the client goes on over another transport: what it knows of the server may have changed. */
  readonly onReopened?: (() => void) | undefined;
}

/** The way to a server, over one transport after the other. */
export interface Upstream {
  /** Sends a message of the client on, over a new transport where there is none. Rejects with a ToolServerError. */
  send(message: RpcMessage, signal?: AbortSignal): Promise<void>;
  /** Opens another transport now. Requests in flight end over the one before. */
  reopen(): void;
  close(): Promise<void>;
}

/** A transport, and what goes on over it. */
interface Link {
  readonly transport: ToolTransport;
  /** The requests of the client that are not answered. */
  readonly open: Set<RequestId>;
  /** Gets the response to the handshake that is repeated. */
  onHandshake: ((response: RpcMessage) => void) | undefined;
  /** Resolves when it has ended. */
  readonly over: Promise<ToolServerError>;
  /** Whether another has taken its place: it ends with its last request. */
  isRetired: boolean;
}

/** How the client of the older era began. */
interface Handshake {
  readonly request: RpcRequest;
  /** What said that it is done. */
  readonly done: RpcMessage | undefined;
}

/** The delays before a session is begun again by itself, in milliseconds. */
const reopening = { firstMs: 200, maxMs: 10_000 };

/** The id of a handshake that is repeated. No client has it. */
const ownId = "wirescope-bridge-handshake";

/**
 * The way to a server. Where it was lost, the next message opens it again. Where the server forgot the session, the message
 * is sent once more over a new one, for it was not taken. A session of the older era begins as the client began it; what else
 * the client had told the old one, such as its subscriptions, is not repeated.
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { openTransport, onMessage, onLost, onProblem, onReopened, isEager = false } = options;
  const links = new Set<Link>();
  const backOff = createBackOff(reopening, systemClock);
  let cancelReopening = (): void => {};
  /** The link that is there, or comes. */
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
      link.open.delete(id);
      if (id === handshake?.request.id) adoptVersion(message, link.transport);
      endIfDone(link);
    }
    onMessage(message);
  };
  /** The next message goes over another. */
  const retire = (link: Link): void => {
    link.isRetired = true;
    if (live !== link) return;
    live = undefined;
    current = undefined;
  };
  const endIfDone = ({ isRetired, open, transport }: Link): void => {
    if (isRetired && open.size === 0) void transport.close();
  };
  const createLink = (): Link => {
    const transport = openTransport();
    const over = new Promise<ToolServerError>((resolve) => {
      transport.onclose = () => {
        const failure = transport.failure ?? lost();
        const wasLive = live === link;
        retire(link);
        links.delete(link);
        onLost([...link.open], failure);
        resolve(failure);
        if (wasLive) reopenLater();
      };
    });
    const link: Link = { transport, open: new Set(), onHandshake: undefined, over, isRetired: false };
    transport.onmessage = (message) => receive(link, message);
    transport.onerror = (error) => onProblem(error.message);
    links.add(link);
    return link;
  };
  const begin = async (): Promise<Link> => {
    const link = createLink();
    try {
      await link.transport.start();
      const isAgain = handshake?.done !== undefined;
      if (handshake?.done !== undefined) await repeatHandshake(link, handshake.request, handshake.done);
      if (link.isRetired) throw await link.over;
      if (isAgain) onReopened?.();
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
  /** The link to use, which is opened where there is none. */
  const ensure = async (): Promise<Link> => {
    if (isClosed) throw new ToolServerError("CONNECTION_CLOSED", { problem: "The bridge has ended.", advice: "" });
    current ??= begin();
    return current;
  };

  return {
    async send(message, signal) {
      handshake = handshakeAfter(handshake, message);
      const id = requestIdOf(message);
      for (let isRepeated = false; ; isRepeated = true) {
        const link = await ensure();
        signal?.throwIfAborted();
        if (id !== undefined) link.open.add(id);
        try {
          await link.transport.send(message, signal === undefined ? {} : { requestSignal: signal });
          return;
        } catch (error) {
          if (id !== undefined) link.open.delete(id);
          const failure = ToolServerError.is(error) ? error : undefined;
          if (failure?.code === "SESSION_LOST" || failure?.code === "SERVER_UNREACHABLE") retire(link);
          endIfDone(link);
          const method = "method" in message ? message.method : "";
          // In the middle of a handshake only its beginning can be repeated.
          const canBegin = handshake?.done !== undefined || handshake === undefined || message === handshake.request;
          if (!isRepeated && canBegin && failure !== undefined && isRepeatable(failure, method)) continue;
          if (link.isRetired) reopenLater();
          throw error;
        }
      }
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
      cancelReopening();
      await Promise.all([...links].map(({ transport }) => transport.close()));
    },
  };
}

/** Begins a session as the client began it. */
async function repeatHandshake(link: Link, request: RpcRequest, done: RpcMessage): Promise<void> {
  const { transport } = link;
  const answered = new Promise<RpcMessage>((resolve) => {
    link.onHandshake = resolve;
  });
  await transport.send({ ...request, id: ownId });
  const response = await Promise.race([answered, link.over]);
  if (response instanceof Error) throw response;
  if (!("method" in response) && response.error !== undefined) {
    const problem = `The server started no new session: ${response.error.message}`;
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

/** From the handshake of the older era on, the transport names the version that was agreed on. */
function adoptVersion(message: RpcMessage, transport: ToolTransport): void {
  const version = "method" in message ? undefined : message.result?.protocolVersion;
  if (typeof version === "string") transport.setProtocolVersion?.(version);
}

function lost(): ToolServerError {
  return new ToolServerError("CONNECTION_LOST", {
    problem: "The connection to the server ended.",
    advice: "The next request connects again.",
  });
}
