import type { Clock } from "../clock.js";

/** A lock as its task sees it. */
export interface Hold {
  readonly lost?: AbortSignal;
  release(): Promise<void>;
}

export interface RunLockedOptions {
  /** Gives up: who waits is sent away, who runs is told. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for the lock, in milliseconds. Default 30,000. */
  readonly waitMs?: number | undefined;
  readonly clock: Clock;
  /** Sends away who waits, and lets be who runs. */
  readonly closing: AbortSignal;
  /** Takes the lock; rejects with the signal's reason when that aborts, and then holds nothing. */
  take(signal: AbortSignal): Promise<Hold>;
  /** What to fail with when the wait was too long. */
  tooLong(waitMs: number): Error;
}

const defaultWaitMs = 30_000;

/** Takes a lock, within the time that there is, runs the task, and frees the lock however the task ends. */
export async function runLocked<T>(task: (signal: AbortSignal) => Promise<T>, options: RunLockedOptions): Promise<T> {
  const { signal, closing, clock, waitMs = defaultWaitMs } = options;
  signal?.throwIfAborted();
  const waiting = new AbortController();
  const running = new AbortController();
  const follow = (): void => {
    waiting.abort(signal?.reason);
    running.abort(signal?.reason);
  };
  const sendAway = (): void => waiting.abort(closing.reason);
  signal?.addEventListener("abort", follow, { once: true });
  closing.addEventListener("abort", sendAway, { once: true });
  const callOff = clock.after(waitMs, () => waiting.abort(options.tooLong(waitMs)));
  try {
    const held = await options.take(waiting.signal).finally(callOff);
    const lose = (): void => running.abort(held.lost?.reason);
    held.lost?.addEventListener("abort", lose, { once: true });
    try {
      signal?.throwIfAborted();
      return await task(running.signal);
    } finally {
      held.lost?.removeEventListener("abort", lose);
      await held.release();
    }
  } finally {
    signal?.removeEventListener("abort", follow);
    closing.removeEventListener("abort", sendAway);
  }
}
