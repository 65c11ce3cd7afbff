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

/** One header, without white space around it. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value.trim() : value?.[0]?.trim();
}

/**
 * Holds the headers of a request of the newer era against its body, for they may be routed by one and performed by the other.
 * Throws an RpcError, with 400.
 */
export function assertModernHeaders(request: RpcRequest, { version }: Envelope, headers: RequestHeaders): void {
  const { method, params } = request;
  const versionHeader = headerOf(headers, "mcp-protocol-version");
  const methodHeader = headerOf(headers, "mcp-method");
  if (versionHeader !== undefined && versionHeader !== version) {
    throw headerMismatch("mcp-protocol-version", `the body names the version ${version}, the header ${versionHeader}`);
  }
  if (methodHeader !== undefined && methodHeader !== method) {
    throw headerMismatch("mcp-method", `the body names the method ${method}, the header ${methodHeader}`);
  }
  if (!modernVersions.includes(version as (typeof modernVersions)[number])) throw unsupportedVersion(version);
  if (versionHeader === undefined) throw headerMismatch("mcp-protocol-version", "the header is absent");
  if (methodHeader === undefined) throw headerMismatch("mcp-method", "the header is absent");
  assertName(method, params, headers);
}

/** Holds the method header of a notification against its body. */
export function assertNotificationHeaders({ method }: RpcNotification, headers: RequestHeaders): void {
  const methodHeader = headerOf(headers, "mcp-method");
  if (methodHeader !== undefined && methodHeader !== method) {
    throw headerMismatch("mcp-method", `the notification is ${method}, the header says ${methodHeader}`);
  }
}

/** That a version of the protocol is not spoken here, with those that are. */
export function unsupportedVersion(requested: string): RpcError {
  const data = { supported: [...modernVersions], requested };
  return new RpcError(rpcCodes.versionUnsupported, `Unsupported protocol version: ${requested}`, { data, status: 400 });
}

function assertName(method: string, params: JsonObject | undefined, headers: RequestHeaders): void {
  const field = Object.hasOwn(nameFields, method) ? nameFields[method] : undefined;
  const value = field === undefined ? undefined : params?.[field];
  if (field === undefined || typeof value !== "string") return;
  const header = headerOf(headers, "mcp-name");
  if (header === undefined) throw headerMismatch("mcp-name", `the body has ${field}, and the header is absent`);
  const decoded = decodeHeaderText(header);
  if (decoded === undefined) throw headerMismatch("mcp-name", "the header is not base64 of UTF-8, as it says");
  if (decoded !== value) throw headerMismatch("mcp-name", `the header and ${field} of the body differ`);
}
