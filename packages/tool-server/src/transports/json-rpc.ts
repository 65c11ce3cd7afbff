import type { JSONRPCErrorResponse, JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";

/** How many messages a batch may have. This side sends none, so that a server has no reason to send a large one. */
const maxBatch = 1000;

/**
 * The messages of JSON-RPC in a string: one, or those of a batch. Undefined if it is not JSON, holds something else, or is a batch
 * of more than 1,000 messages.
 *
 * Looks at the form alone, which is what a transport has to know; the SDK judges the content.
 */
export function parseMessages(text: string): readonly JSONRPCMessage[] | undefined {
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

/** The id of a request; undefined where the message is something else. */
export function requestIdOf(message: JSONRPCMessage): RequestId | undefined {
  return "method" in message && "id" in message ? message.id : undefined;
}

/** The id of the request that a message answers; undefined where it answers none. */
export function answeredIdOf(message: JSONRPCMessage): RequestId | undefined {
  return "method" in message ? undefined : message.id;
}

/** The id of the request that a message calls off; undefined where it calls off none. */
export function cancelledIdOf(message: JSONRPCMessage): RequestId | undefined {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined;
  const id = message.params?.requestId;
  return isId(id) ? id : undefined;
}

/**
 * An answer without what JSON-RPC does not have and some servers write, such as `"error": null`: the SDK passes over those,
 * and the call would wait for ever. Other messages are as they were.
 */
export function mendAnswer(message: JSONRPCMessage): JSONRPCMessage {
  if ("method" in message) return message;
  const { jsonrpc, id } = message;
  // Some servers write `"result": null` beside an error.
  if ("result" in message && message.result !== null) {
    const { result } = message;
    if (result._meta === null) delete result._meta;
    return { jsonrpc, id: id as RequestId, result };
  }
  const { code, message: text, data } = (message as JSONRPCErrorResponse).error;
  const error = data === undefined ? { code, message: text } : { code, message: text, data };
  return { jsonrpc, ...(id == null ? {} : { id }), error };
}

function isMessage(value: unknown): value is JSONRPCMessage {
  if (!isObject(value) || value.jsonrpc !== "2.0") return false;
  const { id, method, params, result, error } = value;
  if (typeof method === "string") return (id === undefined || isId(id)) && (params === undefined || isObject(params));
  if (isObject(result)) return isId(id);
  // An error may answer what could not be read, and then has no id.
  return (
    isObject(error) && Number.isSafeInteger(error.code) && typeof error.message === "string" && (id == null || isId(id))
  );
}

function isId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
