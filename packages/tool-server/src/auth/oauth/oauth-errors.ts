import { ToolServerError, type ToolServerErrorCode, type ToolServerErrorDetails } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import type { OAuthContext } from "./oauth-context.js";

const longestPart = 2000;

/** A failure whose problem begins with whose sign-in it is. What it says is redacted. */
export function oauthFailure(
  { server, secrets }: Pick<OAuthContext, "server" | "secrets">,
  code: ToolServerErrorCode,
  { problem, advice }: { readonly problem: string; readonly advice: string },
  options: ErrorOptions & { readonly details?: ToolServerErrorDetails } = {},
): ToolServerError {
  const shown = (text: string): string => printableText(secrets.redact(text), longestPart);
  const parts = { problem: shown(`The server ${JSON.stringify(server)}: ${problem}`), advice: shown(advice) };
  return new ToolServerError(code, parts, options);
}

/** What a peer said, made safe to show: redacted, on one line, cut. */
export function peerText({ secrets }: Pick<OAuthContext, "secrets">, text: string, maxLength = 200): string {
  return printableText(secrets.redact(text), maxLength);
}

/** A URL for messages: without user, query and fragment, which may hold what is nobody's business. */
export function urlText(context: Pick<OAuthContext, "secrets">, url: URL): string {
  return peerText(context, `${url.origin === "null" ? url.protocol : url.origin}${url.pathname}`, 300);
}

const passingCodes: readonly ToolServerErrorCode[] = [
  "SERVER_UNREACHABLE",
  "SERVER_FAILED",
  "CONNECTION_LOST",
  "CALL_TIMEOUT",
];

/** Whether a failure may be gone in a moment: the network, a time limit, a server in trouble. */
export function isPassingFailure(error: unknown): error is ToolServerError {
  return ToolServerError.is(error) && passingCodes.includes(error.code);
}
