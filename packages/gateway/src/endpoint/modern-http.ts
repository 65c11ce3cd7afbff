import {
  type Envelope,
  hasEnvelope,
  missingEnvelopeKeys,
  modernVersions,
  nameFieldOf,
  type ParsedMessage,
  RpcError,
  type RpcObject,
  type RpcRequest,
  readEnvelope,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { RequestHeaders } from "../client-call.js";
import { isExtensionNotification } from "../extension-messages.js";
import { decodeHeader, headerMismatch } from "../servers/param-headers.js";
import type { EndpointContext } from "./endpoint-context.js";
import { endFailed, HttpResponseWriter } from "./http-messages.js";
import { type EndpointRequest, type EndpointResponse, headerOf, versionOf } from "./http-request.js";

/** Handles a message from a modern client. */
export function serveModernPost(
  context: EndpointContext,
  request: EndpointRequest,
  response: EndpointResponse,
  { kind, message }: Exclude<ParsedMessage, { readonly kind: "response" }>,
): void {
  const { headers } = request;
  try {
    if (kind === "notification") {
      const envelope = hasEnvelope(message.params) ? readEnvelope(message.params) : undefined;
      readMethodHeader(message.method, headers);
      if (isExtensionNotification(message.method)) {
        context.dispatch.count(context.accounts.shared(context.requesterOf(request), envelope?.clientInfo));
        context.merged.notify(message, envelope?.capabilities);
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
    const account = context.accounts.shared(context.requesterOf(request), envelope.clientInfo);
    context.nameClient(request, account);
    const writer = new HttpResponseWriter(response, context.streams);
    if (message.method === "subscriptions/listen") {
      context.dispatch.count(account);
      cancelOnDisconnect(response, context.subscriptions.begin(message, account.principal, writer));
      return;
    }
    cancelOnDisconnect(response, context.stateless.request({ request: message, envelope, account, headers }, writer));
  } catch (error) {
    endFailed(context, request, response, error, "id" in message ? message.id : null);
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
  if (versionHeader !== undefined && versionHeader !== version) {
    throw headerMismatch("mcp-protocol-version", `the body has version ${version}, the header ${versionHeader}`);
  }
  const methodHeader = readMethodHeader(method, headers);
  if (!modernVersions.includes(version)) throw unsupportedVersion(version);
  if (versionHeader === undefined) throw headerMismatch("mcp-protocol-version", "the header is missing");
  if (methodHeader === undefined) throw headerMismatch("mcp-method", "the header is missing");
  assertName(method, params, headers);
}

/** The header with the method, if there is one. Throws an RpcError if the body has another method. */
function readMethodHeader(method: string, headers: RequestHeaders): string | undefined {
  const header = headerOf(headers, "mcp-method");
  if (header === undefined || header === method) return header;
  throw headerMismatch("mcp-method", `the body has method ${method}, the header ${header}`);
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
  const decoded = decodeHeader("mcp-name", headerOf(headers, "mcp-name"), field);
  if (decoded !== value) throw headerMismatch("mcp-name", `the header and ${field} in the body differ`);
}
