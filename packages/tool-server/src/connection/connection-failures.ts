import { describeDuration } from "../duration.js";
import {
  type ErrorParts,
  ToolServerError,
  type ToolServerErrorCode,
  type ToolServerErrorDetails,
  withAdvice,
} from "../errors.js";
import type { Redact } from "../secrets/redactor.js";

const userActionCodes: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "UNAUTHORIZED",
  "FORBIDDEN",
  "SIGN_IN_NEEDED",
  "SIGN_IN_FAILED",
  "ISSUER_CHANGED",
  "AUTHORIZATION_ORIGIN_UNCONFIRMED",
  "NOT_TRUSTED",
  "CHILD_NOT_RUNNABLE",
  "CREDENTIAL_UNUSABLE",
  "HELPER_NOT_RUNNABLE",
  "KEYCHAIN_UNAVAILABLE",
  "REDIRECT_REFUSED",
]);

/** Whether only a user can fix it: a retry soon after would fail in the same way. */
export function needsUserAction({ code }: ToolServerError): boolean {
  return userActionCodes.has(code);
}

const endingCodes: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "SERVER_UNREACHABLE",
  "SESSION_LOST",
  "CHILD_EXITED",
  "UNAUTHORIZED",
  "SIGN_IN_NEEDED",
]);

/** Whether the failure concerns the connection and not only one call. A missing scope does not: other calls may not need it. */
export function endsSession({ code, details }: ToolServerError): boolean {
  return endingCodes.has(code) && details.refusal?.challenge?.error !== "insufficient_scope";
}

/** Failures of the connection after which a new attempt may succeed. */
const transientCodes: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>([
  "CONNECTION_LOST",
  "SESSION_LOST",
  "CHILD_EXITED",
  "SERVER_UNREACHABLE",
]);

/** Whether a failed call may be repeated: it never arrived, or it changes nothing and the connection failed. */
export function isRepeatable({ code, details }: ToolServerError, method: string): boolean {
  return transientCodes.has(code) && (details.wasSent === false || safeMethods.has(method));
}

/** The error of a connection that was closed by this side; `wasSent` says whether the call may have reached the server before. */
export function closedConnection(server: string, wasSent = false): ToolServerError {
  const problem = `The connection to the server ${JSON.stringify(server)} was closed.`;
  return new ToolServerError("CONNECTION_CLOSED", { problem, advice: "" }, { details: { wasSent } });
}

/** The error of a connection that the server closed without a reason. */
export function lostConnection(server: string): ToolServerError {
  const problem = `The server ${JSON.stringify(server)} ended the connection.`;
  return new ToolServerError("CONNECTION_LOST", { problem, advice: "" });
}

/** The error of a call during the delay after a failure; `isEager` says whether the retry needs no call. */
export function delayedRetry(error: ToolServerError, delayMs: number, isEager: boolean): ToolServerError {
  const delay = describeDuration(Math.ceil(delayMs / 1000) * 1000);
  const when = isEager ? `in ${delay}` : `with the first call after ${delay}`;
  return new ToolServerError(error.code, withAdvice(error, `It is tried again ${when}.`), {
    cause: error,
    details: { ...error.details, wasSent: false },
  });
}

/**
 * Requests that change nothing on the server, so that one that may have arrived can be sent again. A tool may do anything: its
 * annotations are no guarantee.
 */
const safeMethods: ReadonlySet<string> = new Set([
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "server/discover",
]);

/** How many causes are kept. */
const maxCauses = 8;

/**
 * Redacts the message, details and causes of a failure; returns the same object if nothing changes. Of a cause that is another
 * kind of error only name, code and message are kept, because it may contain received bytes.
 */
export function redactFailure(error: ToolServerError, redact: Redact, depth = 0): ToolServerError {
  const { subject, problem, evidence, advice } = error;
  const shown: ErrorParts = { subject, problem, evidence, advice };
  const parts = redactValue(shown, (text) => redact(text, "own")) as ErrorParts;
  const details = redactValue(error.details, redact) as ToolServerErrorDetails;
  const cause = depth < maxCauses ? redactCause(error.cause, redact, depth + 1) : undefined;
  if (parts === shown && details === error.details && cause === error.cause) return error;
  const redacted = new ToolServerError(error.code, parts, { details, ...(cause === undefined ? {} : { cause }) });
  // The original stack is more useful than that of the redaction.
  if (error.stack !== undefined) redacted.stack = redact(error.stack, "own");
  return redacted;
}

function redactCause(cause: unknown, redact: Redact, depth: number): unknown {
  if (ToolServerError.is(cause)) return redactFailure(cause, redact, depth);
  if (!(cause instanceof Error)) return cause === undefined ? undefined : redactValue(cause, redact);
  const below = depth < maxCauses ? redactCause(cause.cause, redact, depth + 1) : undefined;
  const plain = new Error(redact(cause.message), below === undefined ? {} : { cause: below });
  const code = "code" in cause && typeof cause.code === "string" ? { code: cause.code } : {};
  Object.defineProperty(plain, "name", { value: cause.name, configurable: true });
  if (cause.stack !== undefined) plain.stack = redact(cause.stack);
  return Object.assign(plain, code);
}

/** The maximum depth of values: a server can nest them until the stack overflows. */
const maxDepth = 100;

/**
 * Redacts the strings and keys of a JSON value; returns the same object if nothing changes. Values below 100 levels are omitted.
 */
export function redactValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxDepth) return "[nested too deeply]";
  if (Array.isArray(value)) {
    const items = value.map((item) => redactValue(item, redact, depth + 1));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const before = Object.entries(value);
  const after = before.map(([key, item]) => [redact(key), redactValue(item, redact, depth + 1)] as const);
  const isSame = after.every(([key, item], index) => key === before[index]?.[0] && item === before[index]?.[1]);
  return isSame ? value : Object.fromEntries(after);
}
