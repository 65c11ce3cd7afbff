import type { Clock } from "./clock.js";

/** The delay after `failures` consecutive failures: doubles from `firstMs` up to `maxMs`. */
export function backOffMs(failures: number, firstMs: number, maxMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(failures - 1, 30), maxMs);
}

/** A delay between half of `delayMs` and all of it, so that clients that failed together do not retry together. */
function withJitter(delayMs: number, random: () => number = Math.random): number {
  return Math.round(delayMs * (0.5 + random() / 2));
}

/** The delays between attempts, in milliseconds: the first, doubled each time, up to the maximum. */
export interface BackOffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Decides how long to wait before something that ends is opened again: a session, a stream, a subscription. */
export interface BackOff {
  /** It opened: its lifetime counts from now. */
  opened(): void;
  /** It ended, or could not be opened. Returns how long to wait before the next attempt, in milliseconds. */
  ended(): number;
}

/**
 * A back-off that only a long enough lifetime resets, because some servers close right after they open or respond once. A lifetime
 * above the current delay resets to the first delay, one above the maximum reopens at once, and every other end doubles the delay.
 */
export function createBackOff(
  { firstMs, maxMs }: BackOffLimits,
  clock: Clock,
  random: () => number = Math.random,
): BackOff {
  let failures = 0;
  let openedAt: number | undefined;
  return {
    opened() {
      openedAt = clock.now();
    },
    ended() {
      const lifetimeMs = openedAt === undefined ? 0 : clock.now() - openedAt;
      openedAt = undefined;
      if (lifetimeMs > backOffMs(Math.max(failures, 1), firstMs, maxMs)) failures = 0;
      if (lifetimeMs > maxMs) return 0;
      failures += 1;
      return withJitter(backOffMs(failures, firstMs, maxMs), random);
    },
  };
}
