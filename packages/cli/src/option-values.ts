import { UsageError } from "./usage-error.js";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** Milliseconds of a duration such as `500ms`, `5s`, `1.5m` or, in seconds, `5`. */
export function parseDuration(text: string, option: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text.trim());
  const ms = match ? Number(match[1]) * (unitMs[match[2] ?? "s"] ?? 0) : 0;
  // The range of Node's timers.
  if (ms < 1 || ms > 2 ** 31 - 1) {
    throw new UsageError(`${option} "${text}" is not a duration. Use a value such as 500ms, 5s or 1m.`);
  }
  return Math.round(ms);
}

/** An id from the command line: a positive 64-bit integer. */
export function parseId(text: string, what: string): bigint {
  const id = /^\d{1,19}$/.test(text) ? BigInt(text) : 0n;
  if (id < 1n || id >= 2n ** 63n) throw new UsageError(`${what} "${text}" is not an id. Use a positive integer.`);
  return id;
}

/** The value of `--limit`: how many objects are read at most; undefined for the default. */
export function parseLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw new UsageError(`--limit "${text}" is not a valid limit. Use a positive integer.`);
  return limit;
}
