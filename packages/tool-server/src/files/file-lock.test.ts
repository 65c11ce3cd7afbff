import { setMaxListeners } from "node:events";
import { readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../auth/vault/temporary-folder.test.helper.js";
import { steadyClock } from "../clock.js";
import { createFakeClock, type FakeClock } from "../fake-clock.test.helper.js";
import {
  acquireLockFile,
  createLockOwner,
  type HeldLock,
  heartbeatMs,
  heartbeatTimeoutMs,
  type LockOwner,
  livenessOf,
} from "./file-lock.js";

const pollOptions = { interval: 1, timeout: 60_000 };
const never = new AbortController().signal;
setMaxListeners(0, never);

/** An owner that is certainly dead: this process with another start time. */
function deadOwner(): LockOwner {
  return { ...createLockOwner(), start: "1" };
}

/** An owner that cannot be looked up from here. */
function distantOwner(): LockOwner {
  return { ...createLockOwner(), space: "another host" };
}

async function newLock(owner?: LockOwner | string): Promise<string> {
  const path = join(await temporaryFolder(), "x.lock");
  if (owner !== undefined) await writeFile(path, typeof owner === "string" ? owner : JSON.stringify(owner));
  return path;
}

/** Advances the clock in small steps, each time until a timer waits for it again. */
async function advanceInSteps(clock: FakeClock, byMs: number, isOver: () => boolean = () => false): Promise<void> {
  for (let gone = 0; gone < byMs && !isOver(); gone += 100) {
    clock.advance(100);
    await vi.waitFor(() => expect(clock.waiting > 0 || isOver()).toBe(true), pollOptions);
  }
}

async function ownerAt(path: string): Promise<LockOwner> {
  return JSON.parse(await readFile(path, "utf8"));
}

test("a free lock is taken, names its owner, and leaves no file when it is released", async () => {
  const path = await newLock();
  const held = await acquireLockFile(path, { signal: never, clock: steadyClock });
  expect(await ownerAt(path)).toMatchObject({ pid: process.pid });
  expect(await readdir(join(path, ".."))).toEqual(["x.lock"]);
  await held.release();
  expect(await readdir(join(path, ".."))).toEqual([]);
});

describe.runIf(process.platform === "linux")("a dead owner's lock", () => {
  test("the lock of a dead owner is taken over at once, and its file is removed", async () => {
    const path = await newLock(deadOwner());
    const clock = createFakeClock();
    const held = await acquireLockFile(path, { signal: never, clock });
    expect(await readdir(join(path, ".."))).toEqual(["x.lock"]);
    await held.release();
  });

  test("the lock of a dead owner is taken over even if heirs died", async () => {
    const owner = deadOwner();
    const [heir, heirOfHeir] = [deadOwner(), deadOwner()];
    const path = await newLock(owner);
    await writeFile(`${path}.after-${owner.token}`, JSON.stringify(heir));
    await writeFile(`${path}.after-${heir.token}`, JSON.stringify(heirOfHeir));
    const held = await acquireLockFile(path, { signal: never, clock: createFakeClock() });
    expect(await readdir(join(path, ".."))).toEqual(["x.lock"]);
    await held.release();
  });

  test("the lock of a dead owner is left to its heir while the heir is alive", async () => {
    const owner = deadOwner();
    const path = await newLock(owner);
    await writeFile(`${path}.after-${owner.token}`, JSON.stringify(distantOwner()));
    const clock = createFakeClock();
    const controller = new AbortController();
    const taking = acquireLockFile(path, { signal: controller.signal, clock }).catch((error: unknown) => error);
    await vi.waitFor(() => expect(clock.waiting).toBe(1), pollOptions);
    await advanceInSteps(clock, 3_000);
    expect(await ownerAt(path)).toEqual(owner);
    controller.abort("enough");
    expect(await taking).toBe("enough");
  });

  test("gives the lock of a dead owner to exactly one of many processes, even if some read it long ago", async () => {
    const path = await newLock();
    let holders = 0;
    let most = 0;
    const contend = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      const held = await acquireLockFile(path, { signal: never, clock: steadyClock });
      holders += 1;
      most = Math.max(most, holders);
      await new Promise((resolve) => setTimeout(resolve, 1));
      holders -= 1;
      await held.release();
    };
    for (let round = 0; round < 15; round += 1) {
      await writeFile(path, JSON.stringify(deadOwner()));
      await Promise.all(Array.from({ length: 5 }, (_, index) => contend((index * round) % 17)));
      expect(await readdir(join(path, ".."))).toEqual([]);
    }
    expect(most).toBe(1);
  });
});

describe("an owner that cannot be looked up", () => {
  test.each([
    ["belongs to another host", (): LockOwner | string => distantOwner()],
    ["is another thread of this process", (): LockOwner | string => createLockOwner()],
    ["cannot be read", (): LockOwner | string => ""],
  ])("considers an owner that %s dead after the heartbeat time-out, and not before", async (_, owner) => {
    const path = await newLock(owner());
    const clock = createFakeClock();
    let held: HeldLock | undefined;
    const taking = acquireLockFile(path, { signal: never, clock }).then((lock) => {
      held = lock;
    });
    await vi.waitFor(() => expect(clock.waiting).toBe(1), pollOptions);
    await advanceInSteps(clock, heartbeatTimeoutMs - 1_000);
    expect(held).toBeUndefined();
    await advanceInSteps(clock, 2_000, () => held !== undefined);
    await taking;
    await held?.release();
  });

  test("an owner that cannot be looked up keeps the lock while its heartbeat continues", async () => {
    const path = await newLock(distantOwner());
    const clock = createFakeClock();
    const controller = new AbortController();
    const reason = new Error("enough");
    const taking = acquireLockFile(path, { signal: controller.signal, clock }).catch((error: unknown) => error);
    await vi.waitFor(() => expect(clock.waiting).toBe(1), pollOptions);
    for (let beat = 1; beat <= 8; beat += 1) {
      await utimes(path, beat, beat);
      await advanceInSteps(clock, heartbeatTimeoutMs - 5_000);
    }
    controller.abort(reason);
    expect(await taking).toBe(reason);
    expect(clock.waiting).toBe(0);
  });
});

describe("a holder", () => {
  test("the holder of a lock updates its heartbeat", async () => {
    const path = await newLock();
    const clock = createFakeClock();
    const held = await acquireLockFile(path, { signal: never, clock });
    await utimes(path, 1, 1);
    clock.advance(heartbeatMs);
    await vi.waitFor(async () => expect((await stat(path)).mtimeMs).toBeGreaterThan(1000), pollOptions);
    await held.release();
    expect(clock.waiting).toBe(0);
  });

  test("the holder of a lock is notified when others take it, and does not remove it", async () => {
    const path = await newLock();
    const clock = createFakeClock();
    let isLost = false;
    const onLost = (): void => {
      isLost = true;
    };
    const held = await acquireLockFile(path, { signal: never, clock, onLost });
    expect(await held.isHeld()).toBe(true);
    const other = createLockOwner();
    await writeFile(path, JSON.stringify(other));
    expect(await held.isHeld()).toBe(false);
    clock.advance(heartbeatMs);
    await vi.waitFor(() => expect(isLost).toBe(true), pollOptions);
    await held.release();
    expect(await ownerAt(path)).toEqual(other);
  });
});

test("a process is distinguished from a later one with its pid, from a dead one, and from one on another host", () => {
  const own = createLockOwner();
  expect(livenessOf(own)).toBe("unsure");
  expect(livenessOf({ ...own, space: "another host" })).toBe("unsure");
  expect(livenessOf({ ...own, pid: 2 ** 22 + 1 })).toBe("dead");
  if (process.platform !== "linux") return;
  expect(livenessOf({ ...own, start: "1" })).toBe("dead");
  expect(livenessOf({ ...own, pid: process.ppid })).toBe("dead");
});
