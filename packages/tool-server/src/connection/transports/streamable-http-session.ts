import type { HeaderFields } from "../../auth/credentials/header-fields.js";
import type { CallPhases } from "../../call-phases.js";
import { encodeHeaderText, isReservedHeader } from "../../config/headers.js";
import type { SocketInfo } from "../../connection-info.js";
import type { HttpResponse } from "../../http/http-client.js";
import { sendWithinOrigin } from "../../http/redirects.js";
import { metaOf, type RequestId, type RpcMessage, type RpcRequest } from "../rpc/json-rpc.js";
import { isModernVersion, metaKeys, nameFieldOf } from "../rpc/protocol.js";
import { sendWithCredential } from "./refusal.js";
import type { NetworkContext } from "./transport.js";

/** The state that the parts of a Streamable HTTP transport share. */
export interface HttpSession {
  readonly context: NetworkContext;
  /** The id assigned by the server; undefined if it has no sessions. */
  id: string | undefined;
  /** Whether the server reported that it no longer knows the session. */
  isForgotten: boolean;
  protocolVersion: string | undefined;
  /** The headers of the previous message, which the next one can often reuse. */
  lastHeaders?: CachedHeaders | undefined;
  /** Delivers a server message, with the request on whose stream it arrived, if any. */
  receive(message: RpcMessage, socketInfo: SocketInfo, relatedRequestId?: RequestId): void;
  /** Undefined while reading may continue; else resolves when it may: see ReplyQueue. */
  room(): Promise<void> | undefined;
}

interface CachedHeaders extends Pick<HttpSession, "id" | "protocolVersion"> {
  readonly fields: HeaderFields;
  readonly headers: Readonly<Record<string, string>>;
}

export const eventStream = "text/event-stream";
export const json = "application/json";

/** The media type of a response, in lower case and without its parameters. */
export function mediaTypeOf(response: HttpResponse): string {
  const value = response.contentType;
  if (value === json || value === eventStream) return value;
  const end = value.indexOf(";");
  return (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
}

/**
 * Requests events with GET: those after `lastEventId`, or all that belong to no request. `isBackground` says whether no call waits for
 * them. Rejects as `sendWithCredential` does.
 */
export function requestEvents(
  session: HttpSession,
  lastEventId: string | undefined,
  signal: AbortSignal,
  isBackground: boolean,
): Promise<HttpResponse> {
  const { context } = session;
  const sendRequest = (fields: HeaderFields): Promise<HttpResponse> => {
    const headers = sessionHeaders(session, fields);
    headers.accept = eventStream;
    if (lastEventId !== undefined) headers["last-event-id"] = lastEventId;
    const { url } = context;
    const request = { method: "GET", url, headers, signal, isSafe: true, isBackground, phases: ignoredPhases } as const;
    return sendWithinOrigin(context, request);
  };
  return sendWithCredential(context, sendRequest, { method: "GET", url: context.url, signal });
}

/** No call waits for an event stream. */
const ignoredPhases: CallPhases = { begin() {}, end() {}, retry() {} };

/** The headers of every request of a session. Headers of the credential override none of them. */
export function sessionHeaders({ id, protocolVersion }: HttpSession, fields: HeaderFields): Record<string, string> {
  const headers: Record<string, string> = { ...fields };
  if (id !== undefined) headers["mcp-session-id"] = id;
  if (protocolVersion !== undefined) headers["mcp-protocol-version"] = protocolVersion;
  return headers;
}

/** The headers of a posted message. `more` are the sender's, in addition to ours and the credential's. */
export function messageHeaders(
  session: HttpSession,
  fields: HeaderFields,
  message: RpcMessage,
  more: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const isRequest = "method" in message && "id" in message;
  const version = isRequest ? envelopeVersionOf(message) : undefined;
  const isHandshake = isRequest && message.method === "initialize";
  // In the older era all messages of a session have the same headers, which are built once.
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

/** The protocol version in the request itself, as in the newer era. */
function envelopeVersionOf(message: RpcMessage): string | undefined {
  if (!("method" in message)) return undefined;
  const version = metaOf(message.params)?.[metaKeys.protocolVersion];
  return typeof version === "string" ? version : undefined;
}

/** Whether a request belongs to the newer era. */
export function isModernRequest(message: RpcMessage): boolean {
  return isModernVersion(envelopeVersionOf(message) ?? "");
}

/** The name that a request is about, for intermediaries that route by headers. */
function nameOf({ method, params }: RpcRequest): string | undefined {
  const field = nameFieldOf(method);
  const value = field === undefined ? undefined : params?.[field];
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
