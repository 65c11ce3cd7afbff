import type { Clock } from "./clock.js";

/** Settles as the promise does, or rejects with the signal's reason if that comes first. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Resolves after `delayMs`. Rejects with the signal's reason, and then leaves no timer behind. */
export async function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let cancelTimer = (): void => {};
  const elapsed = new Promise<void>((resolve) => {
    cancelTimer = clock.after(delayMs, resolve);
  });
  try {
    await untilAborted(elapsed, signal);
  } finally {
    cancelTimer();
  }
}
