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
