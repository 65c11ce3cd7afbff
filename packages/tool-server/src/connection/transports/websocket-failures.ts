import { ToolServerError, type ToolServerErrorCode } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import { subjectOf } from "./response-failures.js";
import type { NetworkContext } from "./transport.js";
import { connectionBroken } from "./transport-life.js";

interface CloseMeaning {
  /** What the server did, as a clause. */
  readonly what: string;
  readonly code?: ToolServerErrorCode;
  readonly advice?: string;
}

/** The meanings of close codes: RFC 6455, section 7.4.1, and the IANA registry. */
const meanings: Readonly<Record<number, CloseMeaning>> = {
  1000: { what: "closed the connection normally" },
  1001: { what: "is going away" },
  1002: { what: "reports a WebSocket protocol error" },
  1003: { what: "does not accept this type of data", code: "NOT_A_TOOL_SERVER" },
  1005: { what: "closed the connection without a status" },
  1006: { what: "closed the connection without a close frame" },
  1007: { what: "received data that is not valid text" },
  1008: { what: "reports a policy violation", advice: "Check the credential, and what the server allows." },
  1009: {
    what: "reports that a message is too large",
    code: "MESSAGE_TOO_LARGE",
    advice: "Send smaller messages.",
  },
  1011: { what: "failed", advice: "Check the log of the server." },
  1012: { what: "is restarting" },
  1013: { what: "is overloaded", advice: "Try again later." },
  1014: { what: "is behind a gateway that could not reach it" },
  3000: { what: "rejects the credential", code: "UNAUTHORIZED", advice: "Check the credential." },
  3003: { what: "denies access", code: "FORBIDDEN", advice: "Check the permissions of the credential." },
  3008: { what: "timed out" },
};

export function closedByServer(context: NetworkContext, closeCode: number, reason: Buffer): ToolServerError {
  const meaning = meanings[closeCode] ?? { what: "closed the connection with its own code" };
  const { what, code = "CONNECTION_LOST", advice = "Connect again." } = meaning;
  const words = printableText(context.secrets.redact(reason.toString("utf8")), 200);
  const said = words === "" ? "" : `: "${words}"`;
  return new ToolServerError(code, { problem: `${subjectOf(context)} ${what} (${closeCode}${said}).`, advice });
}

/** Converts an error of an open WebSocket. */
export function brokenWebSocket(context: NetworkContext, error: Error): ToolServerError {
  const code = "code" in error ? String(error.code) : "";
  const subject = subjectOf(context);
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH" || code === "WS_ERR_TOO_MANY_BUFFERED_PARTS") {
    const problem = `${subject} sent a message of more than ${context.limits.messageBytes} bytes, or in too many parts, which ends the connection and all calls on it.`;
    const advice = "Request less from the server, or raise the limit.";
    return new ToolServerError("MESSAGE_TOO_LARGE", { problem, advice }, { cause: error });
  }
  if (!code.startsWith("WS_ERR_")) return connectionBroken(context, error);
  const why = printableText(context.secrets.redact(error.message), 200);
  const problem = `${subject} violated the WebSocket protocol: ${why}.`;
  const advice = "Check the server and any proxies in between.";
  return new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice }, { cause: error });
}

/** Creates CONNECTION_LOST for a peer that did not respond to a ping. */
export function silentServer(context: NetworkContext, timeoutMs: number): ToolServerError {
  const problem = `${subjectOf(context)} did not respond to a ping within ${timeoutMs} ms.`;
  return new ToolServerError("CONNECTION_LOST", { problem, advice: "Check the network, and connect again." });
}

/** Creates CONNECTION_LOST for a peer that does not read what it is sent. */
export function unreadMessages(context: NetworkContext): ToolServerError {
  const problem = `${subjectOf(context)} did not read its input for ${context.limits.stallMs / 1000} s.`;
  return new ToolServerError("CONNECTION_LOST", { problem, advice: "Check what the server is doing." });
}

/** Creates NOT_A_TOOL_SERVER for data that is not JSON-RPC. */
export function notTheProtocol(context: NetworkContext, what: string): ToolServerError {
  const problem = `${subjectOf(context)} sent ${what} instead of JSON-RPC as text.`;
  return new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice: "Check the URL." });
}
