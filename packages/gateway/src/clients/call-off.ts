/** Whether a request is called off, and who wants to know. Much of what an AbortSignal is, at a fraction of its cost. */
export interface CallOff {
  readonly isOff: boolean;
  /** An error where a limit of ours called it off, which is the answer then; undefined where the client did. */
  readonly reason: Error | undefined;
  /** Calls it off; once only. */
  off(reason?: Error): void;
  /** Calls the listener where it is called off, at once where it is; returns how to take that back. */
  onOff(listener: (reason: Error | undefined) => void): () => void;
}

type Listener = (reason: Error | undefined) => void;

export function createCallOff(): CallOff {
  return new SimpleCallOff();
}

class SimpleCallOff implements CallOff {
  isOff = false;
  reason: Error | undefined = undefined;
  #listeners: Set<Listener> | undefined;

  off(reason?: Error): void {
    if (this.isOff) return;
    this.isOff = true;
    this.reason = reason;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) listener(reason);
  }

  onOff(listener: Listener): () => void {
    if (this.isOff) {
      listener(this.reason);
      return () => {};
    }
    this.#listeners ??= new Set();
    const listeners = this.#listeners;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }
}
