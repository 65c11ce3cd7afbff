import { jsonNodeToValue } from "@wirescope/tool-server/internal/json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJsoncMember, removeJsoncMember, setJsoncMember } from "./edit-jsonc.js";
import { JsoncError, parseJsonc } from "./parse-jsonc.js";

const path = ["mcpServers", "wirescope"];
const entry = { command: "wirescope", args: ["up"] };
const set = (text: string): string => setJsoncMember(text, path, entry);

describe("setting an entry", () => {
  test("creates the file with two spaces of indentation and a final line break", () => {
    const made =
      '{\n  "mcpServers": {\n    "wirescope": {\n      "command": "wirescope",\n      "args": [\n        "up"\n      ]\n    }\n  }\n}\n';
    for (const text of ["", "  \n", "{}\n"]) expect(set(text)).toBe(made);
  });

  test("appends it with the indentation of the file", () => {
    expect(set('{\n\t"mcpServers": {\n\t\t"a": {}\n\t},\n\t"z": 1\n}')).toBe(
      '{\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"wirescope": {\n\t\t\t"command": "wirescope",\n\t\t\t"args": [\n\t\t\t\t"up"\n\t\t\t]\n\t\t}\n\t},\n\t"z": 1\n}',
    );
  });

  test("keeps the line breaks and the byte-order mark of the file", () => {
    const made = set('\ufeff{\r\n    "mcpServers": {}\r\n}\r\n');
    expect(made.startsWith('\ufeff{\r\n    "mcpServers": {\r\n        "wirescope": {\r\n            "command"')).toBe(
      true,
    );
    expect(made.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  });

  test("keeps comments and a trailing comma", () => {
    const text = '{\n  // ours\n  "mcpServers": {\n    "a": { "url": "x" }, // keep\n    /* last */\n  },\n}\n';
    const made = set(text);
    expect(made).toContain('    "a": { "url": "x" }, // keep\n    "wirescope": {\n');
    expect(made).toContain("    },\n    /* last */\n  },\n}\n");
    expect(removeJsoncMember(made, path)).toBe(text);
  });

  test("adds the missing comma before the comment of the previous entry", () => {
    const text = '{\n  "mcpServers": {\n    "a": 1 // one\n  }\n}';
    const made = set(text);
    expect(made).toContain('    "a": 1, // one\n    "wirescope": {');
    expect(removeJsoncMember(made, path)).toBe(text);
  });

  test("keeps a comment that is alone in its object", () => {
    expect(set('{\n  "mcpServers": {\n    // none yet\n  }\n}')).toContain('    // none yet\n    "wirescope": {');
    expect(set('{\n  "mcpServers": { /* none */ }\n}')).toMatch(/\/\* none \*\/\n {4}"wirescope": \{\n/);
  });

  test("keeps a file of one line on one line", () => {
    expect(set('{"a":1,"mcpServers":{"b":{}}}')).toBe(
      '{"a":1,"mcpServers":{"b":{},"wirescope":{"command":"wirescope","args":["up"]}}}',
    );
    expect(set('{"a": 1}')).toBe('{"a": 1, "mcpServers": {"wirescope":{"command":"wirescope","args":["up"]}}}');
  });

  test("replaces an existing entry, and changes nothing if it is the same", () => {
    const made = set('{\n  "mcpServers": {\n    "wirescope": null,\n    "b": 2\n  }\n}');
    expect(made).toContain('"wirescope": {\n      "command": "wirescope",');
    expect(made).toContain('    },\n    "b": 2\n  }\n}');
    expect(set(made)).toBe(made);
  });

  test("treats __proto__ and constructor like any other key", () => {
    const made = setJsoncMember('{"__proto__": {"a": 1}}', ["__proto__", "constructor"], "x");
    expect(made).toBe('{"__proto__": {"a": 1, "constructor": "x"}}');
  });
});

test.each([
  ['{"a":1,"b":2,"c":3}', "a", '{"b":2,"c":3}'],
  ['{"a": 1, "b": 2, "c": 3}', "b", '{"a": 1, "c": 3}'],
  ['{"a": 1, "b": 2}', "b", '{"a": 1}'],
  ['{ "a": 1 }', "a", "{}"],
  ['{"a": 1, /* b */ "b": 2}', "b", '{"a": 1 /* b */}'],
  ['{\n  "a": 1,\n  "b": 2 }', "b", '{\n  "a": 1\n }'],
  ['{\n  "a": 1, // one\n  "b": 2 // two\n}', "b", '{\n  "a": 1 // one\n}'],
  ['{\n  "a": 1,\n  "b": 2,\n}', "b", '{\n  "a": 1,\n}'],
  ['{\n  // why\n  "a": 1\n}', "a", "{\n  // why\n}"],
  ['{"a": 1}', "z", '{"a": 1}'],
])("removes from %j the key %j and keeps everything else", (text, key, left) => {
  expect(removeJsoncMember(text, [key])).toBe(left);
});

test.each([
  ['{\n  "mcpServers": {\n    "a": 1\n    "b": 2\n  }\n}', '4:5: Expected a comma, but found ".'],
  ['\ufeff{"a": tru}', "1:7: Unexpected t."],
  ['{"a": 1} x', "1:10: Unexpected x."],
  ['{"a": 01}', "1:8: Numbers must not start with 0."],
  ['{"a": "b\n"}', "1:7: This string is not closed on its line."],
  ['{"a": "\\x"}', "1:7: This string contains an invalid escape."],
  ["{a: 1}", "1:2: Unexpected a."],
  ['{"a" 1}', "1:6: Expected a colon"],
  ['{"a": [1, 2}', "1:12: Expected a comma"],
  ['{"a": /* x }', "1:7: This comment is not closed."],
  ["[]", "1:1: The file must be an object."],
  ['{"mcpServers": []}', '1:16: "mcpServers" must be an object.'],
  ['{"mcpServers": {}, "mcpServers": {}}', '1:20: Duplicate key "mcpServers".'],
  [`${"[".repeat(400)}`, "1:257: Nesting is deeper than 256 levels."],
])("rejects %j with the position of the error", (text, message) => {
  expect(() => set(text)).toThrow(JsoncError);
  expect(() => set(text)).toThrow(message);
});

describe("any file", () => {
  const blank = fc.stringMatching(/^[ \t]{0,3}$/);
  const between = fc.oneof(blank, fc.constantFrom("\n", "\n  ", "\r\n\t", " /* c */ ", " // c\n", "\n// c\n  "));
  const text = fc.letrec<{ value: string; object: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.jsonValue({ maxDepth: 0 }).map((value) => JSON.stringify(value)),
      tie("object"),
      fc.tuple(between, fc.array(tie("value"), { maxLength: 3 })).map(([gap, items]) => `[${items.join(`,${gap}`)}]`),
    ),
    object: fc
      .tuple(
        fc.uniqueArray(fc.constantFrom("a", "b", "mcpServers", "wirescope", "__proto__"), { maxLength: 4 }),
        fc.array(fc.tuple(between, between, between, tie("value"), between), { minLength: 4, maxLength: 4 }),
        fc.boolean(),
        between,
      )
      .map(([keys, gaps, hasLast, end]) => {
        const members = keys.map((key, at) => {
          const [before, afterKey, afterColon, value, after] = gaps[at] ?? ["", "", "", "1", ""];
          const comma = at < keys.length - 1 || hasLast ? "," : "";
          return `${before}"${key}"${afterKey}:${afterColon}${value}${after}${comma}`;
        });
        return `{${members.join("")}${end}}`;
      }),
  }));

  test("changes only the entry, loses no comment, and can remove the entry again", () => {
    fc.assert(
      fc.property(text.object, (before) => {
        let made: string;
        try {
          made = set(before);
        } catch (error) {
          // A generated "mcpServers" may not be an object.
          expect(error).toBeInstanceOf(JsoncError);
          return;
        }
        expect(readJsoncMember(made, path)).toEqual(JSON.parse(JSON.stringify(entry)));
        expect(parseJsonc(made).comments.length).toBeGreaterThanOrEqual(
          readJsoncMember(before, path) === undefined ? parseJsonc(before).comments.length : 0,
        );
        const left = removeJsoncMember(made, path);
        expect(readJsoncMember(left, path)).toBeUndefined();
        expect(set(made)).toBe(made);
        const { mcpServers: _, ...others } = { ...(jsonNodeToValue(parseJsonc(before).root) as object) } as Record<
          string,
          unknown
        >;
        const { mcpServers: __, ...after } = { ...(jsonNodeToValue(parseJsonc(left).root) as object) } as Record<
          string,
          unknown
        >;
        expect(after).toEqual(others);
      }),
      { numRuns: 200 },
    );
  });
});
