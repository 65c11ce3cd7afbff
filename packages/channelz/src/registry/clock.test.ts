import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTurnClock } from "./clock.js";

const start = 1_700_000_000_000;

// Only the date: the clock must see the real turns of the event loop.
beforeEach(() => vi.useFakeTimers({ toFake: ["Date"], now: start }));
afterEach(() => vi.useRealTimers());

const reads = {
  now: (clock: ReturnType<typeof createTurnClock>): number => clock.now(),
  stamp: (clock: ReturnType<typeof createTurnClock>): number => {
    const cells = new Float64Array(3);
    clock.stamp(cells, 1);
    expect([cells[0], cells[2]]).toEqual([0, 0]);
    return cells[1]!;
  },
};

test.each(Object.entries(reads))(
  "[CZ-D-TIME-2] reads the system's time once a turn of the event loop, by %s",
  async (_, read) => {
    const clock = createTurnClock();
    for (const turn of [0, 1000, 2000]) {
      vi.setSystemTime(start + turn);
      expect(read(clock)).toBe(start + turn);
      vi.setSystemTime(start + turn + 1);
      expect(read(clock)).toBe(start + turn);
      await nextTurn();
    }
  },
);

test("returns the same time from now() and stamp() within a turn", async () => {
  const clock = createTurnClock();
  const time = reads.now(clock);
  vi.setSystemTime(start + 1000);
  expect(reads.stamp(clock)).toBe(time);
  await nextTurn();
  expect(reads.stamp(clock)).toBe(start + 1000);
  vi.setSystemTime(start + 2000);
  expect(reads.now(clock)).toBe(start + 1000);
});
