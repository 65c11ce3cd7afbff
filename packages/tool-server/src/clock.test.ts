import { expect, test } from "vitest";
import { systemClock } from "./clock.js";

test("does not wake at once after a delay that is longer than a timer of Node can be", async () => {
  let isAwake = false;
  const cancel = systemClock.after(Number.POSITIVE_INFINITY, () => {
    isAwake = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  cancel();
  expect(isAwake).toBe(false);
});
