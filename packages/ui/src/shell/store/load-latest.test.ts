import { expect, test } from "vitest";
import { createLatestLoader } from "./load-latest.js";

test("loads the first and the last of many requests, and survives a failure", async () => {
  const loaded: number[] = [];
  const waiting: ((error?: Error) => void)[] = [];
  const load = createLatestLoader<number>((what) => {
    loaded.push(what);
    return new Promise((resolve, reject) => waiting.push((error) => (error === undefined ? resolve() : reject(error))));
  });
  for (const what of [1, 2, 3]) load(what);
  expect(loaded).toEqual([1]);
  waiting.shift()?.(new Error("failed"));
  await expect.poll(() => loaded).toEqual([1, 3]);
  waiting.shift()?.();
  await expect.poll(() => waiting.length).toBe(0);
  await new Promise((resolve) => setTimeout(resolve));
  load(4);
  expect(loaded).toEqual([1, 3, 4]);
});
