import { expect, test } from "vitest";
import { createAdmission } from "./admission.js";

test("so many are in at once", () => {
  const admission = createAdmission({ concurrency: 2, rate: Number.POSITIVE_INFINITY });
  expect([admission.enter(), admission.enter(), admission.enter()]).toEqual([undefined, undefined, "concurrency"]);
  admission.leave();
  expect([admission.enter(), admission.inFlight]).toEqual([undefined, 2]);
});

test("so many come in a second, and twice as many at once", () => {
  let now = 0;
  const admission = createAdmission({ concurrency: 1000, rate: 10, now: () => now });
  const come = (count: number): number =>
    Array.from({ length: count }, admission.enter).filter((full) => full === undefined).length;
  expect(come(30)).toBe(20);
  now = 500;
  expect(come(30)).toBe(5);
  now = 60_000;
  expect(come(30)).toBe(20);
});
