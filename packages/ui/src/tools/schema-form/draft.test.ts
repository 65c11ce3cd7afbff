import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Draft, draftValue } from "./draft.js";
import { draftOf, initialDraft } from "./draft-of.js";
import { schemaToForm } from "./schema-to-form.js";

const person = {
  type: "object",
  properties: {
    name: { type: "string" },
    age: { type: "integer", minimum: 0 },
    role: { enum: ["admin", "guest"], default: "guest" },
    tags: { type: "array", items: { type: "string" } },
    address: {
      type: "object",
      properties: { street: { type: "string" }, town: { type: "string" } },
      required: ["town"],
    },
    limit: { anyOf: [{ type: "number" }, { type: "null" }] },
    extra: {},
  },
  required: ["name", "limit"],
};

describe("what is typed into a form", () => {
  const form = schemaToForm(person);
  /** Fields in the order of the form: required ones first. */
  const draft = (fields: Partial<Record<string, Draft>>): Draft => {
    if (form.kind !== "group") throw new Error("not a group");
    const initial = initialDraft(form) as readonly Draft[];
    return form.fields.map(({ name }, index) => fields[name] ?? initial[index] ?? "");
  };

  test("fields become arguments; an empty one is omitted, or null if it is required and nullable", () => {
    expect(draftValue(form, draft({ name: "Ada", tags: ["a", "b"], extra: '{"x":[1]}' }))).toEqual({
      value: { name: "Ada", limit: null, role: "guest", tags: ["a", "b"], extra: { x: [1] } },
      problems: [],
    });
  });

  test("reports a missing or malformed value at its field", () => {
    expect(draftValue(form, draft({ age: "1.5", extra: "{", address: ["", "Main"] })).problems).toEqual([
      { pointer: "/name", message: "Required." },
      { pointer: "/age", message: "Enter a whole number." },
      { pointer: "/address/town", message: "Required." },
      { pointer: "/extra", message: expect.stringContaining("Not valid JSON") },
    ]);
    expect(draftValue(form, draft({ name: "x", age: "12345678901234567890" })).problems).toMatchObject([
      { pointer: "/age" },
    ]);
    for (const text of ["one", "0x10", "1,5", "Infinity"]) {
      expect(draftValue(form, draft({ name: "x", age: text })).problems).toMatchObject([{ pointer: "/age" }]);
    }
  });

  test("a value that the form cannot express has no draft", () => {
    expect(draftOf(form, { name: "x", limit: 1, unknown: 1 })).toBeUndefined();
    expect(draftOf(form, { name: "x", limit: 1, role: "owner" })).toBeUndefined();
    expect(draftOf(form, { name: 3, limit: 1 })).toBeUndefined();
    expect(draftOf(form, [])).toBeUndefined();
  });

  test("names such as __proto__ are plain members", () => {
    const odd = schemaToForm(JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'));
    const { value } = draftValue(odd, ["x"]);
    expect(Object.keys(value as object)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test("a default that does not match its schema is ignored", () => {
    const odd = schemaToForm({ type: "object", properties: { a: { type: "integer", default: "many" } } });
    expect(initialDraft(odd)).toEqual([""]);
  });
});

/** A schema, and a value that it allows. */
const described: fc.Arbitrary<{ schema: object; value: unknown }> = fc.letrec<{
  pair: { schema: object; value: unknown };
}>((tie) => ({
  pair: fc.oneof(
    { maxDepth: 3 },
    fc.string({ minLength: 1 }).map((value) => ({ schema: { type: "string" }, value })),
    fc.integer().map((value) => ({ schema: { type: "integer" }, value })),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((value) => !Object.is(value, -0) && (!Number.isInteger(value) || Number.isSafeInteger(value)))
      .map((value) => ({ schema: { type: "number" }, value })),
    fc.boolean().map((value) => ({ schema: { type: "boolean" }, value })),
    fc.uniqueArray(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { minLength: 1 }).map((values) => ({
      schema: { enum: values },
      value: values[0],
    })),
    fc.jsonValue().map((value) => ({ schema: {}, value })),
    fc.array(tie("pair"), { maxLength: 3 }).map((pairs) => ({
      schema: { type: "array", items: pairs[0]?.schema ?? { type: "string" } },
      value: pairs[0] === undefined ? [] : [pairs[0].value, pairs[0].value],
    })),
    fc
      .uniqueArray(fc.tuple(fc.string(), fc.boolean(), tie("pair")), { selector: ([name]) => name, maxLength: 4 })
      .map((members) => ({
        schema: {
          type: "object",
          properties: Object.fromEntries(members.map(([name, , { schema }]) => [name, schema])),
          required: members.flatMap(([name, isRequired]) => (isRequired ? [name] : [])),
          additionalProperties: false,
        },
        value: Object.fromEntries(members.map(([name, , { value }]) => [name, value])),
      })),
  ),
})).pair;

describe("a form and the values of its schema", () => {
  test("a value that can be shown in the form is sent unchanged, without an error", () => {
    fc.assert(
      fc.property(described, ({ schema, value }) => {
        const form = schemaToForm({ type: "object", properties: { value: schema }, required: ["value"] });
        const draft = draftOf(form, { value });
        if (draft !== undefined) expect(draftValue(form, draft)).toEqual({ value: { value }, problems: [] });
      }),
    );
  });

  test("required scalars, lists and groups of them can always be shown", () => {
    const scalar = fc.oneof(fc.string({ minLength: 1 }), fc.integer(), fc.boolean());
    const typeOf = (value: unknown): object => ({ type: typeof value === "number" ? "integer" : typeof value });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), scalar), fc.array(fc.integer()), (members, list) => {
        const properties = Object.fromEntries(Object.entries(members).map(([name, value]) => [name, typeOf(value)]));
        const schema = {
          type: "object",
          properties: {
            members: { type: "object", properties, required: Object.keys(members), additionalProperties: false },
            list: { type: "array", items: { type: "integer" } },
          },
          required: ["members", "list"],
        };
        const form = schemaToForm(schema);
        const draft = draftOf(form, { members, list });
        expect(draft).toBeDefined();
        expect(draftValue(form, draft ?? "").value).toEqual({ members, list });
      }),
    );
  });

  test("any draft, even of another form, has a value or an error", () => {
    const draft: fc.Arbitrary<Draft> = fc.letrec<{ draft: Draft }>((tie) => ({
      draft: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.array(tie("draft"), { maxLength: 3 }),
        fc.record({ variant: fc.integer({ min: -2, max: 3 }), draft: tie("draft") }),
      ),
    })).draft;
    fc.assert(
      fc.property(described, draft, ({ schema }, typed) => {
        const { value, problems } = draftValue(schemaToForm(schema), typed);
        expect(value !== undefined || problems.length > 0).toBe(true);
      }),
    );
  });
});
