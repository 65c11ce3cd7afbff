import fc from "fast-check";
import { expect, test } from "vitest";
import { createLastLines } from "./last-lines.js";

const asIs = (text: string): string => text;

function linesOf(chunks: readonly string[], redact = asIs): readonly string[] {
  const lines = createLastLines();
  for (const chunk of chunks) lines.add(Buffer.from(chunk));
  return lines.read(redact);
}

test("lines are told whole, however they were cut, without empty ones", () => {
  expect(linesOf(["fi", "rst\n\nsec", "ond\r\n", "third"])).toEqual(["first", "second", "third"]);
});

test("only the last lines are kept, and a long one is cut", () => {
  const lines = linesOf([Array.from({ length: 100_000 }, (_, n) => `line ${n}\n`).join("")]);
  expect(lines).toHaveLength(20);
  expect(lines.at(-1)).toBe("line 99999");
  expect(linesOf(["x".repeat(2000)])).toEqual([`${"x".repeat(499)}…`]);
  expect(linesOf(["x".repeat(200_000)])).toEqual(["[one line of more than 32 KiB]"]);
});

test("no part of a secret is told, wherever the output is cut", () => {
  const secret = "0123456789abcdef";
  const redact = (text: string): string => text.replaceAll(secret, "*");
  fc.assert(
    fc.property(fc.nat(40_000), fc.nat(600), fc.nat(40_000), (before, beside, after) => {
      const text = `${"b".repeat(before)}\n${"x".repeat(beside)}${secret}${"y".repeat(beside)}\n${"z".repeat(after)}\n`;
      const told = linesOf([text], redact).join("\n");
      expect(told).not.toMatch(/[0-9]{4}|cdef/);
    }),
    { numRuns: 200 },
  );
});
