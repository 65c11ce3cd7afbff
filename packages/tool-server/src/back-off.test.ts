import { expect, test } from "vitest";
import { createBackOff } from "./back-off.js";
import { createFakeClock } from "./fake-clock.test.helper.js";

const limits = { firstMs: 100, maxMs: 800 };
const setUp = () => {
  const clock = createFakeClock();
  const backOff = createBackOff(limits, clock, () => 1);
  /** The delay after a connection that was open this long. */
  const afterLifeOf = (lifetimeMs: number): number => {
    backOff.opened();
    clock.advance(lifetimeMs);
    return backOff.ended();
  };
  return { backOff, afterLifeOf };
};

test("failed attempts double the delay up to the maximum", () => {
  const { backOff } = setUp();
  expect(Array.from({ length: 6 }, () => backOff.ended())).toEqual([100, 200, 400, 800, 800, 800]);
});

test("opening alone resets nothing: a lifetime of up to the current delay doubles it", () => {
  const { afterLifeOf } = setUp();
  expect([0, 100, 200, 399, 800].map(afterLifeOf)).toEqual([100, 200, 400, 800, 800]);
});

test("a lifetime of more than the current delay starts at the first delay again", () => {
  const { afterLifeOf } = setUp();
  expect([0, 0, 201, 0, 201].map(afterLifeOf)).toEqual([100, 200, 100, 200, 100]);
});

test("a lifetime of more than the maximum needs no delay, and is not counted twice", () => {
  const { backOff, afterLifeOf } = setUp();
  expect([0, 0, 801].map(afterLifeOf)).toEqual([100, 200, 0]);
  expect([backOff.ended(), backOff.ended()]).toEqual([100, 200]);
});

test("jitter takes off up to half of the delay", () => {
  const backOff = createBackOff(limits, createFakeClock(), () => 0);
  expect([backOff.ended(), backOff.ended()]).toEqual([50, 100]);
});
