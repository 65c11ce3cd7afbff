import { describe, expect, test } from "vitest";
import { validateValue } from "./validate-value.js";

describe("validation by a schema", () => {
  const schema = {
    type: "object",
    properties: {
      age: { type: "integer", minimum: 0 },
      code: { type: "string", pattern: "^[A-Z]{3}$" },
      shape: {
        oneOf: [{ type: "string" }, { type: "object", properties: { r: { type: "number" } }, required: ["r"] }],
      },
      list: { type: "array", items: { type: "string", maxLength: 2 } },
    },
    required: ["age"],
  };

  test("a value that matches its schema has no errors", () => {
    expect(validateValue(schema, { age: 3, code: "ABC", shape: { r: 1 }, list: ["a"] })).toEqual([]);
    expect(validateValue(undefined, 1)).toEqual([]);
  });

  test("reports each error once, at its value", () => {
    const problems = validateValue(schema, { age: -1, code: "abc", shape: 5, list: ["a", "long"] });
    expect(problems.map(({ pointer }) => pointer).sort()).toEqual(["/age", "/code", "/list/1", "/shape"]);
    expect(problems.find(({ pointer }) => pointer === "/shape")?.message).toContain("alternatives");
    expect(validateValue(schema, {})).toMatchObject([{ pointer: "", message: expect.stringContaining("age") }]);
    expect(validateValue({ anyOf: [{ type: "string" }, { type: "null" }] }, 5)).toEqual([
      { pointer: "", message: "Does not match any of the alternatives." },
    ]);
  });

  test("names the rule of a pattern in the words of its schema", () => {
    const zip = { type: "string", pattern: "^\\d{5}$", description: "Five digits" };
    expect(validateValue({ properties: { zip: { $ref: "#/$defs/zip" } }, $defs: { zip } }, { zip: "12" })).toEqual([
      { pointer: "/zip", message: "Does not match: Five digits" },
    ]);
    expect(validateValue({ type: "string", pattern: "^a$" }, "b")[0]?.message).toContain("^a$");
  });

  test("names the values that distinguish alternatives, and reports only the errors of the one that is meant", () => {
    const card = { properties: { kind: { const: "card" }, number: { type: "string" } }, required: ["kind", "number"] };
    const bank = { properties: { kind: { const: "bank" }, iban: { type: "string" } }, required: ["kind", "iban"] };
    const pay = { properties: { by: { oneOf: [card, { $ref: "#/$defs/bank" }] } }, $defs: { bank } };
    expect(validateValue(pay, { by: { kind: "cash" } })).toEqual([
      { pointer: "/by", message: 'kind must be "card" or "bank".' },
    ]);
    expect(validateValue(pay, { by: { kind: "bank", iban: 5 } })).toMatchObject([{ pointer: "/by/iban" }]);
  });

  test("limits the number and the length of the reported errors", () => {
    const list = Array.from({ length: 500 }, () => "x".repeat(5000));
    const problems = validateValue({ type: "array", items: { enum: ["a"] } }, list);
    expect(problems.length).toBeLessThanOrEqual(20);
    expect(problems.every(({ message }) => message.length <= 301)).toBe(true);
  });
});
