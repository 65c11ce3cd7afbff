import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FormNode } from "./form-node.js";
import { schemaToForm } from "./schema-to-form.js";

/** The node of a form at a path of field names. */
function at(node: FormNode, ...names: readonly string[]): FormNode | undefined {
  return names.reduce<FormNode | undefined>(
    (inner, name) => (inner?.kind === "group" ? inner.fields.find((field) => field.name === name)?.node : undefined),
    node,
  );
}

/** The form of one property. */
function formOf(property: unknown, rest: object = {}): FormNode | undefined {
  return at(schemaToForm({ type: "object", properties: { x: property }, ...rest }), "x");
}

function sizeOf(node: FormNode): number {
  switch (node.kind) {
    case "group":
      return 1 + node.fields.reduce((sum, field) => sum + sizeOf(field.node), 0);
    case "list":
      return 1 + sizeOf(node.item);
    case "variants":
      return 1 + node.variants.reduce((sum, variant) => sum + sizeOf(variant), 0);
    default:
      return 1;
  }
}

describe("the form of a schema", () => {
  test("a form has a field for each kind of value", () => {
    expect(formOf({ type: "string", format: "email", maxLength: 9 })).toEqual({
      kind: "text",
      format: "email",
      maxLength: 9,
    });
    expect(formOf({ type: "integer", minimum: 1, maximum: 5 })).toEqual({
      kind: "number",
      isInteger: true,
      min: 1,
      max: 5,
    });
    expect(formOf({ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 })).toEqual({
      kind: "number",
      isInteger: false,
      above: 0,
      below: 1,
    });
    expect(formOf({ type: "boolean", default: true, title: "Loud" })).toEqual({
      kind: "boolean",
      default: true,
      title: "Loud",
    });
    expect(formOf({ enum: ["a", 1, null] })).toMatchObject({
      kind: "choice",
      options: [{ label: "a" }, { label: "1" }, { label: "null" }],
    });
    expect(formOf({ const: 7 })).toEqual({ kind: "constant", value: 7 });
    expect(formOf({ type: "array", items: { type: "string" }, minItems: 2 })).toMatchObject({
      kind: "list",
      item: { kind: "text" },
      minItems: 2,
    });
    expect(formOf({ type: "array", items: { enum: ["a", "b"] } })).toMatchObject({ kind: "choices" });
    expect(formOf({})).toEqual({ kind: "json" });
    expect(formOf({ type: "object", additionalProperties: { type: "string" } })).toEqual({ kind: "json" });
  });

  test("puts required fields first and keeps the order of the schema otherwise", () => {
    const form = schemaToForm({
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" }, c: { type: "string" } },
      required: ["c"],
    });
    expect(form.kind === "group" && form.fields.map(({ name }) => name)).toEqual(["c", "a", "b"]);
  });

  test("a schema without properties is a form without fields", () => {
    for (const schema of [
      { type: "object" },
      {},
      { type: "object", properties: {} },
      undefined,
      { type: "object", properties: {}, additionalProperties: false },
    ]) {
      expect(schemaToForm(schema)).toMatchObject({ kind: "group", fields: [] });
    }
  });

  test("alternatives are a choice if they are constants, nullable if one is null, and variants otherwise", () => {
    expect(formOf({ oneOf: [{ const: "a", title: "First" }, { const: "b" }] })).toEqual({
      kind: "choice",
      options: [
        { label: "First", value: "a" },
        { label: "b", value: "b" },
      ],
    });
    expect(formOf({ anyOf: [{ type: "number" }, { type: "null" }], title: "Limit" })).toEqual({
      kind: "number",
      isInteger: false,
      isNullable: true,
      title: "Limit",
    });
    expect(formOf({ type: ["string", "null"] })).toEqual({ kind: "text", isNullable: true });
    expect(
      formOf({ anyOf: [{ type: "string" }, { type: "object", properties: { y: { type: "string" } } }] }),
    ).toMatchObject({ kind: "variants", variants: [{ kind: "text" }, { kind: "group" }] });
  });

  test("references and combined schemas are merged", () => {
    const $defs = { name: { type: "string", description: "theirs" }, "a/b": { type: "boolean" } };
    expect(formOf({ $ref: "#/$defs/name", description: "ours" }, { $defs })).toEqual({
      kind: "text",
      description: "ours",
    });
    expect(formOf({ $ref: "#/$defs/a~1b" }, { $defs })).toEqual({ kind: "boolean" });
    const combined = formOf({
      allOf: [
        { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
        { properties: { b: { type: "number" } } },
      ],
    });
    expect(combined).toMatchObject({ kind: "group", fields: [{ name: "a", isRequired: true }, { name: "b" }] });
  });

  test("a reference to nothing, to another document or to itself is edited as JSON", () => {
    for (const $ref of ["#/$defs/none", "https://example.com/schema.json", "#/properties/x", "#/%E0%A4%A"]) {
      expect(formOf({ $ref })).toEqual({ kind: "json" });
    }
    const tree = schemaToForm({
      type: "object",
      properties: { root: { $ref: "#/$defs/node" } },
      $defs: {
        node: {
          type: "object",
          properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
        },
      },
    });
    expect(at(tree, "root", "name")).toEqual({ kind: "text" });
    expect(at(tree, "root", "children")).toMatchObject({ kind: "list", item: { kind: "json" } });
  });

  test("too many options become suggestions, and too many properties JSON", () => {
    const many = Array.from({ length: 50_000 }, (_, index) => `value ${index}`);
    const field = formOf({ enum: many });
    expect(field?.kind === "text" && field.suggestions?.length).toBe(200);
    expect(formOf({ enum: many.map((_, index) => index) })).toEqual({ kind: "json" });
    const properties = Object.fromEntries(many.map((name) => [name, { type: "string" }]));
    expect(schemaToForm({ type: "object", properties })).toEqual({ kind: "json" });
  });

  test("schemas that grow with every reference or are nested deeply have forms of limited size", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `d${index}`,
        { type: "object", properties: { a: { $ref: `#/$defs/d${index + 1}` }, b: { $ref: `#/$defs/d${index + 1}` } } },
      ]),
    );
    expect(sizeOf(schemaToForm({ $ref: "#/$defs/d0", $defs }))).toBeLessThan(1000);
    const combined = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `d${index}`,
        { allOf: Array.from({ length: 30 }, () => ({ $ref: `#/$defs/d${index + 1}` })) },
      ]),
    );
    expect(sizeOf(schemaToForm({ $ref: "#/$defs/d0", $defs: combined }))).toBeLessThan(1000);
    const finite = { ...combined, d8: { type: "object", properties: { a: { type: "string" } } } };
    expect(sizeOf(schemaToForm({ $ref: "#/$defs/d0", $defs: finite }))).toBeLessThan(1000);
    let deep: object = { type: "string" };
    for (let depth = 0; depth < 5000; depth += 1) deep = { type: "array", items: deep };
    expect(sizeOf(schemaToForm({ type: "object", properties: { deep } }))).toBeLessThan(20);
  });

  test("any JSON value has a form of limited size", () => {
    const words = [
      "type",
      "properties",
      "items",
      "anyOf",
      "oneOf",
      "allOf",
      "$ref",
      "enum",
      "const",
      "required",
      "default",
    ];
    const value: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom("string", "object", "array", "null", "#", "#/properties/a", "#/anyOf/0", 1, true, null),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom(...words, "a", "__proto__"), tie("value"), { maxKeys: 5 }),
      ),
    })).value;
    fc.assert(fc.property(value, (schema) => sizeOf(schemaToForm(schema)) < 5000));
  });
});
