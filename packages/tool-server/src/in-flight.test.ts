import fc from "fast-check";
import { expect, test } from "vitest";
import { InFlightMap, InFlightSet } from "./in-flight.js";

const steps = fc.array(fc.record({ adds: fc.boolean(), key: fc.nat(9) }), { maxLength: 60 });

test("an InFlightSet has the items of a Set, in the same order", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const [set, model] = [new InFlightSet<number>(), new Set<number>()];
      for (const { adds, key } of all) {
        expect(set.has(key)).toBe(model.has(key));
        if (!adds) expect(set.delete(key)).toBe(model.delete(key));
        else if (!model.has(key)) {
          set.add(key);
          model.add(key);
        }
        expect([...set]).toEqual([...model]);
        expect(set.size).toBe(model.size);
        expect(set.find((item) => item > 4)).toBe([...model].find((item) => item > 4));
      }
      set.clear();
      expect([...set]).toEqual([]);
    }),
  );
});

test("an InFlightMap has the entries of a Map, in the same order", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const [map, model] = [new InFlightMap<number, object>(), new Map<number, object>()];
      for (const { adds, key } of all) {
        expect(map.get(key)).toBe(model.get(key));
        if (!adds) expect(map.delete(key)).toBe(model.delete(key));
        else if (!model.has(key)) {
          const value = {};
          map.add(key, value);
          model.set(key, value);
        }
        expect(map.entries()).toEqual([...model]);
      }
      map.clear();
      expect(map.entries()).toEqual([]);
    }),
  );
});

test("a loop over a set visits the items that it had at the start", () => {
  const set = new InFlightSet<number>();
  for (const item of [1, 2, 3]) set.add(item);
  const visited: number[] = [];
  for (const item of set) {
    visited.push(item);
    set.delete(item);
    set.add(item + 10);
  }
  expect(visited).toEqual([1, 2, 3]);
  expect([...set]).toEqual([11, 12, 13]);
});
