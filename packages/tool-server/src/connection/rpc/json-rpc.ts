/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

export type RequestId = string | number;

export interface RpcRequest {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly method: string;
  readonly params?: JsonObject | undefined;
}

export interface RpcNotification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params?: JsonObject | undefined;
}

/** The error of a response, as it is sent. */
export interface RpcFault {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface RpcResult {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly result: JsonObject;
  readonly error?: undefined;
}

export interface RpcFailure {
  readonly jsonrpc: "2.0";
  /** Null or missing if the request could not be read. */
  readonly id?: RequestId | null | undefined;
  readonly error: RpcFault;
  readonly result?: undefined;
}

export type RpcResponse = RpcResult | RpcFailure;

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
export function metaOf(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?._meta;
  return isObject(meta) ? meta : undefined;
}
