import { expect, test } from "vitest";
import { answeredIdOf, cancelledIdOf, mendAnswer, parseMessages, requestIdOf } from "./json-rpc.js";

test.each([
  '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  '{"jsonrpc":"2.0","id":"a","method":"ping","params":{"a":1},"more":true}',
  '{"jsonrpc":"2.0","method":"notifications/noted"}',
  '{"jsonrpc":"2.0","id":1,"result":{}}',
  '{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no"}}',
  '{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}',
  '\ufeff{"jsonrpc":"2.0","id":0,"result":{"a":[1]}}\r',
])("%s is a message", (text) => {
  expect(parseMessages(text)).toEqual([JSON.parse(text.replace("\ufeff", ""))]);
});

test("several are a batch", () => {
  expect(parseMessages('[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"a"}]')).toHaveLength(2);
});

test("a batch of more than 1,000 messages is refused, because each of them may need a response", () => {
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
])("%s is none", (text) => {
  expect(parseMessages(text)).toBeUndefined();
});

test("requests, answers and what is called off are known by their ids", () => {
  const ids = (text: string): unknown[] => {
    const [message] = parseMessages(text) ?? [];
    if (message === undefined) throw new Error("no message");
    return [requestIdOf(message), answeredIdOf(message), cancelledIdOf(message)];
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

test("an answer with more than JSON-RPC has is mended, for the SDK would pass over it", () => {
  const sent = '{"jsonrpc":"2.0","id":1,"result":{"_meta":null,"ok":true},"error":null,"extra":1}';
  expect(parseMessages(sent)?.map(mendAnswer)).toEqual([{ jsonrpc: "2.0", id: 1, result: { ok: true } }]);
  const empty = '{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32601,"message":"no"}}';
  expect(parseMessages(empty)?.map(mendAnswer)).toEqual([
    { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "no" } },
  ]);
  const failed = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no","more":1},"extra":1}';
  expect(parseMessages(failed)?.map(mendAnswer)).toEqual([{ jsonrpc: "2.0", error: { code: -32700, message: "no" } }]);
});
