import {
  decodeHeaderText,
  type Envelope,
  hasEnvelope,
  missingEnvelopeKeys,
  modernVersions,
  nameFieldOf,
  type ReadMessage,
  RpcError,
  type RpcNotification,
  type RpcObject,
  type RpcRequest,
  readEnvelope,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { RequestHeaders } from "../client-call.js";
import { isExtensionNotification } from "../extension-messages.js";
import { headerMismatch } from "../servers/param-headers.js";
import type { EndpointParts } from "./endpoint-parts.js";
import { type EndpointRequest, type EndpointResponse, headerOf, versionOf } from "./http-exchange.js";
import { createHttpOutlet, endFailed } from "./http-outlet.js";

/** Handles a message from a modern client. */
export function serveModernPost(
  parts: EndpointParts,
  request: EndpointRequest,
  response: EndpointResponse,
  { kind, message }: Exclude<ReadMessage, { readonly kind: "response" }>,
): void {
  const { headers } = request;
  try {
    if (kind === "notification") {
      const envelope = hasEnvelope(message.params) ? readEnvelope(message.params) : undefined;
      assertNotificationHeaders(message, headers);
      if (isExtensionNotification(message.method)) {
        parts.dispatch.count(parts.accounts.shared(parts.requesterOf(request), envelope?.clientInfo));
        parts.merged.notify(message, envelope?.capabilities);
      }
      response.writeHead(202).end();
      return;
    }
    if (!hasEnvelope(message.params)) {
      const missing = missingEnvelopeKeys(message.params);
      const version = versionOf(headers);
      const text = `The header has version ${version}, but the request lacks ${missing.join(", ")}.`;
      throw new RpcError(rpcCodes.invalidParams, text, { data: { envelope: { missing } }, status: 400 });
    }
    const envelope = readEnvelope(message.params);
    assertModernHeaders(message, envelope, headers);
    const account = parts.accounts.shared(parts.requesterOf(request), envelope.clientInfo);
    const outlet = createHttpOutlet(response, parts.streams);
    if (message.method === "subscriptions/listen") {
      parts.dispatch.count(account);
      cancelOnDisconnect(response, parts.subscriptions.begin(message, account.principal, outlet));
      return;
    }
    cancelOnDisconnect(response, parts.stateless.request({ request: message, envelope, account, headers }, outlet));
  } catch (error) {
    endFailed(parts, request, response, error, "id" in message ? message.id : null);
  }
}

/** Cancels if the client disconnects before the response is sent. */
function cancelOnDisconnect(response: EndpointResponse, cancel: () => void): void {
  response.once("close", () => {
    if (!response.writableFinished) cancel();
  });
}

/**
 * Throws an RpcError with status 400 if the headers of a modern request differ from its body: a proxy may route by the headers, but
 * the gateway runs the body.
 */
function assertModernHeaders(request: RpcRequest, { version }: Envelope, headers: RequestHeaders): void {
  const { method, params } = request;
  const versionHeader = versionOf(headers);
  const methodHeader = headerOf(headers, "mcp-method");
  if (versionHeader !== undefined && versionHeader !== version) {
    throw headerMismatch("mcp-protocol-version", `the body has version ${version}, the header ${versionHeader}`);
  }
  if (methodHeader !== undefined && methodHeader !== method) {
    throw headerMismatch("mcp-method", `the body has method ${method}, the header ${methodHeader}`);
  }
  if (!modernVersions.includes(version)) throw unsupportedVersion(version);
  if (versionHeader === undefined) throw headerMismatch("mcp-protocol-version", "the header is missing");
  if (methodHeader === undefined) throw headerMismatch("mcp-method", "the header is missing");
  assertName(method, params, headers);
}

/** Throws an RpcError if the method header of a notification differs from its body. */
function assertNotificationHeaders({ method }: RpcNotification, headers: RequestHeaders): void {
  const methodHeader = headerOf(headers, "mcp-method");
  if (methodHeader !== undefined && methodHeader !== method) {
    throw headerMismatch("mcp-method", `the notification is ${method}, the header ${methodHeader}`);
  }
}

/** The error for an unsupported protocol version, with the supported ones. */
export function unsupportedVersion(requested: string): RpcError {
  const data = { supported: [...modernVersions], requested };
  return new RpcError(rpcCodes.versionUnsupported, `Unsupported protocol version: ${requested}`, { data, status: 400 });
}

function assertName(method: string, params: RpcObject | undefined, headers: RequestHeaders): void {
  const field = nameFieldOf(method);
  const value = field === undefined ? undefined : params?.[field];
  if (field === undefined || typeof value !== "string") return;
  const header = headerOf(headers, "mcp-name");
  if (header === undefined) throw headerMismatch("mcp-name", `the body has ${field}, but the header is missing`);
  const decoded = decodeHeaderText(header);
  if (decoded === undefined)
    throw headerMismatch("mcp-name", "the header is marked as base64, but is not valid base64 of UTF-8");
  if (decoded !== value) throw headerMismatch("mcp-name", `the header and ${field} in the body differ`);
}
