import fc from "fast-check";
import { expect, test } from "vitest";
import { headerNameDefect, headerValueDefect } from "../../config/headers.js";
import { ToolServerError } from "../../errors.js";
import { parseHelperOutput } from "./run-helper.js";

const parse = (text: string | Uint8Array) => parseHelperOutput(Buffer.from(text), "The helper");

test("[TS-HELPER-3] parses one JSON object of strings, with surrounding white space", () => {
  expect({ ...parse('\n {"Authorization": "Bearer x", "X-Timestamp": "17"}\n') }).toEqual({
    Authorization: "Bearer x",
    "X-Timestamp": "17",
  });
});

test.each([
  ["", "wrote nothing to standard output"],
  ["{}", "wrote an empty object"],
  ['Token ready!\n{"A": "hunter2"}', "not JSON, at line 1, column 1"],
  ['{"A": "hunter2",\n  "B": hunter2}', "not JSON, at line 2, column 8"],
  ['{"A": "hunter2"} hunter2', "not JSON, at line 1, column 18"],
  ['{"A": "hunter2", "A": "hunter2"}', "has the same key twice, at line 1, column 18"],
  ['{"A": "hunter2", "a": "hunter2"}', "a and A are the same header"],
  ['["hunter2"]', "wrote an array, not an object"],
  ['"hunter2"', "wrote a string, not an object"],
  ["null", "wrote null, not an object"],
  ['{"X-Timestamp": 17}', "wrote a number instead of a string, at line 1, column 17"],
  ['{"A": {"hunter2": "x"}}', "wrote an object instead of a string"],
  ['{"Bearer hunter2": "Authorization"}', "at line 1, column 2, it contains a character that is not allowed"],
  ['{"A": "hunter2\\r\\nHost: evil"}', "contains a line break at position 8"],
  ['{"Content-Length": "hunter2"}', "it is set by the connection itself"],
  ['{"A": "Bearer ${hunter2}"}', "a variable reference that was not replaced"],
])("[TS-D-HELPER-6] refuses %j without quoting it", (output, message) => {
  expect(() => parse(output)).toThrow(
    expect.objectContaining({ code: "HELPER_OUTPUT_INVALID", message: expect.stringContaining(message) }),
  );
  expect(() => parse(output)).not.toThrow(/hunter2/);
});

test("[TS-HELPER-3] accepts at most 64 headers from a helper", () => {
  const headers = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, "a"])));
  expect(Object.keys(parse(headers(64)))).toHaveLength(64);
  expect(() => parse(headers(65))).toThrow("wrote 65 headers");
});

test("rejects output that is not UTF-8", () => {
  expect(() => parse(Uint8Array.of(0x7b, 0xff, 0x7d))).toThrow("not UTF-8");
});

test("returns valid headers or an error for any helper output", () => {
  const hostile = fc.string({ unit: fc.constantFrom("a", "B", "-", ":", " ", "\r", "\n", "\0", "\x1f", "é", "☃") });
  fc.assert(
    fc.property(fc.oneof(fc.dictionary(hostile, hostile), fc.json(), fc.string()), (value) => {
      let headers: Readonly<Record<string, string>>;
      try {
        headers = parse(typeof value === "string" ? value : JSON.stringify(value));
      } catch (error) {
        expect(ToolServerError.is(error, "HELPER_OUTPUT_INVALID")).toBe(true);
        return;
      }
      for (const [name, field] of Object.entries(headers)) {
        expect([headerNameDefect(name), headerValueDefect(field)]).toEqual([undefined, undefined]);
      }
    }),
    { numRuns: 1000 },
  );
});
