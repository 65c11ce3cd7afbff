import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../any-character.test.helper.js";
import { type JsonNode, jsonNodeToValue, parseJsonWithPositions } from "./json-with-positions.js";

function accepts(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function problemOf(text: string): string | undefined {
  const [problem] = parseJsonWithPositions(text).problems;
  return problem && `${problem.line}:${problem.column} ${problem.message}`;
}

function member(node: JsonNode | undefined, key: string) {
  if (node?.kind !== "object") throw new Error("no object");
  const found = node.members.find((each) => each.key === key);
  if (found === undefined) throw new Error(`no ${key}`);
  return found;
}

describe("parsing", () => {
  test("returns the same value as JSON.parse, for any value and white space", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: anyCharacter }),
        fc.constantFrom(undefined, 1, "\t", 4),
        (value, space) => {
          const text = JSON.stringify(value, null, space);
          const { root, problems } = parseJsonWithPositions(text);
          expect(problems).toEqual([]);
          expect(root && jsonNodeToValue(root)).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  test("rejects exactly the texts that JSON.parse rejects", () => {
    const piece = fc.constantFrom(
      ...[
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"a"',
        '"',
        "0",
        "1",
        "-",
        ".",
        "e",
        "true",
        "nul",
        "l",
        " ",
        "\n",
        "\\",
        "\\u00e9",
        "'",
        "\u00a0",
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
        const text = pieces.join("");
        const { problems } = parseJsonWithPositions(text);
        expect(problems.filter(({ kind }) => kind === "syntax").length === 0, text).toBe(accepts(text));
      }),
      { numRuns: 1000 },
    );
  });

  test("skips a byte-order mark, which takes no column", () => {
    expect(parseJsonWithPositions("\ufeff[]").root).toMatchObject({ kind: "array", line: 1, column: 1 });
  });

  test("treats a key named __proto__ like any other key", () => {
    const text = '{"__proto__": {"x": 1}}';
    const { root } = parseJsonWithPositions(text);
    const value = root && jsonNodeToValue(root);
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

describe("positions", () => {
  test("records the position of each key and value, with every kind of line break", () => {
    const { root } = parseJsonWithPositions('{\n  "a": 1,\r\n\t"b": [\r    "x"\n]}');
    expect(member(root, "a")).toMatchObject({ keyAt: { line: 2, column: 3 }, value: { line: 2, column: 8 } });
    const b = member(root, "b");
    expect(b).toMatchObject({ keyAt: { line: 3, column: 2 }, value: { line: 3, column: 7 } });
    expect(b.value).toMatchObject({ items: [{ line: 4, column: 5 }] });
  });

  test("records positions that point to the text of the key or value, for any value", () => {
    const lookUp = (lines: string[], at: { line: number; column: number }): string =>
      (lines[at.line - 1] ?? "").slice(at.column - 1);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), (value) => {
        const text = JSON.stringify(value, null, 2);
        const lines = text.split("\n");
        const { root } = parseJsonWithPositions(text);
        if (root?.kind !== "object") throw new Error("no object");
        for (const each of root.members) {
          expect(lookUp(lines, each.keyAt).startsWith(JSON.stringify(each.key))).toBe(true);
          expect(lookUp(lines, each.value).startsWith(JSON.stringify(value[each.key]))).toBe(true);
        }
      }),
    );
  });
});

describe("problems", () => {
  test.each([
    ["", "1:1 The file is empty."],
    [" \n ", "2:2 The file is empty."],
    ["{\n  a: 1}", "2:3 Unexpected a."],
    ["{'a': 1}", "1:2 Strings and keys must be in double quotes, not in single quotes."],
    ["{\"a\": 'x'}", "1:7 Strings and keys must be in double quotes, not in single quotes."],
    ["{1: 2}", "1:2 Expected a key in double quotes, but found 1."],
    ['{"a" 1}', "1:6 Expected a colon after the key, but found 1."],
    ['{"a": 1 "b": 2}', '1:9 Expected a comma, but found ".'],
    ['{"a": }', "1:7 Expected a value, but found }."],
    ['{"a": "x\n"}', "1:7 This string is not closed on its line."],
    ['{"a": "\\x"}', "1:7 This string contains an invalid escape."],
    ['{"a": "\\u12g4"}', "1:7 This string contains an invalid escape."],
    ['["\t"]', "1:2 This string contains a control character."],
    ["[01]", "1:3 Numbers must not start with 0."],
    ["[1.]", "1:2 This is not a valid number."],
    ["[1] x", "1:5 Unexpected x."],
    ["[1] 2", "1:5 Unexpected 2 after the end of the value."],
    ["[undefined]", "1:2 Unexpected u."],
    ["[", "1:2 The file ends inside an array."],
    ['{"a": 1', "1:8 The file ends inside an object."],
    ["[1] \u202e", "1:5 Unexpected the character U+202E."],
    ["[1,\n]", "1:3 Trailing commas are not allowed in this file."],
    ['{"a": 1,}', "1:8 Trailing commas are not allowed in this file."],
    ["// a\n[]", "1:1 Comments are not allowed in this file."],
    ["[] /* a", "1:4 This comment is not closed."],
  ])("rejects %j with a position and a reason", (text, expected) => {
    expect(problemOf(text)).toBe(expected);
  });

  test("reports every comment and trailing comma, and continues parsing after them", () => {
    const { root, problems } = parseJsonWithPositions('// one\n{"a": [1, 2,], /* two\n */ "b": 3, // three\n}');
    expect(root && jsonNodeToValue(root)).toEqual({ a: [1, 2], b: 3 });
    expect(problems.map(({ line, column }) => `${line}:${column}`)).toEqual(["1:1", "2:12", "2:16", "3:13", "3:11"]);
  });

  test("reports a repeated key with both positions, and uses the last value", () => {
    const { root, problems } = parseJsonWithPositions('{"a": 1,\n "b": 3, "a": 2}');
    expect(root && jsonNodeToValue(root)).toEqual({ b: 3, a: 2 });
    expect(member(root, "a").isRepeated).toBe(true);
    expect(member(root, "b").isRepeated).toBeUndefined();
    const message = 'Duplicate key "a"; the first is on line 1.';
    expect(problems).toMatchObject([{ kind: "duplicate-key", line: 2, column: 10, message, path: ["a"] }]);
  });

  test("reports the path of a repeated key, also in an object that a later key replaces", () => {
    const { problems } = parseJsonWithPositions('{"a": [0, {"b": 1, "b": 2}], "a": 3}');
    expect(problems.map(({ path }) => path)).toEqual([["a", 1, "b"], ["a"]]);
  });
});

describe("with comments allowed", () => {
  const parse = (text: string): ReturnType<typeof parseJsonWithPositions> =>
    parseJsonWithPositions(text, { allowComments: true });

  test("accepts comments and trailing commas, and keeps positions right", () => {
    const text = '// one\n{"a": [1, 2,], /* two\n */ "b": 3, // three\n}';
    const { root, problems, comments } = parse(text);
    expect(problems).toEqual([]);
    expect(root && jsonNodeToValue(root)).toEqual({ a: [1, 2], b: 3 });
    expect(member(root, "b").keyAt).toMatchObject({ line: 3, column: 5 });
    expect(comments.map(({ start, end }) => text.slice(start, end))).toEqual(["// one", "/* two\n */", "// three"]);
  });

  test("returns ranges that cover the text of a key and its value, also after a byte-order mark", () => {
    const text = '\ufeff{"a": [1, {"b": "x"}]}';
    const { keyAt, value } = member(parse(text).root, "a");
    expect(text.slice(keyAt.start, keyAt.end)).toBe('"a"');
    expect(text.slice(value.start, value.end)).toBe('[1, {"b": "x"}]');
  });

  test.each([
    ["[1,,2]", "1:4 Expected a value, but found ,."],
    ["[,]", "1:2 Expected a value, but found ,."],
    ["{,}", "1:2 Expected a value, but found ,."],
    ["[1],", "1:4 Unexpected , after the end of the value."],
    ["[] /* a", "1:4 This comment is not closed."],
    ["[] # a", "1:4 Unexpected #."],
  ])("still rejects %j if comments are allowed", (text, expected) => {
    const [problem] = parse(text).problems;
    expect(`${problem?.line}:${problem?.column} ${problem?.message}`).toBe(expected);
  });
});

describe("limits", () => {
  test.each(["[", '{"a":', '[{"a":'])(
    "reports endless nesting of %j at the limit, without a stack overflow",
    (piece) => {
      for (const allowComments of [false, true]) {
        const { root, problems } = parseJsonWithPositions(piece.repeat(1_048_576 / piece.length), { allowComments });
        expect(root).toBeUndefined();
        expect(problems).toMatchObject([{ kind: "too-deep", line: 1, message: "Nesting is deeper than 64 levels." }]);
      }
      expect(parseJsonWithPositions("[".repeat(100)).problems).toMatchObject([{ kind: "too-deep", column: 65 }]);
      expect(parseJsonWithPositions("[[1]]", { maxDepth: 2 }).problems).toEqual([]);
    },
  );

  test("rejects a file over the size limit before parsing it", () => {
    expect(parseJsonWithPositions(" ".repeat(1_048_577)).problems).toMatchObject([{ kind: "too-large" }]);
  });

  test("reads a string of a megabyte as it is, and does not quote an unclosed one", () => {
    const long = "\\u0041x".repeat(130_000);
    const { root } = parseJsonWithPositions(`["${long}"]`);
    expect(root && jsonNodeToValue(root)).toEqual(["Ax".repeat(130_000)]);
    const [problem] = parseJsonWithPositions(`["${long}`).problems;
    expect(problem?.message).toBe("This string is not closed on its line.");
  });

  test("reports at most a hundred repeated keys, and quotes only the start of a long key", () => {
    const key = "k".repeat(200);
    const { root, problems } = parseJsonWithPositions(`{${Array(5_000).fill(`"${key}": 1`).join(",")}}`);
    expect(root).toMatchObject({ members: [{ key }] });
    expect(problems).toHaveLength(100);
    expect(problems[0]?.message.length).toBeLessThan(120);
  });
});
