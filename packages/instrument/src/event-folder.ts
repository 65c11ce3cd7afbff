import type { TraceSeverity } from "@wirescope/channelz";

const windowMs = 1000;
/** Causes that are distinguished within a window; a peer may have a new one each time. */
const maxCauses = 8;
const otherCauses = "other causes";

/** What logs an event: a channel, a subchannel, or a server. */
interface Tracer {
  trace(description: string, options?: { readonly severity?: TraceSeverity }): void;
}

/**
 * Reports events of one kind without letting many of them push everything else out of a trace: the first is reported at once,
 * and those of the next second together, by cause and with their number.
 */
export class EventFolder {
  readonly #tracer: Tracer;
  readonly #what: string;
  readonly #severity: TraceSeverity;
  /** The number of events since the first, by cause; undefined while no window is open. */
  #more: Map<string, number> | undefined;

  constructor(tracer: Tracer, what: string, severity: TraceSeverity = "warning") {
    this.#tracer = tracer;
    this.#what = what;
    this.#severity = severity;
  }

  add(cause: string): void {
    const more = this.#more;
    if (more !== undefined) {
      const reported = more.has(cause) || more.size < maxCauses ? cause : otherCauses;
      more.set(reported, (more.get(reported) ?? 0) + 1);
      return;
    }
    this.#more = new Map();
    setTimeout(() => this.#closeWindow(), windowMs).unref();
    this.#tracer.trace(`${this.#what}: ${cause}`, { severity: this.#severity });
  }

  #closeWindow(): void {
    for (const [cause, count] of this.#more ?? []) {
      this.#tracer.trace(`${this.#what}, ${count} more within a second: ${cause}`, { severity: this.#severity });
    }
    this.#more = undefined;
  }
}
