import { expect, test } from "vitest";
import { readMessage } from "./json-rpc.js";

test.each([
  ['{"jsonrpc":"2.0","id":1,"method":"ping"}', "request"],
  ['{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', "request"],
  ['{"jsonrpc":"2.0","method":"notifications/a"}', "notification"],
  ['{"jsonrpc":"2.0","id":0,"result":{}}', "answer"],
  ['{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"no"}}', "answer"],
  ['{"id":1,"method":"ping"}', undefined],
  ['{"jsonrpc":"2.0","id":null,"method":"ping"}', undefined],
  ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', undefined],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', undefined],
  ['{"jsonrpc":"2.0","id":1,"result":"text"}', undefined],
  ['{"jsonrpc":"2.0","result":{}}', undefined],
  ['{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"no"}}', undefined],
  ["[]", undefined],
  ["null", undefined],
])("%s is: %s", (text, kind) => {
  expect(readMessage(JSON.parse(text))?.kind).toBe(kind);
});
