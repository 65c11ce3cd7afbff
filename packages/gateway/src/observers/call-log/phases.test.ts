import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { configurationOf, pollOptions } from "../../gateway.test.helper.js";
import { CallOutcome } from "../../gen/wirescope/v1/calls_pb.js";
import { serveRaw } from "../../raw-server.test.helper.js";
import { legacyListener, makeEcho, serve, small } from "../../tool-servers.test.helper.js";
import { lastToolCall, outlineOf, startTestCalls } from "./calls.test.helper.js";

const exchange = ["request", "server", "response"];
const certificates = new URL("../../../../../test/certificates/", import.meta.url);

/** A helper that returns a different header each time. */
function helper(): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-calls-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "helper.sh");
  writeFileSync(file, '#!/bin/sh\necho "{\\"x-key\\":\\"key-$(date +%s%N)\\"}"\n', { mode: 0o755 });
  return file;
}

test("[TS-D-CALLS-1] shows a call over an open connection as a request, the server and a response on one socket", async () => {
  const { entry } = await serveRaw();
  const gateway = await startTestCalls({ notes: entry });
  await gateway.client.callTool({ name: "notes__echo", arguments: {} });
  const call = await lastToolCall(gateway);
  expect(call).toMatchObject({
    outcome: CallOutcome.OK,
    server: "notes",
    name: "echo",
    method: "tools/call",
    client: "test-legacy 1.0.0",
    reason: "",
  });
  expect(call.session).not.toBe("");
  const phases = call.phases.filter(({ kind }) => exchange.includes(outlineOf([{ kind, depth: 0 } as never])[0] ?? ""));
  expect(outlineOf(phases)).toEqual(exchange);
  const [first] = phases;
  expect(new Set(phases.map(({ socketId }) => socketId)).size).toBe(1);
  const { socket } = await gateway.gateway.registry.getSocket(first?.socketId ?? 0n);
  expect(socket?.ref?.socketId).toBe(first?.socketId);
  const { subchannel } = await gateway.gateway.registry.getSubchannel(first?.subchannelId ?? 0n);
  expect(subchannel?.socketRef.map(({ socketId }) => socketId)).toContain(first?.socketId);
  const { channel } = await gateway.gateway.registry.getChannel(first?.channelId ?? 0n);
  expect(channel?.ref?.name).toBe("notes");
});

test("shows the DNS lookup, TCP and TLS phases of a call that finds no idle connection", async () => {
  const [cert, key, ca] = ["server.pem", "server-key.pem", "ca.pem"].map((file) =>
    readFileSync(new URL(file, certificates)),
  );
  const server = createTlsServer({ cert, key }, legacyListener(makeEcho("tls")));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const entries = { tls: { type: "http", url: `https://localhost:${port}/mcp` } };
  const gateway = await startTestCalls(entries, {
    configurations: [configurationOf(entries, { ca: String(ca) })],
  });
  const echo = (): Promise<unknown> => gateway.client.callTool({ name: "tls__echo", arguments: { text: "a" } });
  await echo();
  // They need more than the open connections.
  await Promise.all([echo(), echo(), echo(), echo()]);
  const { call } = await gateway.calls.getCall({ id: (await lastToolCall(gateway)).id });
  expect(outlineOf(call?.phases ?? [])).toEqual(["connecting", "  lookup", "  tcp", "  tls", "request", "server"]);
  expect(call?.phases[0]?.socketId).toBe(call?.phases.at(-1)?.socketId);
});

test("shows a refused credential as a retry, the new helper run, and the repeated request", async () => {
  let refused: string | undefined;
  const port = await serve((request, response) => {
    const key = String(request.headers["x-key"]);
    const isCall = request.headers["x-test"] === undefined && refused === "next";
    if (isCall) refused = key;
    if (key === refused) {
      response.writeHead(401).end();
      return;
    }
    listener(request, response);
  });
  const listener = legacyListener(makeEcho("helped"));
  const entries = {
    helped: { type: "http", url: `http://127.0.0.1:${port}/mcp`, headersHelper: helper() },
  };
  const gateway = await startTestCalls(entries);
  const echo = (): Promise<unknown> => gateway.client.callTool({ name: "helped__echo", arguments: { text: "a" } });
  await echo();
  refused = "next";
  await echo();
  const call = await lastToolCall(gateway);
  expect(call.outcome).toBe(CallOutcome.OK);
  const outline = outlineOf(call.phases);
  const retriedAt = outline.indexOf("retry");
  // Before it, the cached credential is shown if reading it took long.
  expect(outline.slice(retriedAt - 2)).toEqual([
    "request",
    "server",
    "retry",
    "credential",
    "  helper",
    "request",
    "server",
  ]);
  expect(call.phases[retriedAt]?.reason).toBe("The server returned 401.");
});

test("shows the new connection of a call to a server that lost the session, with its steps and the helper run", async () => {
  let isForgotten = false;
  const server = await serveRaw({
    "tools/call"(_, response) {
      if (!isForgotten) return '{"content":[{"type":"text","text":"ok"}]}';
      response.writeHead(404, { connection: "close" }).end();
      return undefined;
    },
    ping(_, response) {
      if (!isForgotten) return "{}";
      isForgotten = false;
      response.writeHead(404, { connection: "close" }).end();
      return undefined;
    },
  });
  const gateway = await startTestCalls({
    notes: { ...server.entry, url: server.entry.url.replace("127.0.0.1", "localhost"), headersHelper: helper() },
  });
  const echo = (): Promise<unknown> => gateway.client.callTool({ name: "notes__echo", arguments: {} });
  await echo();
  isForgotten = true;
  await echo();
  const call = await lastToolCall(gateway);
  expect(call.outcome).toBe(CallOutcome.OK);
  const outline = outlineOf(call.phases);
  const again = outline.slice(outline.indexOf("retry"));
  expect(again.slice(0, 4)).toEqual(["retry", "connecting", "  lookup", "  tcp"]);
  expect(again.slice(-3)).toEqual(exchange);
});

test("shows the process as the socket of a stdio call", async () => {
  const gateway = await startTestCalls({ local: small });
  await expect
    .poll(() => gateway.client.callTool({ name: "local__echo", arguments: { message: "a" } }), pollOptions)
    .toMatchObject({ content: [{ text: "Echo: a" }] });
  const call = await lastToolCall(gateway);
  expect(outlineOf(call.phases).at(-1)).toBe("server");
  const { socket } = await gateway.gateway.registry.getSocket(call.phases.at(-1)?.socketId ?? 0n);
  expect(socket?.ref?.name).toContain("pid");
});

test("marks the phase in which a call failed", async () => {
  const server = await serveRaw({
    "tools/call"(_, response) {
      response.destroy();
      return undefined;
    },
  });
  const gateway = await startTestCalls({ notes: server.entry });
  await expect(gateway.client.callTool({ name: "notes__echo", arguments: {} })).rejects.toThrow();
  const call = await lastToolCall(gateway);
  expect(call.outcome).toBe(CallOutcome.ERROR);
  expect(call.reason).not.toBe("");
  expect(call.phases.at(-1)).toMatchObject({ failed: true });
});
