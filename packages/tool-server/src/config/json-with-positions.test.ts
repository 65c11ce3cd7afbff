import fc from "fast-check";
import { describe, expect, test } from "vitest";
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

describe("what is read", () => {
  test("is what JSON.parse reads, whatever the value and the white space", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.constantFrom(undefined, 1, "\t", 4), (value, space) => {
        const text = JSON.stringify(value, null, space);
        const { root, problems } = parseJsonWithPositions(text);
        expect(problems).toEqual([]);
        expect(root && jsonNodeToValue(root)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("is refused where JSON.parse refuses, and only there", () => {
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
      { numRuns: 3000 },
    );
  });

  test("may start with a byte-order mark, which takes no column", () => {
    expect(parseJsonWithPositions("\ufeff[]").root).toMatchObject({ kind: "array", line: 1, column: 1 });
  });

  test("keeps a key named __proto__ as any other", () => {
    const text = '{"__proto__": {"x": 1}}';
    const { root } = parseJsonWithPositions(text);
    expect(JSON.stringify(root && jsonNodeToValue(root))).toBe(JSON.stringify(JSON.parse(text)));
  });
});

describe("positions", () => {
  test("are those of each key and value, over every kind of line break", () => {
    const { root } = parseJsonWithPositions('{\n  "a": 1,\r\n\t"b": [\r    "x"\n]}');
    expect(member(root, "a")).toMatchObject({ keyAt: { line: 2, column: 3 }, value: { line: 2, column: 8 } });
    const b = member(root, "b");
    expect(b).toMatchObject({ keyAt: { line: 3, column: 2 }, value: { line: 3, column: 7 } });
    expect(b.value).toMatchObject({ items: [{ line: 4, column: 5 }] });
  });

  test("lead to the text of a key or value, for any value", () => {
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
    ["", "1:1 The text is empty."],
    ["{\n  a: 1}", "2:3 A key in double quotes, or }, is missing: here is a."],
    ["{'a': 1}", "1:2 A key in double quotes, or }, is missing: here is '."],
    ["{\"a\": 'x'}", "1:7 A string starts with a single quote."],
    ['{"a" 1}', "1:6 After a key comes 1."],
    ['{"a": 1 "b": 2}', '1:9 A comma, or }, is missing: here is ".'],
    ['{"a": "x\n"}', "1:7 The string that starts here has no end on its line."],
    ['{"a": "\\x"}', "1:8 A backslash starts no escape of JSON."],
    ['["\t"]', "1:3 A string holds the character U+0009."],
    ["[01]", "1:2 This is no number of JSON."],
    ["[1] x", "1:5 After the value comes x, where the text should end."],
    ["[undefined]", "1:2 A value is missing: here is u."],
    ["[", "1:2 A value is missing: here is the end of the text."],
    ["[1] \u202e", "1:5 After the value comes the character U+202E, where the text should end."],
  ])("say where and what: %j", (text, expected) => {
    expect(problemOf(text)).toBe(expected);
  });

  test("of comments and trailing commas are all found, and do not end the reading", () => {
    const { root, problems } = parseJsonWithPositions('// one\n{"a": [1, 2,], /* two\n */ "b": 3,\n}');
    expect(root && jsonNodeToValue(root)).toEqual({ a: [1, 2], b: 3 });
    expect(problems.map(({ line, column }) => `${line}:${column}`)).toEqual(["1:1", "2:12", "2:16", "3:11"]);
  });

  test("of keys that stand twice name the place of both, and the last counts", () => {
    const { root, problems } = parseJsonWithPositions('{"a": 1,\n "a": 2}');
    expect(root && jsonNodeToValue(root)).toEqual({ a: 2 });
    expect(problems).toMatchObject([
      { kind: "duplicate-key", line: 2, column: 2, message: expect.stringContaining("line 1") },
    ]);
  });

  test("of depth and size end the reading before they cost anything", () => {
    expect(parseJsonWithPositions("[".repeat(1_000_000)).problems).toMatchObject([
      { kind: "too-deep", line: 1, column: 65 },
    ]);
    expect(parseJsonWithPositions(" ".repeat(1_048_577)).problems).toMatchObject([{ kind: "too-large" }]);
    expect(parseJsonWithPositions("[[1]]", { maxDepth: 2 }).problems).toEqual([]);
  });
});
