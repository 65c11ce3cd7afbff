import type { TraceSeverity } from "@wirescope/channelz";
import { guardNode } from "./guard-listener.js";

const windowMs = 1000;
/** The maximum number of causes distinguished within a window, because a peer may cause a different error each time. */
const maxCauses = 8;
const otherCauses = "other causes";

/** Logs events: a channel, a subchannel, or a server. */
interface Tracer {
  trace(description: string, options?: { readonly severity?: TraceSeverity; readonly timeMs?: number }): void;
  stamp(cells: Float64Array, index: number): void;
}

/** The events after the first one, by cause. */
interface Window {
  /** The index of each cause, in the order of their first occurrence. */
  readonly causes: Map<string, number>;
  /** For each cause, the number of its events and the time of the last. Typed, so that counting allocates nothing. */
  readonly cells: Float64Array;
}

/**
 * Coalesces events of one kind, so that a burst does not push everything else out of a trace: the first is reported at once, and
 * those of the next second together, by cause, with their number and the time of the last.
 */
export class EventCoalescer {
  readonly #tracer: Tracer;
  readonly #what: string;
  readonly #severity: TraceSeverity;
  #window: Window | undefined;

  constructor(tracer: Tracer, what: string, severity: TraceSeverity = "warning") {
    this.#tracer = tracer;
    this.#what = what;
    this.#severity = severity;
  }

  add(cause: string): void {
    if (this.#window !== undefined) {
      this.#count(this.#window, cause);
      return;
    }
    this.#window = { causes: new Map(), cells: new Float64Array(2 * (maxCauses + 1)) };
    setTimeout(this.#closeWindow, windowMs).unref();
    this.#tracer.trace(`${this.#what}: ${cause}`, { severity: this.#severity });
  }

  #count({ causes, cells }: Window, cause: string): void {
    const reported = causes.has(cause) || causes.size < maxCauses ? cause : otherCauses;
    let index = causes.get(reported);
    if (index === undefined) {
      index = causes.size;
      causes.set(reported, index);
    }
    cells[2 * index]! += 1;
    this.#tracer.stamp(cells, 2 * index + 1);
  }

  readonly #closeWindow = guardNode((): void => {
    const { causes, cells } = this.#window!;
    this.#window = undefined;
    for (const [cause, index] of causes) {
      const [count, timeMs] = cells.subarray(2 * index);
      const options = { severity: this.#severity, timeMs: timeMs! };
      this.#tracer.trace(`${this.#what}, ${count} more within a second: ${cause}`, options);
    }
  });
}
