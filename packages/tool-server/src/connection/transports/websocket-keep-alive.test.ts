import { describe, expect, test, vi } from "vitest";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { requestOf } from "./watched-transport.test.helper.js";
import { prepareWebSocket, serveWebSockets } from "./websocket.test.helper.js";

describe("a silent server", () => {
  test("pings a silent server, and keeps the connection if it responds", async () => {
    const clock = createFakeClock();
    const server = await serveWebSockets(() => {});
    const { transport, published } = prepareWebSocket(server, { clock });
    await transport.start();
    const [socketInfo] = published.sockets.keys();
    if (socketInfo?.kind !== "socket") throw new Error("no socket");
    for (const round of [1, 2, 3]) {
      const { bytesRead } = socketInfo.socket;
      clock.advance(30_000);
      expect(published.totals()["keep-alive-sent"]).toBe(round);
      // Nothing but the pong.
      await vi.waitFor(() => expect(socketInfo.socket.bytesRead).toBe(bytesRead + 2), waiting);
      clock.advance(10_000);
    }
    expect(transport.failure).toBeUndefined();
  });

  test("does not ping a server while it sends messages", async () => {
    const clock = createFakeClock();
    const server = await serveWebSockets((socket) => socket.on("message", (data) => socket.send(String(data))));
    const { transport, messages, published } = prepareWebSocket(server, { clock });
    await transport.start();
    for (const round of [1, 2, 3]) {
      await transport.send(requestOf(round));
      await vi.waitFor(() => expect(messages).toHaveLength(round), waiting);
      clock.advance(30_000);
    }
    expect(published.totals()["keep-alive-sent"]).toBe(0);
    await transport.close();
    expect(clock.waiting).toBe(0);
  });

  test("ends the connection to a server that does not respond to a ping", async () => {
    const clock = createFakeClock();
    const server = await serveWebSockets(() => {}, { autoPong: false });
    const { transport, failure, published } = prepareWebSocket(server, { clock });
    await transport.start();
    clock.advance(29_999);
    expect(published.totals()["keep-alive-sent"]).toBe(0);
    clock.advance(1);
    expect(published.totals()["keep-alive-sent"]).toBe(1);
    clock.advance(9999);
    expect(transport.failure).toBeUndefined();
    clock.advance(1);
    expect(await failure()).toMatchObject({
      code: "CONNECTION_LOST",
      message: expect.stringContaining("did not respond to a ping within 10000 ms"),
    });
    expect(clock.waiting).toBe(0);
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });
});
