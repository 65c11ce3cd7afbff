import type { RpcAnswer, RpcMessage } from "./json-rpc.js";
import { isNestedDeeper } from "./parse-message.js";
import { RpcError, rpcCodes } from "./rpc-error.js";

const tooDeep = "It is nested too deeply to be passed on.";

/** About as deep as the stack of most who read it. Some versions of Node write deeper ones without theirs. */
const deepest = 10_000;

/**
 * A message to a client as text. Servers can send what cannot be written anew, for that goes as deep as the stack: in place of
 * such an answer there is an error, and such a notification is undefined. Throws an RpcError for a request.
 */
export function encodeMessage(message: RpcAnswer): string;
export function encodeMessage(message: RpcMessage): string | undefined;
export function encodeMessage(message: RpcMessage): string | undefined {
  const text = write(message);
  if (text === undefined) {
    if (!("id" in message)) return undefined;
    if ("method" in message) throw new RpcError(rpcCodes.invalidRequest, `The question cannot be asked. ${tooDeep}`);
    const error = { code: rpcCodes.failed, message: `The answer cannot be given. ${tooDeep} Ask the server for less.` };
    return JSON.stringify({ jsonrpc: "2.0", id: message.id, error });
  }
  return text;
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
    return isNestedDeeper(text, deepest) ? undefined : text;
  } catch {
    return undefined;
  }
}
