import { expect, test } from "vitest";
import { addPoint, rateColumns } from "./chart-data.js";

const points = (...values: (readonly [timeMs: number, value: number])[]) =>
  values.map(([timeMs, value]) => ({ timeMs, value }));

test("converts counters to counts per second, and starts a counter at 0 after a restart", () => {
  const started = points([1000, 10], [2000, 14], [4000, 14], [5000, 3]);
  const failed = points([1000, 0], [2000, 1], [5000, 1]);
  expect(rateColumns([started, failed])).toEqual([
    [2, 4, 5],
    [4, 0, 3],
    [1, null, 0],
  ]);
  expect(rateColumns([[], []])).toEqual([[], [], []]);
});

test("adds only newer values, and keeps a limited number of them", () => {
  const kept = points([1000, 1], [2000, 2]);
  expect(addPoint(kept, { timeMs: 2000, value: 9 })).toBe(kept);
  expect(addPoint(kept, { timeMs: 3000, value: 9 })).toHaveLength(3);
  let many = points();
  for (let timeMs = 1; timeMs <= 2000; timeMs += 1) many = [...addPoint(many, { timeMs, value: timeMs })];
  expect(many).toHaveLength(600);
  expect(many.at(-1)?.timeMs).toBe(2000);
});
