import type { Clock } from "@wirescope/tool-server";

/** A clock on which no time passes: its timers end when a test ends them. */
export interface TimersClock extends Clock {
  /** The number of pending timers. */
  readonly waiting: number;
  /** Ends the pending timers. */
  wake(): void;
}

export function createTimersClock(): TimersClock {
  const timers = new Set<() => void>();
  return {
    now: () => 0,
    after(_delayMs, wake) {
      const timer = (): void => wake();
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    get waiting() {
      return timers.size;
    },
    wake() {
      const due = [...timers];
      timers.clear();
      for (const timer of due) timer();
    },
  };
}
