import type { Clock } from "./clock.js";

/** A clock that nobody sets, and whose zero means nothing: a lock must not be lost to a change of the time of day. */
export const steadyClock: Clock = {
  now: () => performance.now(),
  after(delayMs, wake) {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  },
};
