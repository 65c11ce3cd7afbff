import { expect, test } from "vitest";
import { percent, perSecond } from "./number-text.js";

test("formats rates and percentages with a sensible number of digits", () => {
  expect([undefined, 0, 0.046, 1.25, 12.36, 1234.6].map(perSecond)).toEqual(["–", "0", "0.05", "1.3", "12.4", "1,235"]);
  expect([percent(0, 0), percent(0, 9), percent(1, 125), percent(1, 9), percent(1n, 10_000n)]).toEqual([
    "–",
    "0 %",
    "0.8 %",
    "11 %",
    "< 0.1 %",
  ]);
});
