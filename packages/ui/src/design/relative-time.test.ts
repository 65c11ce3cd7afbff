import { expect, test } from "vitest";
import { duration, relativeTime, relativeToMoment } from "./relative-time.js";

test("formats a duration in its largest unit", () => {
  const lengths = [0, 0.25, 4, 4.25, 41.4, 999, 1500, 12_300, 59_999, 60_000, 3_600_000, 200_000_000];
  expect(lengths.map(duration)).toEqual([
    "0 ms",
    "0.25 ms",
    "4 ms",
    "4.3 ms",
    "41 ms",
    "999 ms",
    "1.5 s",
    "12 s",
    "59 s",
    "1 min",
    "1 h",
    "2 d",
  ]);
});

test("formats a time relative to now, in the past and in the future", () => {
  const now = 1_000_000;
  expect([now, now - 999, now - 3_400, now - 65_000, now + 240_000].map((each) => relativeTime(each, now))).toEqual([
    "now",
    "now",
    "3 s ago",
    "1 min ago",
    "in 4 min",
  ]);
});

test("formats a time relative to another one", () => {
  const moment = 1_000_000;
  const times = [moment, moment + 999, moment - 3_400, moment - 65_000, moment + 240_000];
  expect(times.map((each) => relativeToMoment(each, moment))).toEqual([
    "at this moment",
    "at this moment",
    "3 s earlier",
    "1 min earlier",
    "4 min later",
  ]);
});
