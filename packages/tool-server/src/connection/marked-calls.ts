import type { Client, JSONRPCNotification, JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import type { TransportFacts } from "../diagnostics/facts.js";
import { requestIdOf } from "../transports/json-rpc.js";
import type { ToolMessageExtra, ToolTransport } from "../transports/transport.js";
import type { ClientSettings, MessageOrigin } from "./client-settings.js";

/** Which call a message of the server belongs to. */
export interface MarkedCalls {
  /** Makes a call: the requests that `invoke` sends before it first waits carry the mark. */
  during<Value>(mark: object, invoke: () => Promise<Value>): Promise<Value>;
}

/**
 * Tells those who asked for it what a server sends by itself, and the call on whose stream it came. To be called before the
 * client connects: it leaves in place who listens to a transport already.
 */
export function markCalls(
  transport: ToolTransport,
  client: Client,
  { onRequest, onNotification }: ClientSettings,
  facts: TransportFacts,
): MarkedCalls {
  const marks = new Map<RequestId, object>();
  /** The marks of requests of the server, which are answered a moment after they are heard. */
  const asked = new Map<RequestId, object>();
  let current: { readonly mark: object; readonly ids: RequestId[] } | undefined;

  if (onRequest !== undefined || onNotification !== undefined) {
    transport.onmessage = (message: JSONRPCRequest | JSONRPCNotification | object, extra?: ToolMessageExtra) => {
      if (!("method" in message)) return;
      const mark = extra?.relatedRequestId === undefined ? undefined : marks.get(extra.relatedRequestId);
      if (!("id" in message)) onNotification?.(message, { facts, mark });
      else if (mark !== undefined) asked.set(message.id, mark);
    };
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const id = current === undefined ? undefined : requestIdOf(message);
      if (current !== undefined && id !== undefined) {
        marks.set(id, current.mark);
        current.ids.push(id);
      }
      return send(message, options);
    };
  }
  if (onRequest !== undefined) {
    client.fallbackRequestHandler = (request, { mcpReq: { signal } }) => {
      const origin: MessageOrigin = { facts, mark: asked.get(request.id), signal };
      asked.delete(request.id);
      return onRequest(request, origin);
    };
  }

  return {
    async during(mark, invoke) {
      const ids: RequestId[] = [];
      current = { mark, ids };
      let result: ReturnType<typeof invoke>;
      try {
        result = invoke();
      } finally {
        current = undefined;
      }
      try {
        return await result;
      } finally {
        for (const id of ids) marks.delete(id);
      }
    },
  };
}
