/** Whether a request is called off, and who wants to know. Much of what an AbortSignal is, at a fraction of its cost. */
export interface CallOff {
  readonly isOff: boolean;
  /** An error where a limit of ours called it off, which is the answer then; undefined where the client did. */
  readonly reason: Error | undefined;
  /** Calls it off; once only. */
  off(reason?: Error): void;
  /** Calls the listener where it is called off, at once where it is. */
  onOff(listener: CallOffListener): void;
  /** Calls the listener no more. */
  forget(listener: CallOffListener): void;
}

export type CallOffListener = (reason: Error | undefined) => void;

export function createCallOff(): CallOff {
  return new SimpleCallOff();
}

class SimpleCallOff implements CallOff {
  isOff = false;
  reason: Error | undefined = undefined;
  // Mostly there is one, and then no list.
  #first: CallOffListener | undefined = undefined;
  #others: CallOffListener[] | undefined = undefined;

  off(reason?: Error): void {
    if (this.isOff) return;
    this.isOff = true;
    this.reason = reason;
    if (this.#first === undefined && this.#others === undefined) return;
    const listeners = [this.#first, ...(this.#others ?? [])];
    this.#first = undefined;
    this.#others = undefined;
    for (const listener of listeners) listener?.(reason);
  }

  onOff(listener: CallOffListener): void {
    if (this.isOff) listener(this.reason);
    else if (this.#first === undefined) this.#first = listener;
    else {
      this.#others ??= [];
      this.#others.push(listener);
    }
  }

  forget(listener: CallOffListener): void {
    if (this.#first === listener) this.#first = undefined;
    else this.#others = this.#others?.filter((other) => other !== listener);
  }
}
