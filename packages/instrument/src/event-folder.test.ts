import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventFolder } from "./event-folder.js";

let reported: string[];
let folder: EventFolder;

beforeEach(() => {
  vi.useFakeTimers();
  reported = [];
  folder = new EventFolder({ trace: (words, options) => void reported.push(`${options?.severity} ${words}`) }, "Lost");
});

afterEach(() => void vi.useRealTimers());

test("reports the first event at once, and those of the next second together, by cause", () => {
  for (const cause of ["a", "a", "b", "a"]) folder.add(cause);
  expect(reported).toEqual(["warning Lost: a"]);
  vi.advanceTimersByTime(1000);
  expect(reported.slice(1)).toEqual([
    "warning Lost, 2 more within a second: a",
    "warning Lost, 1 more within a second: b",
  ]);
  folder.add("c");
  expect(reported.at(-1)).toBe("warning Lost: c");
});

test("reports a storm of events with different causes in a few events", () => {
  for (let i = 0; i < 1000; i += 1) folder.add(`cause ${i}`);
  vi.advanceTimersByTime(1000);
  expect(reported).toHaveLength(1 + 8 + 1);
  expect(reported.at(-1)).toBe("warning Lost, 991 more within a second: other causes");
});
