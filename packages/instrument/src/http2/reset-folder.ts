import type { TraceSeverity } from "@wirescope/channelz";
import { errorCodeName } from "./error-codes.js";

const windowMs = 1000;

/** What logs an event: a subchannel, or a server. */
export interface Tracer {
  trace(description: string, options?: { readonly severity?: TraceSeverity }): void;
}

/**
 * Tells of streams that were reset, without letting a storm of them wash everything else out of a trace: the first is
 * told at once, and those of the next second together, with their number.
 */
export class ResetFolder {
  readonly #tracer: Tracer;
  /** How many came since the first, by their code; undefined while no window is open. */
  #more: Map<number, number> | undefined;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  add(code: number): void {
    if (this.#more !== undefined) {
      this.#more.set(code, (this.#more.get(code) ?? 0) + 1);
      return;
    }
    this.#more = new Map();
    setTimeout(() => this.#closeWindow(), windowMs).unref();
    this.#tracer.trace(`Stream reset with ${errorCodeName(code)}`, { severity: "warning" });
  }

  #closeWindow(): void {
    for (const [code, count] of this.#more ?? []) {
      const streams = count === 1 ? "1 more stream" : `${count} more streams`;
      this.#tracer.trace(`${streams} reset with ${errorCodeName(code)} within a second`, { severity: "warning" });
    }
    this.#more = undefined;
  }
}
