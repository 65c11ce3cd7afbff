import fc from "fast-check";
import { expect, test } from "vitest";
import { IdIndex } from "./id-index.js";

test("finds exactly what was added and not removed, whatever ids were skipped and whatever was removed when", () => {
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
      for (let id = -1; id <= lastId + 1; id += 1) expect(index.get(id)?.id).toBe(held.has(id) ? id : undefined);
    }),
    { numRuns: 100 },
  );
});

test("knows no id that never was, however odd", () => {
  const index = new IdIndex<{ id: number }>();
  index.add({ id: 1 });
  for (const id of [0, -1, -255, -256, 1.5, Number.NaN, 2 ** 63, -(2 ** 63)]) {
    expect(index.get(id)).toBeUndefined();
    expect(index.delete(id)).toBe(false);
  }
});
