import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonNodeToValue, parseJsonWithPositions } from "../config/json-with-positions.js";
import { canonicalJson } from "./canonical-json.js";

function shuffled(value: unknown, order: (keys: string[]) => string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, order));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(order(Object.keys(value)).map((key) => [key, shuffled(Object(value)[key], order)]));
}

const json = fc.jsonValue({ maxDepth: 4 });
// Of so few that two are often the same, or nearly.
const near = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, 0, -0, 1, "", "0", "a"),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b"), tie("value"), { maxKeys: 2, noNullPrototype: true }),
  ),
})).value;

test("[TS-D-TRUST-3] the order of keys makes no difference, at any depth", () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(canonicalJson(shuffled(value, (keys) => keys.toReversed()))).toBe(canonicalJson(value));
      expect(canonicalJson(shuffled(value, (keys) => keys.toSorted()))).toBe(canonicalJson(value));
    }),
  );
});

test("[TS-D-TRUST-3] two values have one form only if they are the same value", () => {
  fc.assert(
    fc.property(near, near, (a, b) => {
      expect(canonicalJson(a) === canonicalJson(b)).toBe(isDeepStrictEqual(a, b));
    }),
    { numRuns: 2_000 },
  );
});

test("[TS-D-TRUST-3] the order of a list, a key called __proto__ and every kind of value make a difference", () => {
  const texts = [
    '["a", "b"]',
    '["b", "a"]',
    '["a,b"]',
    '["a", ["b"]]',
    '{"__proto__": 1}',
    '{"__proto__": 2}',
    "{}",
    "[]",
    "null",
    '"null"',
    "0",
    "-0",
    '"0"',
    "1e999",
    "-1e999",
    '"\\ud800"',
    '"\\ud801"',
    '"\\ufffd"',
    '"\u00e9"',
    '"e\u0301"',
    '{"a": {"b": 1}}',
    '{"a": 1, "b": 1}',
  ];
  const forms = texts.map((text) => {
    const { root } = parseJsonWithPositions(text);
    return canonicalJson(root && jsonNodeToValue(root));
  });
  expect(new Set(forms).size).toBe(texts.length);
});

test("what JSON does not have is refused", () => {
  expect(() => canonicalJson(undefined)).toThrow(TypeError);
  expect(() => canonicalJson({ a: Number.NaN })).toThrow(TypeError);
});
