import {
  hasEnvelope,
  missingEnvelopeKeys,
  type ReadMessage,
  RpcError,
  readEnvelope,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { EndpointParts } from "./endpoint-parts.js";
import type { HttpRequest, HttpResponse } from "./http-exchange.js";
import { createHttpOutlet, refuse } from "./http-outlet.js";
import { assertModernHeaders, assertNotificationHeaders, headerOf } from "./modern-headers.js";

/** Handles a message of a modern client. */
export function serveModernPost(
  parts: EndpointParts,
  request: HttpRequest,
  response: HttpResponse,
  { kind, message }: Exclude<ReadMessage, { readonly kind: "response" }> | ReadMessage,
): void {
  const { headers } = request;
  try {
    if (kind === "notification") {
      if (hasEnvelope(message.params)) readEnvelope(message.params);
      assertNotificationHeaders(message, headers);
      response.writeHead(202).end();
      return;
    }
    if (kind === "response")
      throw new RpcError(rpcCodes.invalidRequest, "Responses are not accepted here.", { status: 400 });
    if (!hasEnvelope(message.params)) {
      const missing = missingEnvelopeKeys(message.params);
      const version = headerOf(headers, "mcp-protocol-version");
      const text = `The header has version ${version}, but the request lacks ${missing.join(", ")}.`;
      throw new RpcError(rpcCodes.invalidParams, text, { data: { envelope: { missing } }, status: 400 });
    }
    const envelope = readEnvelope(message.params);
    assertModernHeaders(message, envelope, headers);
    const account = parts.accounts.shared(parts.requesterOf(request), envelope.clientInfo);
    const outlet = createHttpOutlet(response, parts.streams);
    if (message.method === "subscriptions/listen") {
      parts.dispatch.count(account);
      cancelOnDisconnect(response, parts.subscriptions.begin(message, outlet));
      return;
    }
    cancelOnDisconnect(response, parts.stateless.request({ request: message, envelope, account, headers }, outlet));
  } catch (error) {
    refuse(request, response, error, "id" in message ? message.id : null);
  }
}

/** Cancels if the client disconnects before it has received the response. */
function cancelOnDisconnect(response: HttpResponse, cancel: () => void): void {
  response.once("close", () => {
    if (!response.writableFinished) cancel();
  });
}
