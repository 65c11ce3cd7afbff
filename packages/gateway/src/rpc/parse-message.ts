import { type ReadMessage, type RpcFault, readMessage } from "./json-rpc.js";
import { rpcCodes } from "./rpc-error.js";

/** How deep a message of a client may be nested: what walks through it, or writes it anew, goes as deep with its stack. */
const deepest = 1000;

/** The message that a text of a client holds, or what is wrong with the text. */
export function parseMessage(text: string): ReadMessage | RpcFault {
  if (isNestedDeeper(text, deepest)) {
    return fault(rpcCodes.invalidRequest, `The message is nested deeper than ${deepest} levels. Send it flatter.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fault(rpcCodes.parseError, "The message is not JSON.");
  }
  if (Array.isArray(value)) {
    return fault(rpcCodes.invalidRequest, "Batches are not taken. Send each message by itself.");
  }
  return readMessage(value) ?? fault(rpcCodes.invalidRequest, "This is not a message of JSON-RPC.");
}

/** Whether values in a text of JSON are nested deeper than that. Looks at each character once, and passes over texts. */
export function isNestedDeeper(text: string, most: number): boolean {
  // A level takes two characters.
  if (text.length <= most * 2) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfText(text, at);
    else if (code === openBracket || code === openBrace) {
      depth += 1;
      if (depth > most) return true;
    } else if (code === closeBracket || code === closeBrace) depth -= 1;
  }
  return false;
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Where the quote stands that ends a text. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === backslash) first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}

function fault(code: number, message: string): RpcFault {
  return { code, message };
}
