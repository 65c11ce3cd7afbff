/** Tells the time, and wakes up later. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `wake` once, `delayMs` from now; returns how to call that off. */
  after(delayMs: number, wake: () => void): () => void;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, wake) {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves `delayMs` from now, or as soon as `earlier` settles. Leaves no timer behind. */
export function waitAtMost(clock: Clock, delayMs: number, earlier: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(delayMs, resolve);
    const settle = (): void => {
      cancel();
      resolve();
    };
    earlier.then(settle, settle);
  });
}

/** A clock that nobody sets, and whose zero means nothing: a lock must not be lost to a change of the time of day. */
export const steadyClock: Clock = {
  now: () => performance.now(),
  after(delayMs, wake) {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  },
};
