import { describe, expect, test } from "vitest";
import { parseMoment, splitMoment } from "./recorded-target.js";

describe("a moment of a recording", () => {
  const firstMs = new Date(2026, 10, 15, 22, 0, 0, 250).getTime();
  const lastMs = new Date(2026, 10, 16, 14, 5, 30, 500).getTime();
  const local = (day: number, hours: number, minutes: number, seconds: number, ms: number): number =>
    new Date(2026, 10, day, hours, minutes, seconds, ms).getTime();

  test.each([
    ["-10m", lastMs - 600_000],
    ["+500ms", firstMs + 500],
    ["14:05:30", lastMs],
    ["14:05", local(16, 14, 5, 0, 999)],
    ["23:00", local(15, 23, 0, 0, 999)],
    [new Date(lastMs - 1000).toISOString(), lastMs - 1000],
  ])("reads %s as a moment of the recording", (text, expected) => {
    expect(parseMoment(text, { firstMs, lastMs })).toBe(expected);
  });

  test.each(["-20h", "21:00", "2026-11-17T00:00:00Z", "yesterday", "+1x"])(
    "rejects %s, which is not a moment of the recording",
    (text) => {
      expect(() => parseMoment(text, { firstMs, lastMs })).toThrow(/no moment|not a time|not a duration/);
    },
  );

  test("separates the time from a path that may contain an @ itself", () => {
    expect(splitMoment("me@home/x.wsr")).toEqual({ path: "me@home/x.wsr" });
    expect(splitMoment("me@home/x.wsr@-10m")).toEqual({ path: "me@home/x.wsr", time: "-10m" });
    expect(splitMoment("x.wsr@2026-11-16T14:05:30Z")).toEqual({ path: "x.wsr", time: "2026-11-16T14:05:30Z" });
  });
});
