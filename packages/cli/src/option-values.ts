import { UsageError } from "./usage-error.js";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration such as `500ms`, `5s`, `1.5m`, `8h` or, in seconds, `5`. */
export function parseDuration(text: string, option: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim());
  const ms = match ? Number(match[1]) * (unitMs[match[2] ?? "s"] ?? 0) : 0;
  // The range of Node's timers.
  if (ms > 2 ** 31 - 1) throw new UsageError(`${option} "${text}" exceeds the maximum. Use at most 596h (24.8 days).`);
  if (ms < 1) {
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

/** A count of at least `min`; undefined if the option is not given. */
export function parseCount(text: string | undefined, option: string, min = 1): number | undefined {
  if (text === undefined) return undefined;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (count >= min) return count;
  throw new UsageError(`${option} "${text}" is not valid. Use ${min === 0 ? "0 or " : ""}a positive integer.`);
}

/** A TCP port of at least `min`; 0 selects a free one. Throws a UsageError. */
export function parsePort(text: string, option: string, min = 0): number {
  if (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`${option} must be a number from ${min} to 65535, not "${text}".`);
}

const unitBytes: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, g: 1e9 };

/** Bytes of a size such as `500kB`, `200MB` or `1GB`, or a number of bytes. */
export function parseByteSize(text: string, option: string): number {
  const match = /^(\d+(?:\.\d+)?)(?:([kmg])b?|b)?$/i.exec(text.trim());
  const bytes = match ? Number(match[1]) * (unitBytes[match[2]?.toLowerCase() ?? ""] ?? 1) : 0;
  if (bytes < 1 || bytes > 1e15)
    throw new UsageError(`${option} "${text}" is not a size. Use a value such as 200MB or 1GB.`);
  return Math.round(bytes);
}
