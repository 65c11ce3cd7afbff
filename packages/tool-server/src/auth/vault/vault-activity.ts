import { setMaxListeners } from "node:events";

/** Counts what is under way in a vault, so that it can be closed without breaking anything off. */
export interface VaultActivity {
  /** Runs an operation; rejects with a TypeError once the vault is closed. */
  run<T>(operation: () => Promise<T>): Promise<T>;
  /** Takes part in a lock: those who wait are sent away when the vault closes, those who hold it may end their work. */
  runTask<T>(operation: (closing: AbortSignal) => Promise<T>): Promise<T>;
  /** Resolves when nothing is under way any more. */
  close(): Promise<void>;
}

export function createVaultActivity(): VaultActivity {
  const underWay = new Set<Promise<unknown>>();
  const closing = new AbortController();
  // Any number may wait for a lock.
  setMaxListeners(0, closing.signal);
  let isClosed = false;

  const track = async <T>(operation: () => Promise<T>): Promise<T> => {
    const running = operation();
    underWay.add(running);
    try {
      return await running;
    } finally {
      underWay.delete(running);
    }
  };

  return {
    async run(operation) {
      if (isClosed) throw disposed();
      return track(operation);
    },
    async runTask(operation) {
      closing.signal.throwIfAborted();
      return track(() => operation(closing.signal));
    },
    async close() {
      closing.abort(disposed());
      // A task that ends may have begun something else in the meantime.
      while (underWay.size > 0) await Promise.allSettled(underWay);
      isClosed = true;
    },
  };
}

function disposed(): TypeError {
  return new TypeError("The vault was disposed of.");
}
