import { createSecretRegistry } from "@wirescope/tool-server";
import { expect, test } from "vitest";
import { redactedJson } from "./redacted-json.js";

const secrets = createSecretRegistry();
const known = "a-secret-of-this-test";
secrets.add(known);
const jsonOf = (value: unknown, limit = 65_536) => redactedJson(value, (text) => secrets.redact(text), limit);

test("redacts secrets by value, by member name and by shape, also in keys and encodings", () => {
  const value = {
    plain: `before ${known} after`,
    encoded: Buffer.from(`x ${known} y`).toString("base64"),
    [known]: 1,
    list: [{ apiKey: "short", count: 3 }],
    text: `github ghp_${"aB3d".repeat(9)} and postgres://app:pass-word@host/db`,
  };
  const { text, isTruncated } = jsonOf(value);
  for (const hidden of [known, "short", "ghp_", "pass-word"]) expect(text).not.toContain(hidden);
  expect(JSON.parse(text)).toMatchObject({
    plain: "before [redacted] after",
    list: [{ apiKey: "[redacted]", count: 3 }],
  });
  expect(text).not.toContain(Buffer.from(known).toString("base64").slice(4, 16));
  expect(isTruncated).toBe(false);
});

test("leaves no part of a secret where a long string is truncated", () => {
  for (const before of [16_384 - known.length + 3, 16_384 - 1, 16_384]) {
    const { text, isTruncated } = jsonOf("-".repeat(before) + known + "-".repeat(50_000));
    expect(text).not.toContain(known.slice(0, 2));
    expect(isTruncated).toBe(true);
  }
});

test("stays valid JSON and small for values that are huge, deep or have odd members", () => {
  let deep: unknown = "end";
  for (let depth = 0; depth < 10_000; depth += 1) deep = [deep];
  const odd = JSON.parse('{"__proto__":{"polluted":true},"constructor":"c"}') as object;
  const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, "v".repeat(50)]));
  for (const value of [deep, wide, Array(1e6).fill(0), "x".repeat(5_000_000)]) {
    const { text, isTruncated } = jsonOf(value, 4096);
    expect(text.length).toBeLessThan(40_000);
    expect(() => JSON.parse(text)).not.toThrow();
    expect(isTruncated).toBe(true);
  }
  expect(jsonOf(odd).text).toBe('{"__proto__":{"polluted":true},"constructor":"c"}');
});
