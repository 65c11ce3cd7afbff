import { type ErrorParts, ToolServerError, type ToolServerErrorDetails } from "../errors.js";

type Redact = (text: string) => string;

/** How many causes are told. */
const mostCauses = 8;

/**
 * The failure with secrets taken out of its words, its details and its causes; itself where that changes nothing. A cause
 * that is an error of another kind is told by its name, code and words alone, for it may carry what came over the socket.
 */
export function redactFailure(error: ToolServerError, redact: Redact, depth = 0): ToolServerError {
  const { subject, problem, evidence, advice } = error;
  const parts = redactValue({ subject, problem, evidence, advice }, redact) as ErrorParts;
  const isSame = new ToolServerError(error.code, parts).message === error.message;
  const details = redactValue(error.details, redact) as ToolServerErrorDetails;
  const cause = depth < mostCauses ? redactCause(error.cause, redact, depth + 1) : undefined;
  if (isSame && details === error.details && cause === error.cause) return error;
  const redacted = new ToolServerError(error.code, parts, { details, ...(cause === undefined ? {} : { cause }) });
  // Where it came about says more than where it was redacted.
  if (error.stack !== undefined) redacted.stack = redact(error.stack);
  return redacted;
}

function redactCause(cause: unknown, redact: Redact, depth: number): unknown {
  if (ToolServerError.is(cause)) return redactFailure(cause, redact, depth);
  if (!(cause instanceof Error)) return cause === undefined ? undefined : redactValue(cause, redact);
  const below = depth < mostCauses ? redactCause(cause.cause, redact, depth + 1) : undefined;
  const plain = new Error(redact(cause.message), below === undefined ? {} : { cause: below });
  const code = "code" in cause && typeof cause.code === "string" ? { code: cause.code } : {};
  Object.defineProperty(plain, "name", { value: cause.name, configurable: true });
  if (cause.stack !== undefined) plain.stack = redact(cause.stack);
  return Object.assign(plain, code);
}

/** How deep values are told: a server can nest them until the stack ends. */
const deepest = 100;

/**
 * A value as JSON has them, with secrets taken out of its texts and keys; itself where that changes nothing. What is nested
 * deeper than 100 levels is left out.
 */
export function redactValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= deepest) return "[nested too deeply]";
  if (Array.isArray(value)) {
    const items = value.map((item) => redactValue(item, redact, depth + 1));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const before = Object.entries(value);
  const after = before.map(([key, item]) => [redact(key), redactValue(item, redact, depth + 1)] as const);
  const isSame = after.every(([key, item], index) => key === before[index]?.[0] && item === before[index]?.[1]);
  return isSame ? value : Object.fromEntries(after);
}
