import {
  isId,
  isObject,
  RpcError,
  type RpcErrorObject,
  type RpcErrorResponse,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  type RpcResultResponse,
  rpcCodes,
} from "./json-rpc.js";

/** A message and its kind. */
export type ParsedMessage =
  | { readonly kind: "request"; readonly message: RpcRequest }
  | { readonly kind: "notification"; readonly message: RpcNotification }
  | { readonly kind: "response"; readonly message: RpcResponse };

/** How deep a client message may be nested: code that traverses or serializes it needs as much stack. */
const maxDepthRead = 1000;

/** About as deep as most parsers can read. Some Node versions serialize deeper values without a stack overflow. */
const maxDepthWritten = 10_000;

/** How many messages a batch may have. This side sends none, so that a server has no reason to send a large one. */
const maxBatch = 1000;

/** Parses a client message; returns the error if it is invalid. */
export function parseMessage(text: string): ParsedMessage | RpcErrorObject {
  if (isNestedDeeper(text, maxDepthRead)) {
    const message = `The message is nested deeper than ${maxDepthRead} levels. Reduce the nesting.`;
    return { code: rpcCodes.invalidRequest, message };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { code: rpcCodes.parseError, message: "The message is not JSON." };
  }
  if (Array.isArray(value)) {
    return { code: rpcCodes.invalidRequest, message: "Batches are not accepted. Send each message by itself." };
  }
  if (isMessage(value)) {
    if (!("method" in value)) {
      // A failure without an id responds to nothing.
      if (isId(value.id)) return { kind: "response", message: value };
    } else if ("id" in value && value.id !== undefined) return { kind: "request", message: value };
    else return { kind: "notification", message: value };
  }
  return { code: rpcCodes.invalidRequest, message: "This is not a JSON-RPC message." };
}

/**
 * Parses a server's message or batch. Undefined if it is not JSON, not JSON-RPC, or a batch of more than 1,000 messages. Checks only
 * the shape.
 */
export function parseMessages(text: string): readonly RpcMessage[] | undefined {
  let value: unknown;
  try {
    // Some runtimes begin their output with a byte order mark.
    value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch {
    return undefined;
  }
  if (isMessage(value)) return [value];
  if (!Array.isArray(value) || value.length === 0 || value.length > maxBatch) return undefined;
  return value.every(isMessage) ? value : undefined;
}

function isMessage(value: unknown): value is RpcMessage {
  if (!isObject(value) || value.jsonrpc !== "2.0") return false;
  const { id, method, params, result, error } = value;
  if (typeof method === "string") return (id === undefined || isId(id)) && (params === undefined || isObject(params));
  if (isObject(result)) return isId(id);
  return (
    isObject(error) && Number.isSafeInteger(error.code) && typeof error.message === "string" && (id == null || isId(id))
  );
}

/**
 * Removes from a response what some servers add although JSON-RPC does not allow it, such as `"error": null`: the SDK ignores such
 * responses, and the call would wait forever. Other messages stay as they are.
 */
export function fixResponse(message: RpcMessage): RpcMessage {
  if ("method" in message) return message;
  const { jsonrpc, id } = message;
  // Some servers write `"result": null` beside an error.
  if (message.result != null) {
    const { result } = message as RpcResultResponse;
    if (result._meta === null) delete (result as Record<string, unknown>)._meta;
    return { jsonrpc, id: id as RpcResultResponse["id"], result };
  }
  const { code, message: text, data } = (message as RpcErrorResponse).error;
  const error = data === undefined ? { code, message: text } : { code, message: text, data };
  return { jsonrpc, ...(id == null ? {} : { id }), error };
}

const tooDeep = "It is nested too deeply to be forwarded.";

/**
 * Serializes a message to a client. A server can send a value that is nested too deeply for that: such a response becomes an error,
 * and such a notification is undefined. Throws an RpcError for a request.
 */
export function encodeMessage(message: RpcResponse): string;
export function encodeMessage(message: RpcMessage): string | undefined;
export function encodeMessage(message: RpcMessage): string | undefined {
  const text = write(message);
  if (text !== undefined) return text;
  if (!("id" in message)) return undefined;
  if ("method" in message) throw new RpcError(rpcCodes.invalidRequest, `The request cannot be sent. ${tooDeep}`);
  const error = { code: rpcCodes.failed, message: `The response cannot be sent. ${tooDeep} Ask the server for less.` };
  return JSON.stringify({ jsonrpc: "2.0", id: message.id, error });
}

/** The length of a value as JSON; undefined if it is nested too deeply to be written. */
export function jsonLengthOf(value: unknown): number | undefined {
  try {
    return JSON.stringify(value).length;
  } catch {
    return undefined;
  }
}

function write(message: RpcMessage): string | undefined {
  try {
    const text = JSON.stringify(message);
    return isNestedDeeper(text, maxDepthWritten) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Whether values in JSON are nested deeper than `max`. Reads each character once, and skips strings. */
export function isNestedDeeper(text: string, max: number): boolean {
  // A level takes two characters.
  if (text.length <= max * 2) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === openBracket || code === openBrace) {
      depth += 1;
      if (depth > max) return true;
    } else if (code === closeBracket || code === closeBrace) depth -= 1;
  }
  return false;
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** The index of the quote that ends a string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === backslash) first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}
