import { ToolServerError } from "../errors.js";
import { printableText } from "../printable-text.js";
import { codeOf, connectFailure, isClientCertificateAlert } from "./connect-failure.js";

/** What is known of a request that broke. */
export interface BrokenExchange {
  /** Whom it went to: `the server "files"`. */
  readonly leg: string;
  readonly remoteName: string;
  readonly host: string;
  /** Whether it was written, so that it may have arrived. */
  readonly wasWritten: boolean;
  /** Whether the head of the answer had come. */
  readonly hasHead: boolean;
  /** Takes secrets out of messages. */
  readonly redact: (text: string) => string;
}

/** What the breaking of a request means, in our words. */
export function exchangeFailure(error: unknown, broken: BrokenExchange): Error {
  const { leg, remoteName, host, wasWritten: wasSent, hasHead, redact } = broken;
  if (ToolServerError.is(error)) return error;
  const subject = `${capitalized(leg)} (${remoteName})`;
  // The error of the parser holds what the server sent.
  const cause = isParserError(error) ? undefined : error;
  const fail = (
    failure: "NOT_A_TOOL_SERVER" | "MESSAGE_TOO_LARGE" | "CONNECTION_LOST",
    problem: string,
    advice: string,
  ): ToolServerError =>
    new ToolServerError(failure, { problem: redact(`${subject} ${problem}`), advice }, { cause, details: { wasSent } });
  const code = codeOf(error);
  if (!hasHead && (isParserError(error) || isUnaskedResponse(error))) {
    return fail(
      "NOT_A_TOOL_SERVER",
      "answered with something that is not HTTP/1.1.",
      "Check the host, the port and the scheme of the url.",
    );
  }
  if (!hasHead && code === "UND_ERR_HEADERS_OVERFLOW") {
    return fail("MESSAGE_TOO_LARGE", "answered with headers that are too large to be read.", "Look into the server.");
  }
  // With TLS 1.3 a server judges the client's certificate after the handshake, and before it reads anything.
  if (!hasHead && isClientCertificateAlert(code)) {
    const failed = { leg, remoteName, host, proxy: undefined, isProxyItself: false, error } as const;
    return connectFailure({ ...failed, stage: "securing" }, redact);
  }
  const reason = describeBreak(error, code);
  if (!wasSent)
    return fail(
      "CONNECTION_LOST",
      `ended the connection before the request was written (${reason}).`,
      "Send it again.",
    );
  if (!hasHead) {
    return fail(
      "CONNECTION_LOST",
      `ended the connection before it answered (${reason}).`,
      "Whether it did what was asked is not known.",
    );
  }
  return fail("CONNECTION_LOST", `broke off its answer (${reason}).`, "Whether it did what was asked is not known.");
}

function describeBreak(error: unknown, code: string): string {
  if (isParserError(error) || code === "UND_ERR_HEADERS_OVERFLOW") return "its form is not that of HTTP";
  if (code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") return "its length is not what it said";
  if (code.startsWith("UND_ERR_")) return "it was closed";
  if (code !== "") return code;
  return printableText(error instanceof Error ? error.message : String(error), 200);
}

/** Whether undici's parser found that the bytes are not HTTP. */
export function isParserError(error: unknown): boolean {
  return error instanceof Error && error.name === "HTTPParserError";
}

/** Whether a server switched to another protocol, or responded, without being asked. undici has one code for all errors of a socket. */
export function isUnaskedResponse(error: unknown): boolean {
  return codeOf(error) === "UND_ERR_SOCKET" && /^bad (upgrade|response)$/.test((error as Error).message);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
