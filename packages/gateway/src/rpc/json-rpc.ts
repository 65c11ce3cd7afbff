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

/** An error of JSON-RPC, as it is sent. */
export interface RpcFault {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface RpcAnswer {
  readonly jsonrpc: "2.0";
  /** Null where the request could not be read. */
  readonly id: RequestId | null;
  readonly result?: JsonObject | undefined;
  readonly error?: RpcFault | undefined;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcAnswer;

/** A message, with what it is. */
export type ReadMessage =
  | { readonly kind: "request"; readonly message: RpcRequest }
  | { readonly kind: "notification"; readonly message: RpcNotification }
  | { readonly kind: "answer"; readonly message: RpcAnswer };

/** What a value of JSON is as a message; undefined where it is none. */
export function readMessage(value: unknown): ReadMessage | undefined {
  if (!isObject(value) || value.jsonrpc !== "2.0") return undefined;
  const { id, method, params, result, error } = value;
  if (typeof method === "string") {
    if (params !== undefined && !isObject(params)) return undefined;
    if (id === undefined) return { kind: "notification", message: value as unknown as RpcNotification };
    return isId(id) ? { kind: "request", message: value as unknown as RpcRequest } : undefined;
  }
  if (!isId(id)) return undefined;
  const isFault = isObject(error) && Number.isSafeInteger(error.code) && typeof error.message === "string";
  return isObject(result) || isFault ? { kind: "answer", message: value as unknown as RpcAnswer } : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

/** The `_meta` of parameters; undefined where there is none. */
export function metaOf(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?._meta;
  return isObject(meta) ? meta : undefined;
}
