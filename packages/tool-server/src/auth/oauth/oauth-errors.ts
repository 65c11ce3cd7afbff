import { ToolServerError, type ToolServerErrorCode, type ToolServerErrorDetails } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import { originOf } from "../../url.js";
import type { OAuthContext } from "./oauth-context.js";

const maxPartLength = 2000;

/** An error whose subject is the server. Redacted. */
export function oauthFailure(
  { server, secrets }: Pick<OAuthContext, "server" | "secrets">,
  code: ToolServerErrorCode,
  { problem, advice }: { readonly problem: string; readonly advice: string },
  options: ErrorOptions & { readonly details?: ToolServerErrorDetails } = {},
): ToolServerError {
  const shown = (text: string): string => printableText(secrets.redact(text), maxPartLength);
  const subject = shown(`The server ${JSON.stringify(server)}:`);
  const parts = { subject, problem: shown(problem), advice: shown(advice) };
  return new ToolServerError(code, parts, options);
}

/** A peer's text made safe to show: redacted, on one line, truncated. */
export function peerText({ secrets }: Pick<OAuthContext, "secrets">, text: string, maxLength = 200): string {
  return printableText(secrets.redact(text), maxLength);
}

/** A URL for messages: without user, query and fragment, which may be confidential. */
export function urlText(context: Pick<OAuthContext, "secrets">, url: URL): string {
  return peerText(context, `${originOf(url)}${url.pathname}`, 300);
}

const transientCodes: readonly ToolServerErrorCode[] = [
  "SERVER_UNREACHABLE",
  "SERVER_FAILED",
  "CONNECTION_LOST",
  "CALL_TIMEOUT",
];

/** Whether a failure is transient: the network, a time limit, an overloaded or failing server. */
export function isTransientFailure(error: unknown): error is ToolServerError {
  return ToolServerError.is(error) && isTransientCode(error.code);
}

/** Whether a failure with this code is transient. */
export function isTransientCode(code: ToolServerErrorCode | undefined): boolean {
  return code !== undefined && transientCodes.includes(code);
}
