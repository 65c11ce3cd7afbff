import { expect, test } from "vitest";
import { parseDuration } from "./option-values.js";

test.each([
  ["500ms", 500],
  ["5s", 5000],
  ["5", 5000],
  ["1.5m", 90_000],
])("parses %s as %i ms", (text, ms) => {
  expect(parseDuration(text, "--timeout")).toBe(ms);
});

test.each(["", "0", "-1s", "5d", "s", "1e3", "99999999m"])("rejects %j as a duration", (text) => {
  expect(() => parseDuration(text, "--timeout")).toThrow("--timeout");
});

test("accepts a duration up to the range of a timer, and names the maximum for a longer one", () => {
  expect(parseDuration("596h", "--for")).toBe(596 * 3_600_000);
  expect(() => parseDuration("597h", "--for")).toThrow(
    '--for "597h" exceeds the maximum. Use at most 596h (24.8 days).',
  );
});
