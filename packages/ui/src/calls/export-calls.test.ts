import { create } from "@bufbuild/protobuf";
import { CallSchema } from "@wirescope/gateway/admin";
import { expect, test } from "vitest";
import type { CallDetail, CallRow } from "../shell/store/index.js";
import { jsonLinesOf } from "./export-calls.js";

const call = (id: string, hasBody: boolean): CallRow => ({
  id,
  startMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  durationMs: 1.5,
  outcome: "ok",
  reason: "",
  client: "editor\n1.0",
  session: "ab",
  server: "notes",
  method: "tools/call",
  name: "read",
  hasBody,
});

test("writes one line for each call, the oldest first, with the bodies that can be read", async () => {
  const read = async (id: string): Promise<CallDetail> => {
    if (id === "gone") throw new Error("not kept");
    const body = { request: '{"arguments":{"a":1}}', response: '{"result":{}}', responseTruncated: true };
    return { ...call(id, true), message: create(CallSchema, { id, body }) };
  };
  const text = await jsonLinesOf([call("new", false), call("gone", true), call("old", true)], read);
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ id }) => id)).toEqual(["old", "gone", "new"]);
  expect(lines[0]).toEqual({
    id: "old",
    startTime: "2026-01-02T03:04:05.006Z",
    durationMs: 1.5,
    outcome: "ok",
    reason: "",
    client: "editor\n1.0",
    session: "ab",
    server: "notes",
    method: "tools/call",
    name: "read",
    request: { arguments: { a: 1 } },
    response: { result: {} },
    isTruncated: true,
  });
  expect(lines[1]).not.toHaveProperty("request");
});
