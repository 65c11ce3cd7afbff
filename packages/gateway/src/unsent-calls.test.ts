import type { ServerResponse } from "node:http";
import { metaKeys } from "@wirescope/tool-server/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { connect, pollOptions, post, startTestGateway, textOf } from "./gateway.test.helper.js";
import { eventOf, type RawMessage, serveRaw } from "./raw-server.test.helper.js";

test("counts the silence of a server from when a call is sent, and refuses a call that waits too long for a connection", async () => {
  let nowMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  const advance = (byMs: number): void => {
    nowMs += byMs;
  };

  const held: { readonly message: RawMessage; readonly response: ServerResponse }[] = [];
  const server = await serveRaw({
    "tools/call"(message, response) {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      held.push({ message, response });
      return undefined;
    },
  });
  const respond = (index: number): void => {
    const { message, response } = held[index] ?? {};
    const result = { content: [{ type: "text", text: "late" }] };
    response?.end(eventOf(JSON.stringify({ jsonrpc: "2.0", id: message?.id, result })));
  };
  const limits = { callIdleMs: 400, clientConcurrency: 1000 };
  const gateway = await startTestGateway({ raw: server.entry }, { limits });
  const client = await connect(gateway, "modern");
  const call = () => client.callTool({ name: "raw__echo", arguments: {} });
  let progress = 0;
  const readCall = async (_: unknown, id: number): Promise<string> => {
    const _meta = {
      [metaKeys.protocolVersion]: "2026-07-28",
      [metaKeys.clientCapabilities]: {},
      progressToken: id,
    };
    const message = { jsonrpc: "2.0", id, method: "tools/call", params: { name: "raw__echo", arguments: {}, _meta } };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "raw__echo" };
    const { body } = await post(gateway, message, headers);
    let text = "";
    for await (const chunk of body ?? []) {
      text += Buffer.from(chunk);
      if (text.endsWith("\n\n") && !text.includes('"id"')) progress += 1;
    }
    return text;
  };
  const inFlight = () => gateway.gateway.servers()[0]?.callsInFlight;

  // All connections but that of the event stream.
  const ended = Promise.all(Array.from({ length: 255 }, readCall));
  await expect.poll(() => held.length, pollOptions).toBe(255);
  const first = call();
  await expect.poll(inFlight, pollOptions).toBe(256);
  advance(300);
  for (const { message, response } of held) {
    const meta = message.params?._meta as { readonly progressToken: number };
    const params = { progressToken: meta.progressToken, progress: 1 };
    response.write(eventOf(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })));
  }
  await expect.poll(() => progress, pollOptions).toBe(255);
  const second = call();
  await expect.poll(inFlight, pollOptions).toBe(257);

  advance(150);
  await expect(first).rejects.toMatchObject({
    message: expect.stringContaining("other requests use all connections"),
    data: { reason: "SERVER_BUSY" },
  });
  expect(held).toHaveLength(255);
  respond(0);
  await expect.poll(() => held.length, pollOptions).toBe(256);
  for (let index = 1; index < 254; index += 1) respond(index);
  await expect.poll(inFlight, pollOptions).toBe(2);
  // 500 ms after it was accepted, and 350 ms after it was sent. The other is cancelled by the same check.
  advance(350);
  expect((await ended).filter((text) => text.includes("CALL_TIMEOUT"))).toHaveLength(1);
  respond(255);
  expect(textOf(await second)).toBe("late");
  // The server never received the first call, so it must not receive its cancellation, which was the first.
  const cancelled = () =>
    server.seen.flatMap(({ method, params }) => (method === "notifications/cancelled" ? params?.requestId : []));
  await expect.poll(cancelled, pollOptions).toEqual([held[254]?.message.id]);
});

test("says that a call was not sent if the connection was not ready in time", async () => {
  let isLost = false;
  let handshakes = 0;
  const server = await serveRaw({
    initialize() {
      handshakes += 1;
      if (isLost) return undefined;
      const serverInfo = { name: "raw", version: "1" };
      return JSON.stringify({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
    },
    "tools/call"(_, response) {
      isLost = true;
      response.writeHead(404).end();
      return undefined;
    },
    ping(_, response) {
      if (!isLost) return "{}";
      response.writeHead(404).end();
      return undefined;
    },
  });
  const gateway = await startTestGateway({ raw: server.entry }, { limits: { callIdleMs: 1500 } });
  const client = await connect(gateway, "modern");
  await expect(client.callTool({ name: "raw__echo", arguments: {} })).rejects.toMatchObject({
    message: expect.stringContaining("was not sent to the server"),
    data: { reason: "CALL_TIMEOUT" },
  });
  await expect.poll(() => handshakes, pollOptions).toBe(2);
});
