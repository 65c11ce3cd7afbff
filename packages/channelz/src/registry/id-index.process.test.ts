import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { IdIndex } from "./id-index.js";

test("finds exactly what was added and not removed, whatever ids were skipped and removed", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("add" as const), count: fc.integer({ min: 1, max: 400 }), gap: fc.nat(600) }),
    fc.record({ kind: fc.constant("removeRun" as const), from: fc.nat(), count: fc.nat(500) }),
    fc.record({ kind: fc.constant("removeOne" as const), at: fc.nat() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const index = new IdIndex<{ id: number }>();
      const held = new Set<number>();
      let lastId = 0;
      const remove = (id: number): void => {
        expect(index.delete(id)).toBe(true);
        expect(index.delete(id)).toBe(false);
        held.delete(id);
      };
      for (const one of steps) {
        if (one.kind === "add") {
          lastId += one.gap;
          for (let i = 0; i < one.count; i += 1) {
            lastId += 1;
            index.add({ id: lastId });
            held.add(lastId);
          }
        } else {
          const ids = [...held];
          const from = ids.length === 0 ? 0 : (one.kind === "removeOne" ? one.at : one.from) % ids.length;
          for (const id of ids.slice(from, from + (one.kind === "removeOne" ? 1 : one.count))) remove(id);
        }
        expect(index.size).toBe(held.size);
      }
      const wrong: number[] = [];
      for (let id = -1; id <= lastId + 1; id += 1) {
        if (index.get(id)?.id !== (held.has(id) ? id : undefined)) wrong.push(id);
      }
      expect(wrong).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

describe("memory of an IdIndex", () => {
  const heapInUse = (): number => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };

  test.each([0, 1000, 300_000])("needs little memory for removed ids after %i more were added", (lag) => {
    const before = heapInUse();
    const index = new IdIndex<{ id: number }>();
    for (let id = 1; id <= 300_000 + lag; id += 1) {
      index.add({ id });
      if (id > lag && (id - lag) % 100 !== 0) index.delete(id - lag);
    }
    // The few that stay would have 800 bytes each in their chunks.
    expect((heapInUse() - before) / (3000 + lag)).toBeLessThan(200);
    expect(index.size).toBe(3000 + lag);
  });

  test("needs no memory for removed ids, even if no other is added", () => {
    const before = heapInUse();
    const index = new IdIndex<{ id: number }>();
    for (let id = 1; id <= 300_000; id += 1) index.add({ id });
    for (let id = 1; id <= 300_000; id += 1) index.delete(id);
    // Empty chunks would be 2.4 MB; other tests of the process may still allocate some hundred kilobytes.
    expect(heapInUse() - before).toBeLessThan(1_200_000);
    expect(index.size).toBe(0);
  });
});

test("forgets an object that is removed after its chunk was freed", () => {
  const index = new IdIndex<{ id: number }>();
  for (let id = 1; id < 256; id += 1) index.add({ id });
  for (let id = 1; id < 250; id += 1) index.delete(id);
  for (let id = 256; id < 1024; id += 1) index.add({ id });
  expect(index.delete(250)).toBe(true);
  expect(index.get(1023)?.id).toBe(1023);
  expect(index.get(250)).toBeUndefined();
  expect(index.get(251)?.id).toBe(251);
});

test("does not find an id that was never added, however odd", () => {
  const index = new IdIndex<{ id: number }>();
  index.add({ id: 1 });
  for (const id of [0, -1, -255, -256, 1.5, Number.NaN, 2 ** 63, -(2 ** 63)]) {
    expect(index.get(id)).toBeUndefined();
    expect(index.delete(id)).toBe(false);
  }
});
