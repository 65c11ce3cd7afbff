import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Client,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  type RequestId,
  SdkError,
  SdkErrorCode,
} from "@modelcontextprotocol/client";
import type { TransportFacts } from "../diagnostics/facts.js";
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
  /** To be called once it has connected: takes the answers that are not for the client. */
  begin(server: ServerDescription): void;
  /** Sends a request. Returns how to tell the server that nobody waits any more; the outcome may still come. */
  send(request: RelayRequest, outcome: RelayOutcome): () => void;
  /** No more answers come: what is in flight fails as with the client of the SDK. */
  end(): void;
}

interface Pending {
  readonly request: RelayRequest;
  readonly outcome: RelayOutcome;
}

/** Far from the ids of the client, which begin at 0. */
const firstId = 1_000_000_000;

export function createRelayedCalls(
  transport: ToolTransport,
  facts: TransportFacts,
  settings: ClientSettings,
): RelayedCalls {
  const { onRequest, onNotification } = settings;
  const pending = new Map<RequestId, Pending>();
  /** The marks of requests of the server, which the client hands on a moment after they came. */
  const asked = new Map<RequestId, object>();
  let lastId = firstId;
  let server: ServerDescription | undefined;

  const markOf = (extra: ToolMessageExtra | undefined): object | undefined =>
    extra?.relatedRequestId === undefined ? undefined : pending.get(extra.relatedRequestId)?.request.mark;

  const hear = (message: JSONRPCRequest | JSONRPCNotification, extra: ToolMessageExtra | undefined): void => {
    if (!("id" in message)) {
      onNotification?.(message, { facts, mark: markOf(extra) });
      return;
    }
    const mark = markOf(extra);
    if (mark !== undefined) asked.set(message.id, mark);
  };

  /** Whether a message is about a request of ours, and was taken. */
  const take = (message: JSONRPCMessage): boolean => {
    if ("method" in message) {
      if ("id" in message || message.method !== "notifications/progress") return false;
      const { progressToken, ...progress } = message.params ?? {};
      const found = pending.get(progressToken as RequestId);
      found?.request.onProgress?.(progress);
      return found !== undefined;
    }
    const found = message.id === undefined ? undefined : pending.get(message.id);
    if (found === undefined || message.id === undefined) return false;
    pending.delete(message.id);
    if ("result" in message) found.outcome.onResult(message.result);
    else found.outcome.onFailure(new ProtocolError(message.error.code, message.error.message, message.error.data));
    return true;
  };

  const wireParams = (id: number, { paramsFor }: RelayRequest, described: ServerDescription): WireObject => {
    const params = paramsFor(described);
    const meta = params._meta as WireObject | undefined;
    if (described.era === "legacy") return { ...params, _meta: { ...meta, progressToken: id } };
    return {
      ...params,
      _meta: {
        [PROTOCOL_VERSION_META_KEY]: described.protocolVersion,
        [CLIENT_INFO_META_KEY]: settings.info,
        [CLIENT_CAPABILITIES_META_KEY]: settings.capabilities ?? {},
        ...meta,
        progressToken: id,
      },
    };
  };

  return {
    prepare(client) {
      transport.onmessage = (message: JSONRPCMessage, extra?: ToolMessageExtra) => {
        if ("method" in message) hear(message, extra);
      };
      if (onRequest === undefined) return;
      client.fallbackRequestHandler = (request, { mcpReq: { signal } }) => {
        const origin: MessageOrigin = { facts, mark: asked.get(request.id), signal };
        asked.delete(request.id);
        return onRequest(request, origin);
      };
    },
    begin(described) {
      server = described;
      const others = transport.onmessage;
      transport.onmessage = (message: JSONRPCMessage, extra?: ToolMessageExtra) => {
        if (!take(message)) others?.(message, extra);
      };
    },
    send(request, outcome) {
      if (server === undefined) throw new TypeError("The session has not begun yet.");
      const { method, headers } = request;
      lastId += 1;
      const id = lastId;
      const message: JSONRPCRequest = { jsonrpc: "2.0", id, method, params: wireParams(id, request, server) };
      pending.set(id, { request, outcome });
      transport.send(message, headers === undefined ? undefined : { headers }).catch((error: unknown) => {
        if (pending.delete(id)) outcome.onFailure(error);
      });
      return () => {
        if (!pending.has(id)) return;
        const said = { requestId: id, reason: "The caller gave up." };
        transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: said }).catch(() => {});
      };
    },
    end() {
      const error = new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed");
      const left = [...pending.values()];
      pending.clear();
      for (const { outcome } of left) outcome.onFailure(error);
    },
  };
}
