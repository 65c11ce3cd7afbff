import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { formatRelative, formatTime, timeOf } from "./time.js";

const now = new Date("2026-01-31T12:00:00Z");
const before = (ms: number): Date => new Date(now.getTime() - ms);

test.each([
  [0, "just now"],
  [999, "just now"],
  [-999, "just now"],
  [3000, "3 s ago"],
  [119_000, "1 min ago"],
  [3_600_000, "1 h ago"],
  [5 * 86_400_000, "5 d ago"],
  [-120_000, "in 2 min"],
])("formats %i ms before now as %s", (ms, expected) => {
  expect(formatRelative(before(ms), now)).toBe(expected);
});

test("formats a time as relative and absolute", () => {
  expect(formatTime(before(3000), now)).toBe("3 s ago (2026-01-31T11:59:57.000Z)");
});

test("[CZ-D-TIME-1] shows the zero times of some peers as never", () => {
  const at = (seconds: bigint) => create(TimestampSchema, { seconds });
  // Absent, 1970, the year 1, and a number that is not a time.
  for (const timestamp of [undefined, at(0n), at(-62_135_596_800n), at(2n ** 62n)]) {
    expect(formatTime(timeOf(timestamp), now)).toBe("never");
  }
});
