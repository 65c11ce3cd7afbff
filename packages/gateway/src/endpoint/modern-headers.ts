import {
  decodeHeaderText,
  type Envelope,
  type JsonObject,
  modernVersions,
  RpcError,
  type RpcNotification,
  type RpcRequest,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import { headerMismatch } from "../servers/param-headers.js";

/** The headers of a request, by name in lower case. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

const nameFields: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

/** One header, trimmed. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value.trim() : value?.[0]?.trim();
}

/**
 * Throws an RpcError with status 400 if the headers of a modern request differ from its body: a proxy may route by the headers, while
 * the body is executed.
 */
export function assertModernHeaders(request: RpcRequest, { version }: Envelope, headers: RequestHeaders): void {
  const { method, params } = request;
  const versionHeader = headerOf(headers, "mcp-protocol-version");
  const methodHeader = headerOf(headers, "mcp-method");
  if (versionHeader !== undefined && versionHeader !== version) {
    throw headerMismatch("mcp-protocol-version", `the body has version ${version}, the header ${versionHeader}`);
  }
  if (methodHeader !== undefined && methodHeader !== method) {
    throw headerMismatch("mcp-method", `the body has method ${method}, the header ${methodHeader}`);
  }
  if (!modernVersions.includes(version as (typeof modernVersions)[number])) throw unsupportedVersion(version);
  if (versionHeader === undefined) throw headerMismatch("mcp-protocol-version", "the header is missing");
  if (methodHeader === undefined) throw headerMismatch("mcp-method", "the header is missing");
  assertName(method, params, headers);
}

/** Throws an RpcError if the method header of a notification differs from its body. */
export function assertNotificationHeaders({ method }: RpcNotification, headers: RequestHeaders): void {
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

function assertName(method: string, params: JsonObject | undefined, headers: RequestHeaders): void {
  const field = Object.hasOwn(nameFields, method) ? nameFields[method] : undefined;
  const value = field === undefined ? undefined : params?.[field];
  if (field === undefined || typeof value !== "string") return;
  const header = headerOf(headers, "mcp-name");
  if (header === undefined) throw headerMismatch("mcp-name", `the body has ${field}, but the header is missing`);
  const decoded = decodeHeaderText(header);
  if (decoded === undefined)
    throw headerMismatch("mcp-name", "the header is marked as base64, but is not valid base64 of UTF-8");
  if (decoded !== value) throw headerMismatch("mcp-name", `the header and ${field} in the body differ`);
}
