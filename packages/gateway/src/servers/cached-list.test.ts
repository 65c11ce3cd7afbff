import { describe, expect, test } from "vitest";
import { createCachedList, type LoadedList } from "./cached-list.js";

/** A list whose loads and clock the test controls. */
function setUp(ttlMs = Number.POSITIVE_INFINITY) {
  const loads: { onSending(): void; resolve(items: string[]): Promise<void>; reject(reason: Error): Promise<void> }[] =
    [];
  const unavailable: unknown[] = [];
  const wakes = new Set<{ at: number; wake(): void }>();
  let now = 0;
  let changes = 0;
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  const list = createCachedList<string>({
    limitMs: 100,
    clock: {
      now: () => now,
      after(delayMs, wake) {
        const timer = { at: now + delayMs, wake };
        wakes.add(timer);
        return () => wakes.delete(timer);
      },
    },
    load: (onSending) =>
      new Promise<LoadedList<string>>((resolve, reject) => {
        loads.push({
          onSending,
          async resolve(items) {
            resolve({ items, ttlMs });
            await settle();
          },
          async reject(reason) {
            reject(reason);
            await settle();
          },
        });
      }),
    onChanged: () => (changes += 1),
    onUnavailable: (reason) => void unavailable.push(reason),
  });
  return {
    list,
    loads,
    unavailable,
    changes: () => changes,
    timers: wakes,
    async pass(ms: number) {
      now += ms;
      for (const timer of [...wakes]) {
        if (timer.at > now) continue;
        wakes.delete(timer);
        timer.wake();
      }
      await settle();
    },
  };
}

describe("lists", () => {
  test("loads a list once for concurrent callers, and then caches it", async () => {
    const { list, loads, changes, timers } = setUp();
    const asked = [list.get(), list.get(), list.get()];
    expect(loads).toHaveLength(1);
    await loads[0]?.resolve(["a"]);
    expect(await Promise.all(asked)).toEqual([["a"], ["a"], ["a"]]);
    expect(await list.get()).toEqual(["a"]);
    expect([loads.length, changes(), timers.size]).toEqual([1, 1, 0]);
  });

  test("loads a list again when it may have changed, and uses the cached one meanwhile", async () => {
    const { list, loads, changes } = setUp();
    void list.get();
    await loads[0]?.resolve(["a"]);
    list.invalidate();
    expect(list.cached).toEqual(["a"]);
    const next = list.get();
    await loads[1]?.resolve(["a", "b"]);
    expect(await next).toEqual(["a", "b"]);
    list.invalidate();
    void list.get();
    await loads[2]?.resolve(["a", "b"]);
    expect(changes()).toBe(2);
  });

  test("loads a list again that changed while it was loaded", async () => {
    const { list, loads } = setUp();
    void list.get();
    list.invalidate();
    await loads[0]?.resolve(["old"]);
    void list.get();
    expect(loads).toHaveLength(2);
  });

  test("loads a list again by itself if a caller got one that may have changed meanwhile, and reports the change", async () => {
    const { list, loads, changes } = setUp();
    void list.get();
    await loads[0]?.resolve(["a"]);
    list.invalidate();
    void list.get();
    list.invalidate();
    const notified = list.get();
    await loads[1]?.resolve(["a"]);
    expect([await notified, changes(), loads.length]).toEqual([["a"], 1, 3]);
    await loads[2]?.resolve(["a", "b"]);
    expect([list.cached, changes(), loads.length]).toEqual([["a", "b"], 2, 3]);
  });

  test("loads a list once if it may have changed before the request was sent", async () => {
    const { list, loads } = setUp();
    void list.get();
    list.invalidate();
    void list.get();
    loads[0]?.onSending();
    await loads[0]?.resolve(["a"]);
    expect([await list.get(), loads.length]).toEqual([["a"], 1]);
  });

  test("does not load a list again without a caller if it changes while it is loaded", async () => {
    const { list, loads } = setUp();
    void list.get();
    list.invalidate();
    await loads[0]?.resolve(["a"]);
    expect(loads).toHaveLength(1);
  });

  test("caches a list for its time to live", async () => {
    const { list, loads, pass } = setUp(1000);
    void list.get();
    await loads[0]?.resolve(["a"]);
    await pass(999);
    await list.get();
    expect(loads).toHaveLength(1);
    await pass(1);
    void list.get();
    expect(loads).toHaveLength(2);
  });
});

describe("a slow server", () => {
  test("delays only the first callers, and reports a change when the list of a slow server arrives", async () => {
    const { list, loads, unavailable, changes, pass } = setUp();
    const first = list.get();
    await pass(60);
    const second = list.get();
    await pass(40);
    expect([await first, await second]).toEqual([undefined, undefined]);
    expect(await list.get()).toBeUndefined();
    expect([loads.length, unavailable.length, changes()]).toEqual([1, 1, 0]);
    await loads[0]?.resolve(["late"]);
    expect([list.cached, changes()]).toEqual([["late"], 1]);
  });

  test("uses the cached list of a slow server", async () => {
    const { list, loads, pass } = setUp();
    void list.get();
    await loads[0]?.resolve(["a"]);
    list.invalidate();
    const next = list.get();
    await pass(100);
    expect(await next).toEqual(["a"]);
  });
});

describe("failing servers", () => {
  test("omits and reports a failing server, and requests its list again the next time", async () => {
    const { list, loads, unavailable, changes } = setUp();
    void list.get();
    await loads[0]?.resolve(["a"]);
    list.invalidate();
    const next = list.get();
    const reason = new Error("no");
    await loads[1]?.reject(reason);
    expect([await next, unavailable, changes()]).toEqual([undefined, [reason], 2]);
    void list.get();
    expect(loads).toHaveLength(3);
  });

  test("drops the cached list of a server at clear", async () => {
    const { list, loads, changes } = setUp();
    void list.get();
    await loads[0]?.resolve(["a"]);
    list.clear();
    expect([list.cached, changes()]).toEqual([undefined, 2]);
  });
});
