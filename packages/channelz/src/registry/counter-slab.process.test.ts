import fc from "fast-check";
import { expect, test } from "vitest";
import { type CounterRow, CounterSlab } from "./counter-slab.js";

function freshRow(): CounterRow {
  return { cells: CounterSlab.none, at: 0 };
}

test("claims rows that are zero and share no cell, whatever was claimed and released before", () => {
  const width = 4;
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 2000 }), (steps) => {
      const slab = new CounterSlab(width);
      const held: { row: CounterRow; mark: number }[] = [];
      let mark = 0;
      for (const [isClaim, pick] of steps) {
        if (isClaim || held.length === 0) {
          const row = freshRow();
          slab.claim(row);
          mark += 1;
          for (let i = 0; i < width; i += 1) {
            expect(row.cells[row.at + i]).toBe(0);
            row.cells[row.at + i] = mark * width + i;
          }
          held.push({ row, mark });
        } else {
          const [released] = held.splice(pick % held.length, 1);
          slab.release(released!.row);
          expect(released!.row.at).toBe(0);
        }
      }
      for (const { row, mark: expected } of held) {
        for (let i = 0; i < width; i += 1) expect(row.cells[row.at + i]).toBe(expected * width + i);
      }
    }),
    { numRuns: 30 },
  );
});

test("frees a chunk when all of its rows are released", () => {
  const slab = new CounterSlab(10);
  const rows = Array.from({ length: 5000 }, freshRow);
  for (const row of rows) slab.claim(row);
  const chunks = new Set(rows.map((row) => row.cells));
  expect(chunks.size).toBeGreaterThan(5);
  for (const row of rows) slab.release(row);
  // What is claimed now comes from the one chunk that was kept, and then from new ones.
  for (const row of rows) slab.claim(row);
  const kept = rows.filter((row) => chunks.has(row.cells));
  expect(new Set(kept.map((row) => row.cells)).size).toBeLessThanOrEqual(2);
});

test("accepts the release of a row that was never claimed", () => {
  const slab = new CounterSlab(4);
  const row = freshRow();
  slab.release(row);
  expect(row.at).toBe(0);
  expect(new Set(CounterSlab.none), "what all objects without a row share").toEqual(new Set([0]));
});

test("claims free rows of any chunk before it adds a chunk", () => {
  const slab = new CounterSlab(4);
  const rows = Array.from({ length: 4 * 511 }, freshRow);
  for (const row of rows) slab.claim(row);
  const chunks = [...new Set(rows.map(({ cells }) => cells))];
  expect(chunks).toHaveLength(4);
  const released = chunks.flatMap((chunk) => rows.filter(({ cells }) => cells === chunk).slice(0, 2));
  // In turns, so that the other chunks are open when each is.
  for (const parity of [0, 1]) for (const row of released.filter((_, i) => i % 2 === parity)) slab.release(row);
  for (const row of released) slab.claim(row);
  expect(new Set(rows.map(({ cells }) => cells))).toEqual(new Set(chunks));
  for (const chunk of chunks) {
    const places = rows.filter(({ cells }) => cells === chunk).map(({ at }) => at);
    expect(new Set(places).size).toBe(511);
    expect(places).not.toContain(0);
  }
});

test("keeps one empty chunk for an object that comes and goes", () => {
  const slab = new CounterSlab(4);
  const row = freshRow();
  slab.claim(row);
  const { cells } = row;
  slab.release(row);
  slab.claim(row);
  expect(row.cells).toBe(cells);
});

test("stores a claimed row in its cells, without a boxed number in its owner", () => {
  // A class for this test alone: once one object of a class has a boxed number, all later ones are created with one.
  class Owner implements CounterRow {
    cells: Float64Array = CounterSlab.none;
    at = 0;
  }
  const heapInUse = (): number => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  const slab = new CounterSlab(4);
  const owners = Array.from({ length: 100_000 }, () => new Owner());
  const before = heapInUse();
  for (const owner of owners) slab.claim(owner);
  // One boxed number each would be 1.6 MB.
  expect(heapInUse() - before).toBeLessThan(800_000);
  expect(owners.every(({ at }) => at > 0)).toBe(true);
});
