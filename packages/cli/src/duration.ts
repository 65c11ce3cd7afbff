import { UsageError } from "./usage-error.js";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** Milliseconds of a duration such as `500ms`, `5s`, `1.5m` or, in seconds, `5`. */
export function parseDuration(text: string, option: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text.trim());
  const ms = match ? Number(match[1]) * (unitMs[match[2] ?? "s"] ?? 0) : 0;
  // What a timer of Node can hold.
  if (ms < 1 || ms > 2 ** 31 - 1) {
    throw new UsageError(`${option} "${text}" is not a duration. Use a value such as 500ms, 5s or 1m.`);
  }
  return Math.round(ms);
}
