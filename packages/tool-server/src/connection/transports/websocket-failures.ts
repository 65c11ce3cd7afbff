import { ToolServerError, type ToolServerErrorCode } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import type { TransportContext } from "./transport.js";

interface CloseMeaning {
  /** What the server did, as a clause. */
  readonly what: string;
  readonly code?: ToolServerErrorCode;
  readonly advice?: string;
}

/** What the codes mean with which a server closes: RFC 6455, section 7.4.1, and the registry of IANA. */
const meanings: Readonly<Record<number, CloseMeaning>> = {
  1000: { what: "said that it is done" },
  1001: { what: "is going away" },
  1002: { what: "says that we broke the rules of WebSocket" },
  1003: { what: "does not accept the kind of data that it got", code: "NOT_A_TOOL_SERVER" },
  1005: { what: "gave no reason" },
  1006: { what: "ended the connection without a word" },
  1007: { what: "says that what it got is no text" },
  1008: { what: "says that its policy does not allow it", advice: "Check the credential, and what the server allows." },
  1009: {
    what: "says that a message is too large for it",
    code: "MESSAGE_TOO_LARGE",
    advice: "Send less at once.",
  },
  1011: { what: "failed", advice: "Look into the log of the server." },
  1012: { what: "is starting anew" },
  1013: { what: "has too much to do", advice: "Try again later." },
  1014: { what: "stands behind a gateway that could not reach it" },
  3000: { what: "does not accept who asks", code: "UNAUTHORIZED", advice: "Check the credential." },
  3003: { what: "does not allow it", code: "FORBIDDEN", advice: "Check the permissions of the credential." },
  3008: { what: "waited too long" },
};

/** That the server closed a WebSocket, by the code and the reason that it gave. */
export function closedByServer(context: TransportContext, closeCode: number, reason: Buffer): ToolServerError {
  const meaning = meanings[closeCode] ?? { what: "gave a reason of its own" };
  const { what, code = "CONNECTION_LOST", advice = "Connect again." } = meaning;
  const words = printableText(context.secrets.redact(reason.toString("utf8")), 200);
  const said = words === "" ? "" : `: "${words}"`;
  return new ToolServerError(code, { problem: `${subjectOf(context)} ${what} (${closeCode}${said}).`, advice });
}

/** What an error of an open WebSocket means. */
export function brokenWebSocket(context: TransportContext, error: Error): ToolServerError {
  const code = "code" in error ? String(error.code) : "";
  const subject = subjectOf(context);
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH" || code === "WS_ERR_TOO_MANY_BUFFERED_PARTS") {
    const problem = `${subject} sent a message of more than ${context.limits.messageBytes} bytes, or in too many parts.`;
    const advice = "Ask the server for less, or raise the limit.";
    return new ToolServerError("MESSAGE_TOO_LARGE", { problem, advice }, { cause: error });
  }
  const why = printableText(context.secrets.redact(error.message), 200);
  if (code.startsWith("WS_ERR_")) {
    const parts = {
      problem: `${subject} broke the rules of WebSocket: ${why}.`,
      advice: "Check the server, and the proxies on the way.",
    };
    return new ToolServerError("NOT_A_TOOL_SERVER", parts, { cause: error });
  }
  const parts = { problem: `${subject} is lost: ${why}.`, advice: "Connect again." };
  return new ToolServerError("CONNECTION_LOST", parts, { cause: error });
}

/** That the peer did not response a ping. */
export function silentServer(context: TransportContext, timeoutMs: number): ToolServerError {
  const problem = `${subjectOf(context)} did not respond to a ping within ${timeoutMs} ms.`;
  return new ToolServerError("CONNECTION_LOST", { problem, advice: "Check the network, and connect again." });
}

/** That what came is not of the protocol. */
export function notTheProtocol(context: TransportContext, what: string): ToolServerError {
  const problem = `${subjectOf(context)} sent ${what}, where a tool server sends JSON-RPC as text.`;
  return new ToolServerError("NOT_A_TOOL_SERVER", { problem, advice: "Check the url." });
}

function subjectOf({ server }: TransportContext): string {
  return `The server ${JSON.stringify(server)}`;
}
