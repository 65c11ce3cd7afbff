import { createRates } from "./rates.js";

/** Bounds what is in flight, and how fast it comes. */
export interface Admission {
  readonly inFlight: number;
  /** Lets one in; else says which bound it would pass. Each that is let in is to be let out. */
  enter(): "concurrency" | "rate" | undefined;
  leave(): void;
}

export interface AdmissionOptions {
  readonly concurrency: number;
  /** In a second; twice as many may come at once. */
  readonly rate: number;
  /** Milliseconds. Default: the clock of this machine. */
  readonly now?: (() => number) | undefined;
}

export function createAdmission({ concurrency, rate, now = Date.now }: AdmissionOptions): Admission {
  const rates = createRates(rate, now);
  let inFlight = 0;
  return {
    get inFlight() {
      return inFlight;
    },
    enter() {
      if (inFlight >= concurrency) return "concurrency";
      if (!rates.take("")) return "rate";
      inFlight += 1;
      return undefined;
    },
    leave() {
      inFlight -= 1;
    },
  };
}
