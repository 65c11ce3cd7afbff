import type { RpcAnswer, RpcMessage } from "./json-rpc.js";
import { RpcError, rpcCodes } from "./rpc-error.js";

const tooDeep = "It is nested too deeply to be passed on.";

/**
 * A message to a client as text. Servers can send what cannot be written anew, for that goes as deep as the stack: in place of
 * such an answer there is an error, and such a notification is undefined. Throws an RpcError for a request.
 */
export function encodeMessage(message: RpcAnswer): string;
export function encodeMessage(message: RpcMessage): string | undefined;
export function encodeMessage(message: RpcMessage): string | undefined {
  try {
    return JSON.stringify(message);
  } catch {
    if (!("id" in message)) return undefined;
    if ("method" in message) throw new RpcError(rpcCodes.invalidRequest, `The question cannot be asked. ${tooDeep}`);
    const error = { code: rpcCodes.failed, message: `The answer cannot be given. ${tooDeep} Ask the server for less.` };
    return JSON.stringify({ jsonrpc: "2.0", id: message.id, error });
  }
}
