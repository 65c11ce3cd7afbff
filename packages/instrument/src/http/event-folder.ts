import type { TraceSeverity } from "@wirescope/channelz";

const windowMs = 1000;

/** What logs an event: a channel, a subchannel, or a server. */
interface Tracer {
  trace(description: string, options?: { readonly severity?: TraceSeverity }): void;
}

/**
 * Tells of misfortunes of one kind, without letting a storm of them wash everything else out of a trace: the first is told
 * at once, and those of the next second together, by their cause and with their number.
 */
export class EventFolder {
  readonly #tracer: Tracer;
  readonly #what: string;
  /** How many came since the first, by their cause; undefined while no window is open. */
  #more: Map<string, number> | undefined;

  constructor(tracer: Tracer, what: string) {
    this.#tracer = tracer;
    this.#what = what;
  }

  add(cause: string): void {
    if (this.#more !== undefined) {
      this.#more.set(cause, (this.#more.get(cause) ?? 0) + 1);
      return;
    }
    this.#more = new Map();
    setTimeout(() => this.#closeWindow(), windowMs).unref();
    this.#tracer.trace(`${this.#what}: ${cause}`, { severity: "warning" });
  }

  #closeWindow(): void {
    for (const [cause, count] of this.#more ?? []) {
      this.#tracer.trace(`${this.#what}, ${count} more within a second: ${cause}`, { severity: "warning" });
    }
    this.#more = undefined;
  }
}
