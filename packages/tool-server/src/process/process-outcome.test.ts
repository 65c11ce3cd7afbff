import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLastLines, significantLines } from "./process-outcome.js";

const asIs = (text: string): string => text;

function linesOf(chunks: readonly string[], redact = asIs): readonly string[] {
  const lines = createLastLines();
  for (const chunk of chunks) lines.add(Buffer.from(chunk));
  return lines.read(redact);
}

test("reports whole lines, however they were cut, without empty ones", () => {
  expect(linesOf([" \n\n"])).toEqual([]);
  expect(linesOf(["fi", "rst\n\nsec", "ond\r\n", "third"])).toEqual(["first", "second", "third"]);
});

test("keeps only the last lines, and truncates a long one", () => {
  const lines = linesOf([Array.from({ length: 100_000 }, (_, n) => `line ${n}\n`).join("")]);
  expect(lines).toHaveLength(20);
  expect(lines.at(-1)).toBe("line 99999");
  expect(linesOf(["x".repeat(2000)])).toEqual([`${"x".repeat(499)}…`]);
  expect(linesOf(["x".repeat(200_000)])).toEqual(["[one line of more than 32 KiB]"]);
});

test("reports no part of a secret, wherever the output is cut", () => {
  const secret = "0123456789abcdef";
  const redact = (text: string): string => text.replaceAll(secret, "*");
  fc.assert(
    fc.property(fc.nat(40_000), fc.nat(600), fc.nat(40_000), (before, beside, after) => {
      const text = `${"b".repeat(before)}\n${"x".repeat(beside)}${secret}${"y".repeat(beside)}\n${"z".repeat(after)}\n`;
      const reported = linesOf([text], redact).join("\n");
      expect(reported).not.toMatch(/[0-9]{4}|cdef/);
    }),
    { numRuns: 200 },
  );
});

test("reports nothing that only a secret looks like, although nobody registered it", () => {
  const key = `sk-live-${"a1B2".repeat(8)}`;
  const lines = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEow", "-----END RSA PRIVATE KEY-----", "Error: no key"];
  expect(linesOf([`connecting with token=${key}\n${"x".repeat(490)} ${key}\n`, lines.join("\n")])).toEqual([
    "connecting with token=[redacted]",
    `${"x".repeat(490)} [redacte…`,
    "[redacted]",
    "Error: no key",
  ]);
});

describe("the last output of a process", () => {
  test("reports the last lines of a process", () => {
    expect(significantLines(["one", "two", "three"], 2)).toEqual(["two", "three"]);
    expect(significantLines([], 2)).toEqual([]);
  });

  test("reports the error in front of a stack, as Node writes it", () => {
    const lines = [
      "node:internal/modules/cjs/loader:1210",
      "  throw err;",
      "  ^",
      "Error: Cannot find module '/srv/plugin/server.js'",
      "    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)",
      "    at node:internal/main/run_main_module:28:49 {",
      "  code: 'MODULE_NOT_FOUND',",
      "  requireStack: []",
      "}",
      "Node.js v20.20.2",
    ];
    expect(significantLines(lines, 3)).toEqual([
      "Error: Cannot find module '/srv/plugin/server.js'",
      "  code: 'MODULE_NOT_FOUND',",
      "  requireStack: []",
    ]);
  });

  test("reports the last lines if they name the error, as Python writes it", () => {
    const lines = [
      "Traceback (most recent call last):",
      '  File "server.py", line 1, in <module>',
      "    import nothing",
      "ModuleNotFoundError: No module named 'nothing'",
    ];
    expect(significantLines(lines, 2)).toEqual(lines.slice(-2));
  });

  test("does not mistake a stack frame that names an error for the error", () => {
    const lines = ["    at new ConfigError (config.js:10:5)", "    at main (index.js:3:1)", "done"];
    expect(significantLines(lines, 1)).toEqual(["done"]);
  });
});
