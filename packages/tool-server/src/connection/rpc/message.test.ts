import { expect, test } from "vitest";
import { cancelledIdOf, requestIdOf, responseIdOf } from "./json-rpc.js";
import { encodeMessage, fixResponse, isNestedDeeper, parseMessage, parseMessages } from "./message.js";

test.each([
  ["{", -32_700],
  ["", -32_700],
  ["[]", -32_600],
  ["{}", -32_600],
  [`{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":${"[".repeat(1001)}${"]".repeat(1001)}}}`, -32_600],
])("rejects text that is not a message with a JSON-RPC code (%#)", (text, code) => {
  expect(parseMessage(text)).toMatchObject({ code });
});

test("reads a request as a request", () => {
  expect(parseMessage('{"jsonrpc":"2.0","id":1,"method":"ping"}')).toMatchObject({ kind: "request" });
});

test.each([
  ["[[1],[1]]".padEnd(20), 2, false],
  ["[[[1]]]".padEnd(20), 2, true],
  ['{"a":{"b":{"c":1}}}'.padEnd(20), 2, true],
  ['["[[[[[[","\\"[[[[","\\\\",[1]]', 2, false],
  ['["\\\\",[["\\\\\\""]]]'.padEnd(20), 2, true],
  ['["[[[[[[[[[[[[[[[[[[[', 2, false],
  // A level takes two characters, so this is impossible.
  ["[[[", 2, false],
])("decides whether %s is nested deeper than %i: %s", (text, most, isDeeper) => {
  expect(isNestedDeeper(text, most)).toBe(isDeeper);
});

test("encodes an unserializable response as an error, omits a notification, and throws for a request", () => {
  const abyss: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  const jsonrpc = "2.0";
  expect(JSON.parse(encodeMessage({ jsonrpc, id: 1, result: { abyss } }))).toMatchObject({ id: 1, error: {} });
  expect(encodeMessage({ jsonrpc, method: "a", params: { abyss } })).toBeUndefined();
  expect(() => encodeMessage({ jsonrpc, id: 1, method: "a", params: { abyss } })).toThrow(/nested too deeply/);
  expect(encodeMessage({ jsonrpc, id: 1, result: {} })).toBe('{"jsonrpc":"2.0","id":1,"result":{}}');
});

test.each([
  ['{"jsonrpc":"2.0","id":1,"method":"ping"}', "request"],
  ['{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', "request"],
  ['{"jsonrpc":"2.0","method":"notifications/a"}', "notification"],
  ['{"jsonrpc":"2.0","id":0,"result":{}}', "response"],
  ['{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"no"}}', "response"],
  ['{"id":1,"method":"ping"}', undefined],
  ['{"jsonrpc":"2.0","id":null,"method":"ping"}', undefined],
  ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', undefined],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', undefined],
  ['{"jsonrpc":"2.0","id":1,"result":"text"}', undefined],
  ['{"jsonrpc":"2.0","result":{}}', undefined],
  ['{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"no"}}', undefined],
  ["[]", undefined],
  ["null", undefined],
])("classifies %s as %s", (text, kind) => {
  const read = parseMessage(text);
  expect("kind" in read ? read.kind : undefined).toBe(kind);
});

test.each([
  '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  '{"jsonrpc":"2.0","id":"a","method":"ping","params":{"a":1},"more":true}',
  '{"jsonrpc":"2.0","method":"notifications/noted"}',
  '{"jsonrpc":"2.0","id":1,"result":{}}',
  '{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no"}}',
  '{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}',
  '\ufeff{"jsonrpc":"2.0","id":0,"result":{"a":[1]}}\r',
])("accepts %s as a message", (text) => {
  expect(parseMessages(text)).toEqual([JSON.parse(text.replace("\ufeff", ""))]);
});

test("reads several messages as a batch", () => {
  expect(parseMessages('[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"a"}]')).toHaveLength(2);
});

test("refuses a batch of more than 1,000 messages, because each of them may need a response", () => {
  const batch = (size: number): string => JSON.stringify(Array(size).fill({ jsonrpc: "2.0", id: 1, method: "ping" }));
  expect(parseMessages(batch(1000))).toHaveLength(1000);
  expect(parseMessages(batch(1001))).toBeUndefined();
});

test.each([
  "",
  "Listening on port 3000",
  "{",
  "null",
  "1",
  "[]",
  '["a"]',
  '[{"jsonrpc":"2.0","method":"a"},{}]',
  "{}",
  '{"id":1,"method":"ping"}',
  '{"jsonrpc":"1.0","id":1,"method":"ping"}',
  '{"jsonrpc":"2.0"}',
  '{"jsonrpc":"2.0","id":1}',
  '{"jsonrpc":"2.0","id":null,"method":"ping"}',
  '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
  '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
  '{"jsonrpc":"2.0","result":{}}',
  '{"jsonrpc":"2.0","id":1,"result":"text"}',
  '{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"no"}}',
  '{"jsonrpc":"2.0","id":1,"error":"no"}',
])("rejects %s, which is not a message", (text) => {
  expect(parseMessages(text)).toBeUndefined();
});

test("recognizes requests, responses and cancellations by their ids", () => {
  const ids = (text: string): unknown[] => {
    const [message] = parseMessages(text) ?? [];
    if (message === undefined) throw new Error("no message");
    return [requestIdOf(message), responseIdOf(message), cancelledIdOf(message)];
  };
  expect(ids('{"jsonrpc":"2.0","id":0,"method":"ping"}')).toEqual([0, undefined, undefined]);
  expect(ids('{"jsonrpc":"2.0","id":0,"result":{}}')).toEqual([undefined, 0, undefined]);
  expect(ids('{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"no"}}')).toEqual([undefined, "a", undefined]);
  const cancelled = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}';
  expect(ids(cancelled)).toEqual([undefined, undefined, 7]);
  expect(ids('{"jsonrpc":"2.0","method":"notifications/noted","params":{"requestId":7}}')).toEqual(
    Array(3).fill(undefined),
  );
});

test("fixes a response with more than JSON-RPC allows, because the SDK would ignore it", () => {
  const sent = '{"jsonrpc":"2.0","id":1,"result":{"_meta":null,"ok":true},"error":null,"extra":1}';
  expect(parseMessages(sent)?.map(fixResponse)).toEqual([{ jsonrpc: "2.0", id: 1, result: { ok: true } }]);
  const empty = '{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32601,"message":"no"}}';
  expect(parseMessages(empty)?.map(fixResponse)).toEqual([
    { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "no" } },
  ]);
  const failed = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no","more":1},"extra":1}';
  expect(parseMessages(failed)?.map(fixResponse)).toEqual([{ jsonrpc: "2.0", error: { code: -32700, message: "no" } }]);
});
