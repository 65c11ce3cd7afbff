/** Those who want to know of changes, and one source for all of them, which runs while there are any. */
export interface VaultListeners {
  /** Adds a listener; returns how to remove it. */
  add(listener: () => void): () => void;
  notify(): void;
  /** Removes all. */
  clear(): void;
}

/** `start` begins to watch and returns how to stop. Default: changes are only those that `notify` is called for. */
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
      // Of its own, so that one who listens twice is removed one at a time.
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
