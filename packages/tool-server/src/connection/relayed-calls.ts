import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Client,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  SdkError,
  SdkErrorCode,
} from "@modelcontextprotocol/client";
import type { TransportFacts } from "../diagnostics/facts.js";
import type { RequestId, RpcMessage, RpcNotification, RpcRequest } from "../rpc/json-rpc.js";
import { TransientMap } from "../rpc/transient-map.js";
import type { ToolMessageExtra, ToolTransport } from "../transports/transport.js";
import type { ClientSettings, MessageOrigin, ServerDescription } from "./client-settings.js";

/** Parameters and results as they are on the wire. */
export type WireObject = Readonly<Record<string, unknown>>;

/** A request that is passed on as it is. */
export interface RelayRequest {
  readonly method: string;
  /**
   * The parameters, for the server as it turned out to be. In the newer era what is in their `_meta` goes before what this
   * side says of itself there.
   */
  readonly paramsFor: (server: ServerDescription) => WireObject;
  /** Headers of the request, besides those of the transport and the credential. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Hears of progress, without its token. */
  readonly onProgress?: ((progress: WireObject) => void) | undefined;
  /** Comes back, as `mark`, with what the server sends on the stream of the request: see MessageOrigin. */
  readonly mark?: object | undefined;
}

/** Hears how a request ended, once. Not a promise: each that stands between a server and a client costs every call. */
export interface RelayOutcome {
  /** The result as it came. */
  onResult(result: WireObject): void;
  /** As the transport fails, or with a ProtocolError. */
  onFailure(error: unknown): void;
}

/** Requests that pass the client of the SDK by: it would look at all that goes through, where nothing needs to be known of it. */
export interface RelayedCalls {
  /** To be called before the client connects: hears what the server says by itself. */
  prepare(client: Client): void;
  /** To be called once it has connected: takes the answers that are not for the client, and tells of each call that ended. */
  begin(server: ServerDescription, counter: CallCounter): void;
  /** Sends a request. Returns its id. */
  send(request: RelayRequest, outcome: RelayOutcome): number;
  /** Tells the server that nobody waits for a request any more. No outcome comes of it, whether the server answers or not. */
  giveUp(id: number): void;
  /** No more answers come: what is in flight fails as with the client of the SDK. */
  end(): void;
}

interface Pending {
  readonly request: RelayRequest;
  readonly outcome: RelayOutcome;
}

/** Hears how calls end: before who made one does, and once they have. */
export interface CallCounter {
  succeeded(): void;
  failed(): void;
  ended(): void;
}

/** The mark of what the server sends about a request that is over: it is nobody's, and not anybody's either. */
const overMark = Object.freeze({});

/** Far from the ids of the client, which begin at 0. */
const firstId = 1_000_000_000;

export function createRelayedCalls(
  transport: ToolTransport,
  facts: TransportFacts,
  settings: ClientSettings,
): RelayedCalls {
  const { onRequest, onNotification } = settings;
  const pending = new TransientMap<RequestId, Pending>();
  /** The marks of requests of the server, which the client hands on a moment after they came. */
  const asked = new Map<RequestId, object>();
  let lastId = firstId;
  let server: ServerDescription | undefined;
  let counter: CallCounter | undefined;

  const succeed = ({ outcome }: Pending, result: WireObject): void => {
    counter?.succeeded();
    outcome.onResult(result);
    counter?.ended();
  };
  const fail = ({ outcome }: Pending, error: unknown): void => {
    counter?.failed();
    outcome.onFailure(error);
    counter?.ended();
  };

  /** Whether an id is, or was, of a request that was passed on. */
  const isOurs = (id: unknown): boolean => typeof id === "number" && id > firstId && id <= lastId;

  const markOf = (extra: ToolMessageExtra | undefined): object | undefined => {
    const related = extra?.relatedRequestId;
    if (related === undefined) return undefined;
    const found = pending.get(related);
    return found === undefined && isOurs(related) ? overMark : found?.request.mark;
  };

  const hear = (message: RpcRequest | RpcNotification, extra: ToolMessageExtra | undefined): void => {
    if (!("id" in message)) {
      onNotification?.(message, { facts, mark: markOf(extra) });
      return;
    }
    const mark = markOf(extra);
    if (mark === undefined) return;
    const { id } = message;
    asked.set(id, mark);
    // Some the client answers by itself, or refuses.
    setImmediate(() => asked.delete(id));
  };

  /** Whether a message is about a request of ours, and was taken. */
  const take = (message: RpcMessage): boolean => {
    if ("method" in message) {
      if ("id" in message || message.method !== "notifications/progress") return false;
      const { progressToken, ...progress } = message.params ?? {};
      pending.get(progressToken as RequestId)?.request.onProgress?.(progress);
      return isOurs(progressToken);
    }
    const { id } = message;
    const found = id == null ? undefined : pending.get(id);
    // What comes of a request that was given up is nobody's.
    if (found === undefined || id == null) return isOurs(id);
    pending.delete(id);
    if (message.error === undefined) succeed(found, message.result);
    else fail(found, new ProtocolError(message.error.code, message.error.message, message.error.data));
    return true;
  };

  const wireParams = (id: number, { paramsFor }: RelayRequest, described: ServerDescription): WireObject => {
    const { _meta: meta, ...params } = paramsFor(described) as Record<string, unknown> & {
      readonly _meta?: WireObject;
    };
    const said =
      described.era === "legacy"
        ? undefined
        : {
            [PROTOCOL_VERSION_META_KEY]: described.protocolVersion,
            [CLIENT_INFO_META_KEY]: settings.info,
            [CLIENT_CAPABILITIES_META_KEY]: settings.capabilities ?? {},
          };
    // Set, not spread with the rest: on Node 20 each object that is made by a spread and a property after it has a shape of its own.
    params._meta =
      said === undefined && meta === undefined ? { progressToken: id } : { ...said, ...meta, progressToken: id };
    return params;
  };

  return {
    prepare(client) {
      transport.onmessage = (message: RpcMessage, extra?: ToolMessageExtra) => {
        if ("method" in message) hear(message, extra);
      };
      if (onRequest === undefined) return;
      client.fallbackRequestHandler = (request, { mcpReq: { signal } }) => {
        const origin: MessageOrigin = { facts, mark: asked.get(request.id), signal };
        asked.delete(request.id);
        return onRequest(request, origin);
      };
    },
    begin(described, counting) {
      server = described;
      counter = counting;
      const others = transport.onmessage;
      transport.onmessage = (message: RpcMessage, extra?: ToolMessageExtra) => {
        if (!take(message)) others?.(message, extra);
      };
    },
    send(request, outcome) {
      if (server === undefined) throw new TypeError("The session has not begun yet.");
      const { method, headers } = request;
      lastId += 1;
      const id = lastId;
      const message: RpcRequest = { jsonrpc: "2.0", id, method, params: wireParams(id, request, server) };
      const sent: Pending = { request, outcome };
      pending.set(id, sent);
      transport.send(message, headers === undefined ? undefined : { headers }).catch((error: unknown) => {
        if (pending.delete(id)) fail(sent, error);
      });
      return id;
    },
    giveUp(id) {
      // A server need not answer what was called off: whoever waited for that would wait for as long as the connection lives.
      if (!pending.delete(id)) return;
      counter?.failed();
      const said = { requestId: id, reason: "The caller gave up." };
      transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: said }).catch(() => {});
      counter?.ended();
    },
    end() {
      const error = new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed");
      const left = [...pending.values()];
      pending.clear();
      for (const call of left) fail(call, error);
    },
  };
}
