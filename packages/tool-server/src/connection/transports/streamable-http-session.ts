import type { HeaderFields } from "../../auth/credentials/header-fields.js";
import { encodeHeaderText, isReservedHeader } from "../../config/headers.js";
import type { SocketInfo } from "../../connection-info.js";
import type { HttpRequest, HttpResponse } from "../../http/http-client.js";
import { sendWithinOrigin } from "../../http/redirects.js";
import { metaOf, type RequestId, type RpcMessage, type RpcRequest } from "../rpc/json-rpc.js";
import { isModernVersion, metaKeys } from "../rpc/protocol.js";
import { askWithCredential } from "./refusal.js";
import type { NetworkContext } from "./transport.js";

/** What the parts of a transport over Streamable HTTP share. */
export interface HttpSession {
  readonly context: NetworkContext;
  /** The id that the server gave; undefined where it has no sessions. */
  id: string | undefined;
  /** Whether the server said that it does not know the session any more. */
  isForgotten: boolean;
  /** The version of the protocol that was agreed on. */
  protocolVersion: string | undefined;
  /** The headers of the message before, where those of the next may be the same. */
  lastHeaders?: KeptHeaders | undefined;
  /** Hands a message of the server on; with the request on whose stream it came, where it did on one. */
  receive(message: RpcMessage, socketInfo: SocketInfo | undefined, relatedRequestId?: RequestId): void;
  /** Undefined while more may be read from the server; else resolves when it may: see ReplyQueue. */
  room(): Promise<void> | undefined;
}

interface KeptHeaders extends Pick<HttpSession, "id" | "protocolVersion"> {
  readonly fields: HeaderFields;
  readonly headers: Readonly<Record<string, string>>;
}

export const eventStream = "text/event-stream";
export const json = "application/json";

/** The media type of a response, in lower case and without its parameters. */
export function mediaTypeOf(response: HttpResponse): string {
  const value = response.contentType ?? response.headers["content-type"] ?? "";
  if (value === json || value === eventStream) return value;
  const end = value.indexOf(";");
  return (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
}

/** Sends a request of the session, and follows it within its origin. */
export function send({ http, secrets }: NetworkContext, request: HttpRequest): Promise<HttpResponse> {
  return sendWithinOrigin(http, request, (text) => secrets.redact(text));
}

/** Asks for events by GET: those after `lastEventId`, or all that concern no request. Rejects as `askWithCredential` does. */
export function askForEvents(
  session: HttpSession,
  lastEventId: string | undefined,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const { context } = session;
  const ask = (fields: HeaderFields): Promise<HttpResponse> => {
    const headers = sessionHeaders(session, fields);
    headers.accept = eventStream;
    if (lastEventId !== undefined) headers["last-event-id"] = lastEventId;
    return send(context, { method: "GET", url: context.url, headers, signal, isSafe: true });
  };
  return askWithCredential(context, ask, { method: "GET", url: context.url, signal });
}

/** The headers that every request of a session carries. Those of the credential come first, and override none. */
export function sessionHeaders({ id, protocolVersion }: HttpSession, fields: HeaderFields): Record<string, string> {
  const headers: Record<string, string> = { ...fields };
  if (id !== undefined) headers["mcp-session-id"] = id;
  if (protocolVersion !== undefined) headers["mcp-protocol-version"] = protocolVersion;
  return headers;
}

/** The headers of a message that is posted. `more` are those that its sender wants, besides ours and the credential's. */
export function messageHeaders(
  session: HttpSession,
  fields: HeaderFields,
  message: RpcMessage,
  more: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const isRequest = "method" in message && "id" in message;
  const version = isRequest ? envelopeVersionOf(message) : undefined;
  const isHandshake = isRequest && message.method === "initialize";
  // In the older era all messages of a session carry the same, so that they are put together once.
  if (version === undefined && more === undefined && !isHandshake) return commonHeaders(session, fields);
  const headers = { ...commonHeaders(session, fields) };
  if (isHandshake) delete headers["mcp-session-id"];
  if (isRequest && version !== undefined) {
    headers["mcp-protocol-version"] = version;
    headers["mcp-method"] = message.method;
    const name = nameOf(message);
    if (name !== undefined) headers["mcp-name"] = encodeHeaderText(name);
  }
  if (more !== undefined) addHeaders(headers, more);
  return headers;
}

function commonHeaders(session: HttpSession, fields: HeaderFields): Readonly<Record<string, string>> {
  const { lastHeaders: last, id, protocolVersion } = session;
  if (last?.fields === fields && last.id === id && last.protocolVersion === protocolVersion) return last.headers;
  const headers = sessionHeaders(session, fields);
  headers["content-type"] = json;
  headers.accept = `${json}, ${eventStream}`;
  session.lastHeaders = { fields, id, protocolVersion, headers };
  return headers;
}

/** The version of the protocol that a request names in itself, as those of the newer era do. */
function envelopeVersionOf(message: RpcMessage): string | undefined {
  if (!("method" in message)) return undefined;
  const version = metaOf(message.params)?.[metaKeys.protocolVersion];
  return typeof version === "string" ? version : undefined;
}

/** Whether a request is one of the newer era. */
export function isModernRequest(message: RpcMessage): boolean {
  return isModernVersion(envelopeVersionOf(message) ?? "");
}

const nameFields: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** What a request is about, for whoever routes it by its headers. */
function nameOf(message: RpcRequest): string | undefined {
  if (!Object.hasOwn(nameFields, message.method)) return undefined;
  const value = message.params?.[nameFields[message.method] ?? ""];
  return typeof value === "string" ? value : undefined;
}

function addHeaders(headers: Record<string, string>, more: Readonly<Record<string, string>>): void {
  const taken = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  for (const [name, value] of Object.entries(more)) {
    const key = name.toLowerCase();
    if (taken.has(key) || isReservedHeader(key) || key === "authorization" || key === "dpop") continue;
    headers[name] = value;
  }
}
