import fc from "fast-check";
import { expect, test } from "vitest";
import { BytePieces } from "./byte-pieces.js";

test("joins pieces, whatever their number and length, again and again", () => {
  const pieces = new BytePieces();
  const groups = fc.array(fc.tuple(fc.nat(600), fc.nat(3000)), { maxLength: 5 });
  fc.assert(
    fc.property(groups, (parts) => {
      const all: Buffer[] = [];
      for (const [count, length] of parts)
        for (let index = 0; index < count; index += 1) all.push(Buffer.alloc(index % 7 === 0 ? length : 1, index));
      for (const piece of all) pieces.push(piece);
      expect(pieces.isEmpty).toBe(all.length === 0);
      expect(pieces.take().equals(Buffer.concat(all))).toBe(true);
      expect(pieces.isEmpty).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("keeps a million pieces of one byte as a few thousand, and does not copy large ones", () => {
  const small = new BytePieces();
  for (let index = 0; index < 1_000_000; index += 1) small.push(Buffer.of(index % 256));
  expect(small.count).toBeLessThan(5000);
  expect(small.take()).toHaveLength(1_000_000);
  const large = new BytePieces();
  for (let index = 0; index < 1000; index += 1) large.push(Buffer.alloc(2000));
  expect(large.count).toBe(1000);
});
