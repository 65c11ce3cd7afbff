import type { Registry } from "@wirescope/channelz";

/** The stop function of each observed object. Weak, so that observation keeps nothing alive. */
const stops = new WeakMap<object, (reason: string) => void>();

/** Notes that a server, session or client is observed, with the function that stops it. */
export function noteObserved(subject: object, stop: (reason: string) => void): void {
  stops.set(subject, stop);
}

/** Whether a server, session or client is observed. */
export function isObserved(subject: object): boolean {
  return stops.has(subject);
}

/**
 * Stops observing a server, session or client: it is removed from the registry, and then costs only a check. Returns false if
 * it was not observed. It can be observed again.
 */
export function stopObserving(subject: object, reason = "no longer observed"): boolean {
  const stop = stops.get(subject);
  stops.delete(subject);
  stop?.(reason);
  return stop !== undefined;
}

/**
 * An observation that a process has once, shared by all callers: it starts with the first, and ends when the last has stopped.
 * It fills one registry.
 */
export class SharedObservation {
  readonly #what: string;
  #registry: Registry | undefined;
  #users = 0;
  #stop: ((reason: string) => void) | undefined;

  /** `what` is the subject of a sentence, such as "The clients of node:http are". */
  constructor(what: string) {
    this.#what = what;
  }

  /**
   * Starts the observation, or joins it; `begin` returns a function that ends it. Returns a function that leaves it. Throws a
   * TypeError if another registry is being filled.
   */
  join(registry: Registry, begin: () => (reason: string) => void): (reason: string) => void {
    if (this.#registry !== undefined && this.#registry !== registry) {
      throw new TypeError(
        `${this.#what} observed already, in another registry. Pass that registry, or call stop() of that observation first; ` +
          "where @wirescope/instrument/auto observes the process, leave it to that.",
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
