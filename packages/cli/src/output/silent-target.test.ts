import { expect, test } from "vitest";
import { silentTarget } from "./silent-target.js";

const error = "127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1.";

test.each([
  ["", "127.0.0.1:1", error],
  ["127.0.0.1:1", "127.0.0.1:1", error],
  ["orders", "127.0.0.1:1", `orders: ${error}`],
  ["", "", error],
])("names a target that does not respond once: name %j, address %j", (name, target, expected) => {
  expect(silentTarget({ name, target, error })).toBe(expected);
});

test("names a target whose reason does not", () => {
  expect(silentTarget({ name: "", target: "127.0.0.1:1", error: "The read timed out." })).toBe(
    "127.0.0.1:1: The read timed out.",
  );
});
