import { expect, test } from "vitest";
import { encodeMessage } from "./encode-message.js";
import { isNestedDeeper, parseMessage } from "./parse-message.js";

test.each([
  ["{", -32_700],
  ["", -32_700],
  ["[]", -32_600],
  ["{}", -32_600],
  [`{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":${"[".repeat(1001)}${"]".repeat(1001)}}}`, -32_600],
])("a text that is no message is told by a code of JSON-RPC (%#)", (text, code) => {
  expect(parseMessage(text)).toMatchObject({ code });
});

test("a message is read as what it is", () => {
  expect(parseMessage('{"jsonrpc":"2.0","id":1,"method":"ping"}')).toMatchObject({ kind: "request" });
});

test.each([
  ["[[1],[1]]".padEnd(20), 2, false],
  ["[[[1]]]".padEnd(20), 2, true],
  ['{"a":{"b":{"c":1}}}'.padEnd(20), 2, true],
  ['["[[[[[[","\\"[[[[","\\\\",[1]]', 2, false],
  ['["\\\\",[["\\\\\\""]]]'.padEnd(20), 2, true],
  ['["[[[[[[[[[[[[[[[[[[[', 2, false],
  // A level takes two characters, so this cannot be.
  ["[[[", 2, false],
])("%s is nested deeper than %i: %s", (text, most, isDeeper) => {
  expect(isNestedDeeper(text, most)).toBe(isDeeper);
});

test("what cannot be written is an error where it is an answer, nothing where it is a notification, and fails where it is a request", () => {
  const abyss: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  const jsonrpc = "2.0";
  expect(JSON.parse(encodeMessage({ jsonrpc, id: 1, result: { abyss } }))).toMatchObject({ id: 1, error: {} });
  expect(encodeMessage({ jsonrpc, method: "a", params: { abyss } })).toBeUndefined();
  expect(() => encodeMessage({ jsonrpc, id: 1, method: "a", params: { abyss } })).toThrow(/nested too deeply/);
  expect(encodeMessage({ jsonrpc, id: 1, result: {} })).toBe('{"jsonrpc":"2.0","id":1,"result":{}}');
});
