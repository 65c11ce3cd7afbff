import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { LockTimeout, takeNext, withGenerationLock } from "./generation-lock.js";
import { createFolder } from "./trust.test.helper.js";

async function lockedFile(): Promise<{
  file: string;
  locks: () => Promise<string[]>;
  lock: (number: number, text: string, ageMs?: number) => Promise<void>;
}> {
  const { path } = await createFolder();
  const file = join(path, "f");
  return {
    file,
    locks: async () => (await readdir(path)).toSorted(),
    async lock(number, text, ageMs = 0) {
      await writeFile(`${file}.lock.${number}`, text);
      const time = (Date.now() - ageMs) / 1000;
      await utimes(`${file}.lock.${number}`, time, time);
    },
  };
}

const owner = (more: object = {}): string =>
  JSON.stringify({ pid: process.ppid, host: hostname(), token: "t", ...more });

test("one at a time, however many wait, and one small file is left", async () => {
  const { file, locks } = await lockedFile();
  let inside = 0;
  let runs = 0;
  await Promise.all(
    Array.from({ length: 12 }, () =>
      withGenerationLock(file, 20_000, async (lock) => {
        inside += 1;
        expect(inside).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        expect(await lock.isHeld()).toBe(true);
        inside -= 1;
        runs += 1;
      }),
    ),
  );
  expect(runs).toBe(12);
  expect(await locks()).toEqual(["f.lock.12"]);
  expect(await readFile(`${file}.lock.12`, "utf8")).toBe("free\n");
});

test("a body that fails lets go of the lock, and its failure comes through", async () => {
  const { file } = await lockedFile();
  await expect(withGenerationLock(file, 100, () => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
  expect(await withGenerationLock(file, 100, () => Promise.resolve("next"))).toBe("next");
});

test.each([
  ["of a living process", owner(), 0],
  ["of another machine", owner({ host: "elsewhere", pid: 999_999_999 }), 0],
  ["that is not yet written to", "", 0],
])("a lock %s is waited for, and told when it does not end", async (_, text, ageMs) => {
  const { file, lock, locks } = await lockedFile();
  await lock(4, text, ageMs);
  const body = vi.fn(() => Promise.resolve());
  await expect(withGenerationLock(file, 50, body)).rejects.toThrow(LockTimeout);
  expect(body).not.toHaveBeenCalled();
  expect(await locks()).toEqual(["f.lock.4"]);
});

test.each([
  ["whose process is no more", owner({ pid: 999_999_999 }), 0],
  ["of another machine that is too old", owner({ host: "elsewhere" }), 120_000],
  ["of a living process that is too old to be its own", owner(), 120_000],
  ["of an earlier process with our own number", owner({ pid: process.pid }), 10_000],
  ["that was never written to", "", 10_000],
  ["that was cut off", '{"pid": 1', 10_000],
  ["that is free", "free\n", 0],
])("a lock %s is passed", async (_, text, ageMs) => {
  const { file, lock, locks } = await lockedFile();
  await lock(4, text, ageMs);
  expect(await withGenerationLock(file, 50, () => Promise.resolve("done"))).toBe("done");
  expect(await locks()).toEqual(["f.lock.5"]);
});

test("who was passed learns that the lock is lost", async () => {
  const { file, lock } = await lockedFile();
  await withGenerationLock(file, 50, async (held) => {
    expect(await held.isHeld()).toBe(true);
    await lock(2, owner());
    expect(await held.isHeld()).toBe(false);
  });
  expect(await readFile(`${file}.lock.2`, "utf8")).toBe(owner());
});

test("who acts on an old view, and finds the name free that others have used and cleaned up, does not get the lock", async () => {
  const { file, locks } = await lockedFile();
  for (let run = 0; run < 3; run += 1) await withGenerationLock(file, 50, () => Promise.resolve());
  expect(await locks()).toEqual(["f.lock.3"]);
  const us = { pid: process.pid, host: hostname(), token: "us" };
  expect(await takeNext(file, 1, us)).toBe(false);
  expect(await takeNext(file, 2, us)).toBe(false);
  expect(await locks()).toEqual(["f.lock.3"]);
  expect(await takeNext(file, 3, us)).toBe(true);
  expect(await locks()).toEqual(["f.lock.4"]);
});

test("names that only look like locks are left alone", async () => {
  const { file, locks } = await lockedFile();
  for (const name of ["0", "07", "x", "1e3", "99999999999999999999"]) await writeFile(`${file}.lock.${name}`, "");
  await withGenerationLock(file, 50, () => Promise.resolve());
  expect(await locks()).toHaveLength(6);
});
