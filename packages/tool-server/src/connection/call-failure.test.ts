import { expect, test } from "vitest";
import { callFailure } from "./call-failure.js";
import { RpcError } from "./rpc/json-rpc.js";

test("writes an error of several lines on one line, without escaped line breaks", () => {
  const text = JSON.stringify([{ path: ["a"], message: "Expected a number" }], undefined, 2);
  const call = {
    server: "notes",
    method: "tools/call",
    signal: undefined,
    idleTimeoutMs: 1000,
    transportFailure: undefined,
    redact: (said: string) => said,
  };
  expect(callFailure(new RpcError(-32_602, `Invalid arguments:\r\n${text}`), call).message).toBe(
    'The server "notes" refused tools/call: "Invalid arguments: [ { "path": [ "a" ], "message": "Expected a number" } ]".',
  );
});
