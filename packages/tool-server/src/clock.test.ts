import { expect, onTestFinished, test } from "vitest";
import { systemClock, untilAborted } from "./clock.js";

test("does not wake at once after a delay that is longer than a timer of Node can be", async () => {
  let isAwake = false;
  const cancel = systemClock.after(Number.POSITIVE_INFINITY, () => {
    isAwake = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  cancel();
  expect(isAwake).toBe(false);
});

test("handles the rejection of a promise that nobody waits for, because the signal has aborted before", async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", onUnhandled);
  onTestFinished(() => void process.off("unhandledRejection", onUnhandled));
  const reason = new Error("aborted");
  const failing = Promise.reject(new Error("late"));
  await expect(untilAborted(failing, AbortSignal.abort(reason))).rejects.toBe(reason);
  // Node reports unhandled rejections after the microtasks of a turn.
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});
