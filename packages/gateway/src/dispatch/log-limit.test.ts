import { expect, test } from "vitest";
import { createLogLimit } from "./log-limit.js";

test("a server says so much to everybody, is told how much was left out, and takes nothing from another", () => {
  let now = 0;
  const limit = createLogLimit<object>(() => now);
  const [flooding, quiet] = [{}, {}];
  const flood = (count: number): number =>
    Array.from({ length: count }, () => limit.pass(flooding)).filter((passed) => passed !== undefined).length;
  expect(flood(1000)).toBe(400);
  expect(limit.pass(quiet)).toBe(0);
  now += 1000;
  expect(limit.pass(flooding)).toBe(600);
  expect(limit.pass(flooding)).toBe(0);
  expect(flood(1000)).toBe(198);
});
