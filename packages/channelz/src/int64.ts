import { ChannelzError } from "./errors.js";
import type { Int64, PageRequest } from "./source.js";

/** The highest id. */
export const highestInt64: bigint = 2n ** 63n - 1n;

/** Validates an id or a count that a caller passed. Throws a ChannelzError. */
export function toInt64(value: Int64, what = "id"): bigint {
  if (typeof value !== "bigint" && !Number.isSafeInteger(value)) {
    throw new ChannelzError(
      "INVALID_ARGUMENT",
      `The ${what} ${String(value)} is not a safe integer. Pass a bigint, or an integer below 2^53.`,
    );
  }
  const wide = BigInt(value);
  if (wide > highestInt64 || wide < -highestInt64 - 1n) {
    throw new ChannelzError("INVALID_ARGUMENT", `The ${what} ${wide} does not fit into 64 bits.`);
  }
  return wide;
}

/** Validates a page request that a caller passed. Throws a ChannelzError. */
export function toPage(request: PageRequest = {}): { readonly startId: bigint; readonly maxResults: bigint } {
  const startId = toInt64(request.startId ?? 0n, "start id");
  const maxResults = toInt64(request.maxResults ?? 0n, "page size");
  if (maxResults < 0n) {
    throw new ChannelzError(
      "INVALID_ARGUMENT",
      `A page size of ${maxResults} is negative. Send 0 for the default size.`,
    );
  }
  return { startId, maxResults };
}
