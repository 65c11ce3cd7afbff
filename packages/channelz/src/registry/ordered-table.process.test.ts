import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OrderedTable } from "./ordered-table.js";

function visit(table: OrderedTable<{ id: number }>, startId: number, limit: number): { ids: number[]; isEnd: boolean } {
  const ids: number[] = [];
  const isEnd = table.visitFrom(startId, ({ id }) => {
    if (ids.length === limit) return false;
    ids.push(id);
    return true;
  });
  return { ids, isEnd };
}

describe("OrderedTable", () => {
  test("behaves like a sorted list, whatever is added, removed and looked up in whatever order", () => {
    const operation = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant("append" as const), count: fc.integer({ min: 1, max: 300 }) }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant("removeRun" as const), from: fc.nat(), count: fc.nat(400) }),
      },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("removeOne" as const), at: fc.nat() }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("insertBack" as const), at: fc.nat() }) },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant("read" as const), startId: fc.nat(5000), limit: fc.nat(300) }),
      },
    );
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const table = new OrderedTable<{ id: number }>();
        const model = new Set<number>();
        const removed: number[] = [];
        let lastId = 0;
        const sorted = (): number[] => [...model].sort((a, b) => a - b);
        const remove = (id: number): void => {
          expect(table.delete(id)).toBe(true);
          model.delete(id);
          removed.push(id);
        };
        for (const step of operations) {
          if (step.kind === "append") {
            for (let i = 0; i < step.count; i += 1) {
              lastId += 1;
              table.add({ id: lastId });
              model.add(lastId);
            }
          } else if (step.kind === "removeRun") {
            const ids = sorted();
            const from = ids.length === 0 ? 0 : step.from % ids.length;
            for (const id of ids.slice(from, from + step.count)) remove(id);
          } else if (step.kind === "removeOne") {
            const ids = sorted();
            if (ids.length > 0) remove(ids[step.at % ids.length]!);
          } else if (step.kind === "insertBack") {
            const id = removed.splice(removed.length === 0 ? 0 : step.at % removed.length, 1)[0];
            if (id !== undefined) {
              table.add({ id });
              model.add(id);
            }
          } else {
            const ids = sorted().filter((id) => id >= step.startId);
            const seen = visit(table, step.startId, step.limit);
            expect(seen.ids).toEqual(ids.slice(0, step.limit));
            expect(seen.isEnd).toBe(ids.length <= step.limit);
          }
          expect(table.size).toBe(model.size);
        }
        expect([...table].map(({ id }) => id)).toEqual(sorted());
        expect(removed.filter((id) => table.get(id) !== undefined)).toEqual([]);
        expect([...model].filter((id) => table.get(id)?.id !== id)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  describe("memory", () => {
    const heapInUse = (): number => {
      globalThis.gc?.();
      return process.memoryUsage().heapUsed;
    };
    const filled = (count: number): OrderedTable<{ id: number }> => {
      const table = new OrderedTable<{ id: number }>();
      for (let id = 1; id <= count; id += 1) table.add({ id });
      return table;
    };

    test("needs little memory after removals, whether the oldest or the newest go first", () => {
      const before = heapInUse();
      const tables = [filled(100_000), filled(100_000)];
      for (let id = 1; id <= 100_000; id += 1) {
        tables[0]!.delete(id);
        tables[1]!.delete(100_001 - id);
      }
      // Blocks that were kept empty would be 800 kB each time.
      expect(heapInUse() - before).toBeLessThan(300_000);
      expect(tables.map(({ size }) => size)).toEqual([0, 0]);
    });

    test("needs no memory for the gaps between the few that remain", () => {
      const before = heapInUse();
      const table = filled(300_000);
      for (let id = 1; id <= 300_000; id += 1) if (id % 100 !== 0) table.delete(id);
      // Without their gaps closed, they would have 800 bytes each.
      expect((heapInUse() - before) / table.size).toBeLessThan(200);
      expect(table.size).toBe(3000);
    });
  });

  test("reports that nothing was removed for an unknown id", () => {
    const table = new OrderedTable<{ id: number }>();
    expect(table.delete(1)).toBe(false);
    table.add({ id: 2 });
    expect(table.delete(1)).toBe(false);
    expect(table.delete(3)).toBe(false);
    expect(table.size).toBe(1);
  });
});
