/** The part of AbortSignal that cancellation needs. Every AbortSignal and every call implements it. */
export interface Cancellation {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * Something that can be cancelled once. An AbortController per request and a listener on its signal cost more than writing the
 * request; `signal` creates one on demand.
 */
export class Canceller implements Cancellation {
  aborted = false;
  reason: unknown = undefined;
  // Usually there is one listener, and no list is needed.
  #listener: (() => void) | undefined = undefined;
  #others: (() => void)[] | undefined = undefined;
  #controller: AbortController | undefined = undefined;

  /** An AbortSignal, created on demand. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  /** Calls all listeners, and then throws the first error that one of them threw. */
  cancel(reason?: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const [first, others] = [this.#listener, this.#others];
    this.#listener = undefined;
    this.#others = undefined;
    const failures: unknown[] = [];
    for (const listener of [first, ...(others ?? [])]) {
      try {
        listener?.();
      } catch (error) {
        failures.push(error);
      }
    }
    this.#controller?.abort(reason);
    if (failures.length > 0) throw failures[0];
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(_: "abort", listener: () => void): void {
    if (this.aborted) return;
    if (this.#listener === undefined) this.#listener = listener;
    else {
      this.#others ??= [];
      this.#others.push(listener);
    }
  }

  removeEventListener(_: "abort", listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#others = this.#others?.filter((other) => other !== listener);
  }
}
