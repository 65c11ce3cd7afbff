import type { Cancellation } from "./cancellation.js";

/** Reads the time and starts timers. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Calls `wake` once after `delayMs`, which may be `Infinity`; returns a function that cancels it. If `isBackground`, the process may
   * exit earlier.
   */
  after(delayMs: number, wake: () => void, isBackground?: boolean): () => void;
}

/** The maximum delay of a Node timer, in milliseconds, about 24.8 days: a longer one would fire at once. */
export const maxTimerMs: number = 2 ** 31 - 1;

/** The system clock. Limits a delay to the maximum of a timer. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, wake, isBackground) {
    const timer = setTimeout(wake, Math.min(delayMs, maxTimerMs));
    if (isBackground) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves `delayMs` from now, or as soon as `earlier` settles. Leaves no timer behind. */
export function waitAtMost(clock: Clock, delayMs: number, earlier: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const stopTimer = clock.after(delayMs, resolve);
    const settle = (): void => {
      stopTimer();
      resolve();
    };
    earlier.then(settle, settle);
  });
}

/** A monotonic clock with an arbitrary zero: a lock must not be lost when the time of day changes. */
export const steadyClock: Clock = {
  now: () => performance.now(),
  after: systemClock.after,
};

/** Settles as the promise does, or rejects with the signal's reason if that comes first. */
export function untilAborted<T>(promise: Promise<T>, signal: Cancellation): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Resolves after `delayMs`. Rejects with the signal's reason, and then leaves no timer behind. `isBackground` as in `Clock.after`. */
export async function sleep(clock: Clock, delayMs: number, signal: AbortSignal, isBackground = false): Promise<void> {
  signal.throwIfAborted();
  let cancelTimer = (): void => {};
  const elapsed = new Promise<void>((resolve) => {
    cancelTimer = clock.after(delayMs, resolve, isBackground);
  });
  try {
    await untilAborted(elapsed, signal);
  } finally {
    cancelTimer();
  }
}
