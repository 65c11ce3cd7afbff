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
