import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../usage-error.js";
import { parseCallArguments } from "./call-arguments.js";

const schema = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    ratio: { type: "number" },
    loud: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { type: "number" } },
    filter: { type: "object" },
    either: { anyOf: [{ type: "number" }, { type: "null" }] },
    level: { enum: ["low", "high"] },
  },
};
const parse = (...words: string[]): Record<string, unknown> => parseCallArguments(words, schema);

describe("key=value arguments", () => {
  test("converts values by the schema of the tool", () => {
    expect(parse("text=42", "count=3", "ratio=0.5", "loud=true", "level=low")).toEqual({
      text: "42",
      count: 3,
      ratio: 0.5,
      loud: true,
      level: "low",
    });
    expect(parse('filter={"a": 1}', "either=null")).toEqual({ filter: { a: 1 }, either: null });
  });

  test("makes a list of a repeated key, or of a value with commas, if the schema has a list", () => {
    expect(parse("tags=a", "tags=b", "sizes=1", "sizes=2")).toEqual({ tags: ["a", "b"], sizes: [1, 2] });
    expect(parse('tags:=["a,b"]')).toEqual({ tags: ["a,b"] });
  });

  test("keeps everything after the first =", () => {
    expect(parse("text=a=b c\n")).toEqual({ text: "a=b c\n" });
    expect(parse("text=")).toEqual({ text: "" });
  });

  test("reads a key that the schema does not know as a string, and as JSON with :=", () => {
    expect(parse("other=1", "more:=1", "__proto__=x")).toEqual(
      JSON.parse('{"other": "1", "more": 1, "__proto__": "x"}'),
    );
  });

  test("reads the value from a file after @", () => {
    const folder = mkdtempSync(join(tmpdir(), "wirescope-args-"));
    try {
      writeFileSync(join(folder, "note.txt"), "from a file");
      expect(parse(`text=@${join(folder, "note.txt")}`)).toEqual({ text: "from a file" });
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(() => parse("text=@/does/not/exist")).toThrow(
      /Cannot read the file .* \(argument text\): the file does not exist\./,
    );
  });

  test("refuses values that do not match the schema, and says what would match", () => {
    for (const [word, reason] of [
      ["count=many", 'count must be of type integer, not "many".'],
      ["count=1.5", "count must be of type integer"],
      ["loud=yes", "loud must be of type boolean"],
      ["filter=x", "The value of filter is not valid JSON."],
      ["alone", '"alone" is not a valid argument. Write key=value'],
    ] as const) {
      expect(() => parse(word)).toThrow(UsageError);
      expect(() => parse(word)).toThrow(reason);
    }
    expect(() => parse("text=a", "text=b")).toThrow("text is given more than once");
  });
});

describe("a JSON object as argument", () => {
  test("passes the object on unchanged", () => {
    expect(parse('{"text": 1}')).toEqual({ text: 1 });
    expect(parse()).toEqual({});
  });

  test("refuses an invalid object, with a hint about shell quoting", () => {
    expect(() => parse("{text: 1}")).toThrow(/not valid JSON.*shell quoting/);
  });
});
