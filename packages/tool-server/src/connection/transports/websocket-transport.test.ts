import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, test, vi } from "vitest";
import type { WebSocket } from "ws";
import { waiting } from "../../waiting.test.helper.js";
import { defaultLimits } from "./transport.js";
import { granted, prepareWebSocket, serveRaw, serveWebSockets, startAnyhow } from "./websocket.test.helper.js";

describe("messages of a WebSocket", () => {
  const small = { limits: { ...defaultLimits, messageBytes: 1000 } };

  test.each([
    ["a message larger than the limit", "MESSAGE_TOO_LARGE", (socket: WebSocket) => socket.send("x".repeat(1001))],
    ["binary data", "NOT_A_TOOL_SERVER", (socket: WebSocket) => socket.send(Buffer.from("{}"))],
    [
      "too much text that is not a message",
      "NOT_A_TOOL_SERVER",
      (socket: WebSocket) => Array.from({ length: 9 }, () => socket.send("x".repeat(200))),
    ],
  ])("ends a WebSocket after %s with %s", async (_, code, act) => {
    const server = await serveWebSockets((socket) => void act(socket));
    const { transport, failure, messages } = prepareWebSocket(server, small);
    await startAnyhow(transport);
    expect(await failure()).toMatchObject({ code });
    expect(messages).toEqual([]);
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });

  test("ends a WebSocket at a large message before it has arrived", async () => {
    const server = await serveRaw((upgrade, socket) => {
      const header = Buffer.from([0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0]);
      socket.write(
        Buffer.concat([
          Buffer.from(granted(upgrade, "Sec-WebSocket-Protocol: mcp")),
          header,
          Buffer.from('{"jsonrpc":"2.0","id":1,"result":{'),
        ]),
      );
    });
    const { transport, failure } = prepareWebSocket(server, small);
    await startAnyhow(transport);
    expect(await failure()).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
  });

  test.each([
    ["a frame with reserved bits", [0xf1, 0]],
    ["text that is not UTF-8", [0x81, 2, 0xc3, 0x28]],
    ["a masked frame", [0x81, 0x81, 1, 2, 3, 4, 5]],
  ])("reports %s as a violation of the WebSocket protocol: NOT_A_TOOL_SERVER", async (_, bytes) => {
    const server = await serveRaw((upgrade, socket) => {
      socket.write(Buffer.concat([Buffer.from(granted(upgrade, "Sec-WebSocket-Protocol: mcp")), Buffer.from(bytes)]));
    });
    const { transport, failure } = prepareWebSocket(server);
    await startAnyhow(transport);
    expect(await failure()).toMatchObject({
      code: "NOT_A_TOOL_SERVER",
      message: expect.stringContaining("violated the WebSocket protocol"),
    });
  });
});

describe("the end of a WebSocket", () => {
  test.each([
    [1000, "CONNECTION_LOST", 'closed the connection normally (1000: "bye")'],
    [1001, "CONNECTION_LOST", 'is going away (1001: "bye")'],
    [1008, "CONNECTION_LOST", 'reports a policy violation (1008: "bye")'],
    [1009, "MESSAGE_TOO_LARGE", 'is too large (1009: "bye")'],
    [1011, "CONNECTION_LOST", 'failed (1011: "bye")'],
    [3000, "UNAUTHORIZED", 'rejects the credential (3000: "bye")'],
    [3003, "FORBIDDEN", 'denies access (3003: "bye")'],
    [4242, "CONNECTION_LOST", 'closed the connection with its own code (4242: "bye")'],
  ])("reports the close code %i as %s", async (closeCode, code, words) => {
    const server = await serveWebSockets((socket) => socket.close(closeCode, "bye"));
    const { transport, failure } = prepareWebSocket(server);
    await startAnyhow(transport);
    expect(await failure()).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  test("reports a close without a code, or without a close frame, as CONNECTION_LOST", async () => {
    for (const [end, words] of [
      [(socket: WebSocket) => socket.close(), "closed the connection without a status (1005)"],
      [(socket: WebSocket) => socket.terminate(), "closed the connection without a close frame (1006)"],
    ] as const) {
      const { transport, failure } = prepareWebSocket(await serveWebSockets(end));
      await startAnyhow(transport);
      expect(await failure()).toMatchObject({ code: "CONNECTION_LOST", message: expect.stringContaining(words) });
    }
  });

  test("reports the server's reason for the close escaped and redacted", async () => {
    const secret = "s3cr3t-t0ken";
    const server = await serveWebSockets((socket) => socket.close(1011, `\u001b[31m bad ${secret}`));
    const { transport, failure, published } = prepareWebSocket(server, { secret });
    await startAnyhow(transport);
    expect((await failure()).message).toContain('(1011: "\\x1b[31m bad [redacted]")');
    expect(published.words()).not.toContain(secret);
  });

  test("ends a message that is being written when the WebSocket closes", async () => {
    const server = await serveRaw((upgrade, socket) => {
      socket.pause().write(granted(upgrade, "Sec-WebSocket-Protocol: mcp"));
    });
    const large: JSONRPCMessage = { jsonrpc: "2.0", method: "test/large", params: { text: "x".repeat(20_000_000) } };
    const lost = prepareWebSocket(server);
    await lost.transport.start();
    const lostSend = expect(lost.transport.send(large)).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      details: { wasSent: true },
    });
    for (const socket of server.sockets) socket.resetAndDestroy();
    await lostSend;
    const closed = prepareWebSocket(server);
    await closed.transport.start();
    const closedSend = expect(closed.transport.send(large)).rejects.toMatchObject({
      code: "CONNECTION_CLOSED",
      details: { wasSent: true },
    });
    await closed.transport.close();
    await closedSend;
  });

  test("does not wait for a server that does not respond to the close", async () => {
    const server = await serveRaw((upgrade, socket) => socket.write(granted(upgrade, "Sec-WebSocket-Protocol: mcp")));
    const { transport, closings } = prepareWebSocket(server);
    await startAnyhow(transport);
    await transport.close();
    expect(closings()).toBe(1);
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });
});
