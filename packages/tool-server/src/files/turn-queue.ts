/** Lets one caller after the other have its turn, for each name; in this process. */
export interface TurnQueue {
  /** Resolves when it is this caller's turn, with how to end it. Rejects with the signal's reason, and leaves the queue. */
  take(name: string, signal: AbortSignal): Promise<() => void>;
}

export function createTurnQueue(): TurnQueue {
  const last = new Map<string, Promise<void>>();
  return {
    async take(name, signal) {
      signal.throwIfAborted();
      const before = last.get(name) ?? Promise.resolve();
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      const mine = before.then(() => ended);
      last.set(name, mine);
      void mine.then(() => {
        if (last.get(name) === mine) last.delete(name);
      });
      try {
        await untilAborted(before, signal);
      } catch (error) {
        end();
        throw error;
      }
      return end;
    },
  };
}

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
