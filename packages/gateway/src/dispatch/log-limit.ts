import { createRates, type Rates } from "../rates.js";

/** How many log messages of one server that are about no call clients are told in a second; twice as many may come at once. */
const mostInSecond = 200;

/** Bounds what servers say to everybody: each message is written once for every client. */
export interface LogLimit<Speaker extends object> {
  /** How many messages of a server were left out since the last that passed; undefined where this one is left out, too. */
  pass(speaker: Speaker): number | undefined;
}

export function createLogLimit<Speaker extends object>(now: () => number = Date.now): LogLimit<Speaker> {
  const speakers = new WeakMap<Speaker, { readonly rates: Rates; leftOut: number }>();
  return {
    pass(speaker) {
      let known = speakers.get(speaker);
      if (known === undefined) {
        known = { rates: createRates(mostInSecond, now), leftOut: 0 };
        speakers.set(speaker, known);
      }
      if (!known.rates.take("")) {
        known.leftOut += 1;
        return undefined;
      }
      const { leftOut } = known;
      known.leftOut = 0;
      return leftOut;
    },
  };
}
