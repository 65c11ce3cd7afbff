import type { Clock } from "./clock.js";

/** A clock that moves only when it is advanced. */
export interface FakeClock extends Clock {
  /** Advances, and runs the timers that are due, in order. */
  advance(byMs: number): void;
  /** The number of pending timers. */
  readonly waiting: number;
}

export function createFakeClock(startMs: number = Date.UTC(2030, 0, 1)): FakeClock {
  let now = startMs;
  const alarms = new Set<{ at: number; wake: () => void }>();
  return {
    now: () => now,
    after(delayMs, wake) {
      const alarm = { at: now + delayMs, wake };
      alarms.add(alarm);
      return () => void alarms.delete(alarm);
    },
    advance(byMs) {
      const end = now + byMs;
      for (;;) {
        const due = [...alarms].filter((alarm) => alarm.at <= end).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        alarms.delete(due);
        now = Math.max(now, due.at);
        due.wake();
      }
      now = end;
    },
    get waiting() {
      return alarms.size;
    },
  };
}
