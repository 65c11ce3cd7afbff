import { ToolServerError } from "../errors.js";
import { printableText } from "../printable-text.js";
import { codeOf, connectFailure, isClientCertificateAlert } from "./connect-failure.js";

/** A request that failed on its connection. */
export interface BrokenExchange {
  /** The peer's name: `the server "files"`. */
  readonly peer: string;
  readonly remoteName: string;
  readonly host: string;
  /** Whether it was written, so that it may have arrived. */
  readonly wasWritten: boolean;
  /** Whether the response headers were received. */
  readonly hasHeaders: boolean;
  /** Redacts secrets in messages. */
  readonly redact: (text: string) => string;
}

/** Converts the error of a failed request. */
export function exchangeFailure(error: unknown, broken: BrokenExchange): Error {
  const { peer, remoteName, host, wasWritten: wasSent, hasHeaders, redact } = broken;
  if (ToolServerError.is(error)) return error;
  const subject = `${capitalized(peer)} (${remoteName})`;
  // The parser's error contains bytes that the server sent.
  const cause = isParserError(error) ? undefined : error;
  const fail = (
    failure: "NOT_A_TOOL_SERVER" | "MESSAGE_TOO_LARGE" | "CONNECTION_LOST",
    problem: string,
    advice: string,
  ): ToolServerError =>
    new ToolServerError(failure, { problem: redact(`${subject} ${problem}`), advice }, { cause, details: { wasSent } });
  const code = codeOf(error);
  if (!hasHeaders && (isParserError(error) || isUnsolicitedResponse(error))) {
    return fail(
      "NOT_A_TOOL_SERVER",
      "responded with something that is not HTTP/1.1.",
      "Check the host, the port and the scheme of the URL.",
    );
  }
  if (!hasHeaders && code === "UND_ERR_HEADERS_OVERFLOW") {
    return fail("MESSAGE_TOO_LARGE", "sent response headers that exceed the limit.", "Check the server.");
  }
  // With TLS 1.3 a server checks the client certificate after the handshake and before it reads anything.
  if (!hasHeaders && isClientCertificateAlert(code)) {
    const failed = { peer, remoteName, host, proxy: undefined, isProxyItself: false, error } as const;
    return connectFailure({ ...failed, stage: "securing" }, redact);
  }
  const reason = describeBreak(error, code);
  if (!wasSent)
    return fail(
      "CONNECTION_LOST",
      `closed the connection before the request was written (${reason}).`,
      "Send it again.",
    );
  if (!hasHeaders) {
    return fail(
      "CONNECTION_LOST",
      `closed the connection before it responded (${reason}).`,
      "It is unknown whether the request was carried out.",
    );
  }
  return fail(
    "CONNECTION_LOST",
    `cut off its response (${reason}).`,
    "It is unknown whether the request was carried out.",
  );
}

function describeBreak(error: unknown, code: string): string {
  if (isParserError(error) || code === "UND_ERR_HEADERS_OVERFLOW") return "it is not valid HTTP";
  if (code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") return "its length differs from Content-Length";
  if (code.startsWith("UND_ERR_")) return "it was closed";
  if (code !== "") return code;
  return printableText(error instanceof Error ? error.message : String(error), 200);
}

/** Whether undici's parser rejected the bytes as HTTP. */
export function isParserError(error: unknown): boolean {
  return error instanceof Error && error.name === "HTTPParserError";
}

/** undici's messages, whose version is pinned, because it has one code for all errors of a socket. */
const unsolicited: ReadonlySet<string> = new Set(["bad upgrade", "bad response"]);

/** Whether a server switched protocols or responded without a request. */
export function isUnsolicitedResponse(error: unknown): boolean {
  return codeOf(error) === "UND_ERR_SOCKET" && unsolicited.has((error as Error).message);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
