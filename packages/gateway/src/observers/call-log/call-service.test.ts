import { Code } from "@connectrpc/connect";
import { createSecretRegistry } from "@wirescope/tool-server";
import { expect, test } from "vitest";
import { z } from "zod";
import { readAdminError } from "../../admin/client/admin-client.js";
import { pollOptions } from "../../gateway.test.helper.js";
import { type Call, CallOutcome } from "../../gen/wirescope/v1/calls_pb.js";
import { serveRaw } from "../../raw-server.test.helper.js";
import { lastToolCall, startTestCalls, toolCalls } from "./calls.test.helper.js";

const echoed = '{"content":[{"type":"text","text":"ok"}]}';

test("[TS-D-CALLS-2] sends a watcher the kept calls, then each call when it starts and when it ends", async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = await serveRaw({
    "tools/call"({ id, params }, response) {
      if (params?.name !== "echo" || (params.arguments as { slow?: boolean }).slow !== true) return echoed;
      // The watcher may hear of the call before the server does.
      void released.then(() => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(`{"jsonrpc":"2.0","id":${id},"result":${echoed}}`);
      });
      return undefined;
    },
  });
  const gateway = await startTestCalls({ notes: server.entry });
  await gateway.client.callTool({ name: "notes__echo", arguments: {} });
  const seen: Call[][] = [];
  const watching = (async () => {
    for await (const { calls, skipped } of gateway.reader.watchCalls({})) {
      expect(skipped).toBe(0n);
      seen.push(calls.filter(({ method }) => method === "tools/call"));
      if (calls.some(({ outcome }) => outcome === CallOutcome.RUNNING)) release();
      if (seen.length > 1 && seen.at(-1)?.some(({ outcome }) => outcome === CallOutcome.OK)) return;
    }
  })();
  await expect.poll(() => seen.length, pollOptions).toBe(1);
  await gateway.client.callTool({ name: "notes__echo", arguments: { slow: true } });
  await watching;
  expect(seen[0]?.map(({ outcome }) => outcome)).toEqual([CallOutcome.OK]);
  expect(seen[1]).toMatchObject([{ outcome: CallOutcome.RUNNING, server: "notes", name: "echo" }]);
  expect(seen[1]?.[0]?.duration).toBeUndefined();
  expect(seen.at(-1)).toMatchObject([{ id: seen[1]?.[0]?.id, outcome: CallOutcome.OK }]);
});

test("[TS-D-CALLS-4] statistics count the calls of each server, failures and latencies, with their history", async () => {
  const server = await serveRaw({
    "tools/call": ({ params }) =>
      (params?.arguments as { fails?: boolean } | undefined)?.fails ? '{"content":[],"isError":true}' : echoed,
  });
  const gateway = await startTestCalls({ notes: server.entry });
  for (const fails of [false, true, false, false]) {
    await gateway.client.callTool({ name: "notes__echo", arguments: { fails } });
  }
  await expect
    .poll(async () => (await gateway.reader.getCallStatistics({ points: 3 })).servers, pollOptions)
    .toMatchObject([{ server: "notes", calls: 4n, failed: 1n, failureRate: 0.25 }]);
  const { total, servers, window, interval } = await gateway.reader.getCallStatistics({ points: 3 });
  expect(total).toMatchObject({ server: "", calls: 4n, failed: 1n });
  expect(servers[0]?.points).toHaveLength(3);
  expect(servers[0]?.points.reduce((sum, { calls }) => sum + calls, 0)).toBe(4);
  expect(servers[0]?.p95).toBeDefined();
  expect([window?.seconds, interval?.seconds]).toEqual([expect.any(BigInt), 5n]);
});

test("[TS-D-CALLS-3] captures bodies only if allowed, redacts them, and shows them only to an administrator", async () => {
  const server = await serveRaw();
  const secrets = createSecretRegistry();
  secrets.add("the-known-secret");
  const gateway = await startTestCalls({ notes: server.entry }, { secrets, capturesBodies: true });
  const { calls, reader, client } = gateway;
  const args = {
    text: "it is the-known-secret <b>",
    password: "hunter22",
    key: `ghp_${"a1B2".repeat(9)}`,
    note: "plain",
  };
  await calls.setCapture({ enabled: false });
  await client.callTool({ name: "notes__echo", arguments: args });
  expect((await lastToolCall(gateway)).hasBody).toBe(false);

  await expect(reader.setCapture({ enabled: true })).rejects.toMatchObject({ code: Code.PermissionDenied });
  const { capture } = await calls.setCapture({ enabled: true });
  expect(capture).toMatchObject({ allowed: true, enabled: true });
  await client.callTool({ name: "notes__echo", arguments: args });
  const { id, body, hasBody } = await lastToolCall(gateway);
  expect(hasBody).toBe(true);
  expect(JSON.parse(body?.request ?? "")).toMatchObject({
    arguments: { text: "it is [redacted] <b>", password: "[redacted]", key: "[redacted]", note: "plain" },
  });
  expect(JSON.parse(body?.response ?? "")).toEqual({ result: JSON.parse(echoed) });
  const { call: read } = await reader.getCall({ id });
  expect([read?.hasBody, read?.body]).toEqual([true, undefined]);

  await calls.setCapture({ enabled: false, discard: true });
  expect((await calls.getCall({ id })).call?.body).toBeUndefined();
  await client.callTool({ name: "notes__echo", arguments: args });
  expect((await lastToolCall(gateway)).hasBody).toBe(false);
});

test("[TS-D-CALLS-3] refuses to turn the capture on if it is not allowed, and says how to allow it", async () => {
  const gateway = await startTestCalls({});
  const failure = await gateway.calls.setCapture({ enabled: true }).catch((error: unknown) => readAdminError(error));
  expect(failure).toMatchObject({ status: "FailedPrecondition", message: expect.stringContaining("--capture") });
});

test("does not find an unknown call, or one of another gateway", async () => {
  const gateway = await startTestCalls({});
  for (const id of ["", "1", "ffffff-1", "__proto__"]) {
    await expect(gateway.reader.getCall({ id })).rejects.toMatchObject({ code: Code.NotFound });
  }
});

test("names from clients and servers are bounded and redacted", async () => {
  const secrets = createSecretRegistry();
  secrets.add("the-known-secret");
  const gateway = await startTestCalls({}, { secrets });
  const method = `the-known-secret-\u001b[31m<img src=x>${"x".repeat(5000)}`;
  await gateway.client.request({ method, params: {} }, z.object({})).catch(() => {});
  const all = async (): Promise<Call[]> => {
    for await (const { calls } of gateway.reader.watchCalls({})) return calls;
    return [];
  };
  const [last] = (await all()).slice(-1);
  expect(last?.method.length).toBeLessThan(1100);
  expect(last?.method.startsWith("[redacted]-")).toBe(true);
  expect(await toolCalls(gateway)).toEqual([]);
});

test("[TS-D-CALLS-4] counts a call that fails because its server is down for that server, and a call of an unknown tool only in the total", async () => {
  const server = await serveRaw({ "tools/call": () => echoed });
  const gateway = await startTestCalls({
    notes: server.entry,
    dead: { type: "http", url: "http://127.0.0.1:1/mcp" },
    "my.dead": { type: "http", url: "http://127.0.0.1:1/mcp" },
  });
  await gateway.client.callTool({ name: "notes__echo", arguments: {} });
  for (const name of ["dead__list", "my_dead__list", "unknown"]) {
    await expect(gateway.client.callTool({ name, arguments: {} })).rejects.toThrow();
  }
  await expect
    .poll(async () => (await gateway.reader.getCallStatistics({})).total, pollOptions)
    .toMatchObject({ calls: 4n, failed: 3n, failureRate: 0.75 });
  const { servers } = await gateway.reader.getCallStatistics({});
  expect(servers).toMatchObject([
    { server: "dead", calls: 1n, failed: 1n, failureRate: 1 },
    { server: "my.dead", calls: 1n, failed: 1n, failureRate: 1 },
    { server: "notes", calls: 1n, failed: 0n },
  ]);
  expect((await toolCalls(gateway)).map(({ server, name }) => `${server}/${name}`)).toEqual([
    "notes/echo",
    "dead/list",
    "my.dead/list",
    "/unknown",
  ]);
});
