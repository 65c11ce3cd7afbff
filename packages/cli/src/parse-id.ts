import { UsageError } from "./usage-error.js";

/** An id from the command line: a positive integer of 64 bits. */
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
