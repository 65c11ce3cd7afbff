import { setMaxListeners } from "node:events";

/** Tracks the operations of a vault, so that the vault can be closed without interrupting any of them. */
export interface VaultActivity {
  /** Aborts when the vault begins to close: callers that wait for a lock give up, tasks that hold one may finish. */
  readonly closing: AbortSignal;
  /** Starts an operation; rejects with a TypeError once the vault is closed. */
  run<T>(operation: () => Promise<T>): Promise<T>;
  /** Makes `close` wait for a promise. */
  track<T>(running: Promise<T>): Promise<T>;
  /** Resolves when every operation has settled. */
  close(): Promise<void>;
}

export function createVaultActivity(): VaultActivity {
  const operations = new Set<Promise<unknown>>();
  const closing = new AbortController();
  // Any number of callers may wait for a lock.
  setMaxListeners(0, closing.signal);
  let isClosed = false;

  const track = async <T>(running: Promise<T>): Promise<T> => {
    operations.add(running);
    try {
      return await running;
    } finally {
      operations.delete(running);
    }
  };

  return {
    closing: closing.signal,
    async run(operation) {
      if (isClosed) throw disposed();
      return track(operation());
    },
    track,
    async close() {
      closing.abort(disposed());
      // A task that ends may have started another operation in the meantime.
      while (operations.size > 0) await Promise.allSettled(operations);
      isClosed = true;
    },
  };
}

function disposed(): TypeError {
  return new TypeError("The vault was disposed of.");
}

/** The listeners for changes, and one source for all of them, which runs while there are any. */
export interface VaultListeners {
  /** Adds a listener; returns a function that removes it. */
  add(listener: () => void): () => void;
  notify(): void;
  clear(): void;
}

/** `start` begins to watch and returns a function that stops it. Default: only calls of `notify` report changes. */
export function createVaultListeners(start: (notify: () => void) => () => void = () => () => {}): VaultListeners {
  const listeners = new Set<() => void>();
  let stop: (() => void) | undefined;
  const notify = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const stopIfUnused = (): void => {
    if (listeners.size > 0) return;
    stop?.();
    stop = undefined;
  };
  return {
    add(listener) {
      // A new function, so that a listener that was added twice is removed one at a time.
      const own = (): void => listener();
      listeners.add(own);
      stop ??= start(notify);
      return () => {
        listeners.delete(own);
        stopIfUnused();
      };
    },
    notify,
    clear() {
      listeners.clear();
      stopIfUnused();
    },
  };
}
