import { ToolServerError } from "../../errors.js";

/** The parameters or the result of a message: an object whose values are not checked yet. */
export type RpcObject = Readonly<Record<string, unknown>>;

export type RequestId = string | number;

export interface RpcRequest {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly method: string;
  readonly params?: RpcObject | undefined;
}

export interface RpcNotification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params?: RpcObject | undefined;
}

/** The error of a response, as it is sent. */
export interface RpcErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface RpcResultResponse {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result: RpcObject;
  readonly error?: undefined;
}

export interface RpcErrorResponse {
  readonly jsonrpc: "2.0";
  /** Null or missing if the request could not be read. */
  readonly id?: RequestId | null | undefined;
  readonly error: RpcErrorObject;
  readonly result?: undefined;
}

export type RpcResponse = RpcResultResponse | RpcErrorResponse;

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

/** The id of a request; undefined for every other message. */
export function requestIdOf(message: RpcMessage): RequestId | undefined {
  return "method" in message && "id" in message ? message.id : undefined;
}

/** The id of the request that a message responds to; undefined if it is not a response, or one without an id. */
export function responseIdOf(message: RpcMessage): RequestId | undefined {
  return "method" in message ? undefined : (message.id ?? undefined);
}

/** The id of the request that a message cancels; undefined for every other message. */
export function cancelledIdOf(message: RpcMessage): RequestId | undefined {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined;
  const id = message.params?.requestId;
  return isId(id) ? id : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

/** The `_meta` of parameters; undefined if it is missing. */
export function metaOf(params: RpcObject | undefined): RpcObject | undefined {
  const meta = params?._meta;
  return isObject(meta) ? meta : undefined;
}

/** The codes that the gateway itself responds with. */
export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  /** The transport refused it, or a server behind the gateway failed. */
  failed: -32_000,
  sessionNotFound: -32_001,
  /** Only in the older era; in the newer one it is `invalidParams`. */
  resourceNotFound: -32_002,
  headerMismatch: -32_020,
  capabilityMissing: -32_021,
  versionUnsupported: -32_022,
} as const;

const finalCodes: ReadonlySet<unknown> = new Set([
  rpcCodes.methodNotFound,
  rpcCodes.invalidParams,
  rpcCodes.resourceNotFound,
]);

/** Whether a server that refuses a subscription with this code would refuse it again later, unlike one that has reached a limit. */
export function isFinalRefusal(code: unknown): boolean {
  return finalCodes.has(code);
}

interface RpcErrorOptions {
  readonly data?: unknown;
  readonly status?: number;
  readonly problem?: string | undefined;
}

/** A JSON-RPC error: one that a server responded with, or one for a client, whose message contains no secret. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;
  /** The HTTP status of the response; 200 if a method failed. */
  readonly status: number;
  /** The message without its advice, if that is for the operator of the gateway. */
  readonly problem: string | undefined;

  constructor(code: number, message: string, options: RpcErrorOptions = {}) {
    super(message);
    this.code = code;
    this.data = options.data;
    this.status = options.status ?? 200;
    this.problem = options.problem;
  }
}

/** A failure as it is sent to a client, without the message of an internal error. */
export function errorObjectOf(error: unknown): RpcErrorObject {
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    return data === undefined ? { code, message } : { code, message, data };
  }
  if (ToolServerError.is(error)) {
    const { rpcCode: code, rpcData: data } = error.details;
    if (error.code === "CALL_REFUSED" && code !== undefined) {
      return data === undefined ? { code, message: error.message } : { code, message: error.message, data };
    }
    return { code: rpcCodes.failed, message: error.message, data: { reason: error.code } };
  }
  return { code: rpcCodes.internalError, message: "Internal gateway error." };
}

/** The HTTP status that an error is sent with. */
export function statusOf(error: unknown): number {
  if (error instanceof RpcError) return error.status;
  if (!ToolServerError.is(error)) return 500;
  // The only error of a method for which the protocol demands a status.
  const isMissing = error.details.rpcCode === rpcCodes.capabilityMissing;
  return isMissing ? 400 : 200;
}

const maxQuotedLength = 200;

/** Quotes a client's string for our messages; truncates a long one. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > maxQuotedLength ? `${text.slice(0, maxQuotedLength)}…` : text);
}
