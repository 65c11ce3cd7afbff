import type { Registry } from "@wirescope/channelz";

/** The stop function of each observed object. Weak, so that observation keeps nothing alive. */
const stops = new WeakMap<object, (reason: string) => void>();

/** Marks a server, session or client as observed, with the function that stops the observation. */
export function markObserved(subject: object, stop: (reason: string) => void): void {
  stops.set(subject, stop);
}

/** Whether a server, session or client is observed. */
export function isObserved(subject: object): boolean {
  return stops.has(subject);
}

/**
 * Stops observing a server, session or client: it is removed from the registry, and its overhead is a single check. Returns false
 * if it was not observed. It can be observed again.
 */
export function stopObserving(subject: object, reason = "no longer observed"): boolean {
  const stop = stops.get(subject);
  stops.delete(subject);
  stop?.(reason);
  return stop !== undefined;
}

/**
 * An observation of the whole process, shared by all callers: it starts with the first caller, and ends when the last has
 * stopped. It writes to one registry.
 */
export class SharedObservation {
  readonly #what: string;
  #registry: Registry | undefined;
  #users = 0;
  #stop: ((reason: string) => void) | undefined;

  /** `what` is the beginning of a sentence, such as "node:http clients are". */
  constructor(what: string) {
    this.#what = what;
  }

  /**
   * Starts the observation with `begin`, which returns a function that ends it, or joins it. Returns a function that leaves it.
   * Throws a TypeError if it was started with another registry.
   */
  join(registry: Registry, begin: () => (reason: string) => void): (reason: string) => void {
    if (this.#registry !== undefined && this.#registry !== registry) {
      throw new TypeError(
        `${this.#what} already observed in another registry. Pass that registry, or stop that observation first. If the process ` +
          "was started with @wirescope/instrument/auto, it is observed already: remove this call.",
      );
    }
    if (this.#users === 0) {
      this.#stop = begin();
      this.#registry = registry;
    }
    this.#users += 1;
    let isStopped = false;
    return (reason) => {
      if (isStopped) return;
      isStopped = true;
      this.#users -= 1;
      if (this.#users > 0) return;
      const stop = this.#stop;
      this.#stop = undefined;
      this.#registry = undefined;
      stop?.(reason);
    };
  }
}
