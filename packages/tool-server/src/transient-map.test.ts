import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import { TransientMap, TransientSet } from "./transient-map.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

const operation = fc.record({
  kind: fc.constantFrom("set", "set", "delete", "clear"),
  key: fc.nat(40),
  value: fc.nat(),
});

test("it is as a Map, however often another takes its place", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 600, size: "max" }), (operations) => {
      const map = new TransientMap<number, number>();
      const model = new Map<number, number>();
      for (const { kind, key, value } of operations) {
        if (kind === "delete") expect(map.delete(key)).toBe(model.delete(key));
        else if (kind === "set") {
          map.set(key, value);
          model.set(key, value);
        } else if (key === 0) {
          map.clear();
          model.clear();
        }
        expect(map.size).toBe(model.size);
        expect(map.get(key)).toBe(model.get(key));
        expect(map.has(key)).toBe(model.has(key));
      }
      expect([...map.keys()]).toEqual([...model.keys()]);
      expect([...map.values()]).toEqual([...model.values()]);
    }),
    { numRuns: 50 },
  );
});

test("a set of them goes through what is in it, in the order in which it came", () => {
  const set = new TransientSet<number>();
  for (let item = 0; item < 1000; item += 1) {
    set.add(item);
    if (item >= 3) expect(set.delete(item - 3)).toBe(true);
  }
  expect([...set]).toEqual([997, 998, 999]);
  expect([set.size, set.has(998), set.has(3), set.delete(3)]).toEqual([3, true, false, false]);
  set.clear();
  expect([...set]).toEqual([]);
});

/** How much is left of calls that are over, in bytes, where only the young are collected. */
function keptOf(calls: { add(call: object): void; delete(call: object): unknown }): number {
  // While V8 marks the heap, which takes long on a busy machine, young objects grow old: end that first.
  collect();
  const inFlight: object[] = [];
  const pass = (count: number): void => {
    for (let number = 0; number < count; number += 1) {
      const call = { payload: new Array(128).fill(number) };
      calls.add(call);
      inFlight.push(call);
      if (inFlight.length > 16) calls.delete(inFlight.shift() ?? {});
    }
  };
  pass(100);
  // What is there at a bad moment grows old.
  for (let times = 0; times < 3; times += 1) collect({ type: "minor" });
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < 10; round += 1) {
    pass(1000);
    collect({ type: "minor" });
  }
  return process.memoryUsage().heapUsed - before;
}

test("what is over is not kept until the whole heap is collected, as it is with a Set", () => {
  // 10,000 calls of a kibibyte. A collection of the whole heap, which somebody else may cause, takes the chain away: so the most.
  // Some versions of Node take all for old that one collection leaves: then each of them keeps what the Map of that moment gets.
  const withSet = Math.max(...Array.from({ length: 3 }, () => keptOf(new Set())));
  const withTransient = Math.min(...Array.from({ length: 8 }, () => keptOf(new TransientSet())));
  expect(withSet).toBeGreaterThan(5 * 1024 * 1024);
  expect(withTransient).toBeLessThan(withSet / 2);
});
