import { ToolServerError } from "../../errors.js";
import type { Excerpt } from "../../skipped-bytes.js";
import type { RequestId } from "../rpc/json-rpc.js";
import type { ToolTransport, TransportContext } from "./transport.js";

const version = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const id = String.raw`"id"\s*:\s*(\d{1,15}|"(?:[^"\\]|\\.)*")`;
const idFirst = new RegExp(
  String.raw`^\s*\{\s*(?:${version}\s*,\s*)?${id}\s*,\s*(?:${version}\s*,\s*)?"(?:result|error)"`,
);
const outcomeFirst = new RegExp(String.raw`^\s*\{\s*(?:${version}\s*,\s*)?"(?:result|error)"`);
const idLast = new RegExp(String.raw`\}\s*,\s*(?:${version}\s*,\s*)?${id}\s*(?:,\s*${version}\s*)?\}\s*$`);

/** Whether a message that starts like this may be the response to a request. */
export function mayBeResponse(start: string): boolean {
  return outcomeFirst.test(start) || idFirst.test(start);
}

/** The id of the request that a skipped message responds to: before the result, or after it, as the SDK writes it. */
function responseIdIn({ start, end }: Excerpt): RequestId | undefined {
  const found = outcomeFirst.test(start) ? idLast.exec(end) : idFirst.exec(start);
  try {
    return found === null ? undefined : JSON.parse(found[1] ?? "");
  } catch {
    return undefined;
  }
}

/**
 * Fails the request whose response was skipped because it is larger than the limit: MESSAGE_TOO_LARGE. Other requests continue.
 * Returns its id; undefined if that is not known.
 */
export function failOversized(
  { server, limits }: TransportContext,
  transport: ToolTransport,
  skipped: Excerpt,
): RequestId | undefined {
  const id = transport.onrequestfailed === undefined ? undefined : responseIdIn(skipped);
  if (id === undefined) return undefined;
  const problem = `The server ${JSON.stringify(server)} sent a message of more than ${limits.messageBytes} bytes in response to this request.`;
  const parts = { problem, advice: "Ask the server for less, or raise the limit." };
  transport.onrequestfailed?.(id, new ToolServerError("MESSAGE_TOO_LARGE", parts, { details: { wasSent: true } }));
  return id;
}
