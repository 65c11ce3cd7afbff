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
  const most = rate * 2;
  let inFlight = 0;
  let tokens = most;
  let filledAt = rate === Number.POSITIVE_INFINITY ? 0 : now();
  return {
    get inFlight() {
      return inFlight;
    },
    enter() {
      if (inFlight >= concurrency) return "concurrency";
      if (rate !== Number.POSITIVE_INFINITY) {
        const at = now();
        tokens = Math.min(most, tokens + ((at - filledAt) / 1000) * rate);
        filledAt = at;
        if (tokens < 1) return "rate";
        tokens -= 1;
      }
      inFlight += 1;
      return undefined;
    },
    leave() {
      inFlight -= 1;
    },
  };
}
