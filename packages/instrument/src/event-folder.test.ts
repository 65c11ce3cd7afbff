import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventFolder } from "./event-folder.js";

let told: string[];
let folder: EventFolder;

beforeEach(() => {
  vi.useFakeTimers();
  told = [];
  folder = new EventFolder({ trace: (words, options) => void told.push(`${options?.severity} ${words}`) }, "Lost");
});

afterEach(() => void vi.useRealTimers());

test("the first event is told at once, and those of the next second together, by their cause", () => {
  for (const cause of ["a", "a", "b", "a"]) folder.add(cause);
  expect(told).toEqual(["warning Lost: a"]);
  vi.advanceTimersByTime(1000);
  expect(told.slice(1)).toEqual(["warning Lost, 2 more within a second: a", "warning Lost, 1 more within a second: b"]);
  folder.add("c");
  expect(told.at(-1)).toBe("warning Lost: c");
});

test("a storm whose events all have causes of their own is told in few words too", () => {
  for (let i = 0; i < 1000; i += 1) folder.add(`cause ${i}`);
  vi.advanceTimersByTime(1000);
  expect(told).toHaveLength(1 + 8 + 1);
  expect(told.at(-1)).toBe("warning Lost, 991 more within a second: other causes");
});
