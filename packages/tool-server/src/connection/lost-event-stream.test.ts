import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { channelPrefix } from "../diagnostics.js";
import type { FakeClock } from "../fake-clock.test.helper.js";
import { startHostileServer } from "../http/hostile-http-server.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import type { Connection } from "./connection.js";
import { openEagerConnection } from "./servers/eager-connection.test.helper.js";

/** A server of the older era that responds to calls of tools only when the test does. */
interface HeldServer {
  /** The sessions of the calls of tools, in order. */
  readonly callSessions: readonly unknown[];
  /** Responds to a call of a tool. */
  respond(index: number): void;
  readonly streams: readonly ServerResponse[];
  /** How many transports have closed. */
  closings(): number;
  readonly connection: Connection;
  readonly clock: FakeClock;
}

/** `onGet` responds to a GET request of the first session after its first event stream. */
async function start(onGet: (response: ServerResponse) => void): Promise<HeldServer> {
  const callSessions: unknown[] = [];
  const respond: (() => void)[] = [];
  const streams: ServerResponse[] = [];
  let sessions = 0;
  const { url } = await startHostileServer(({ method, headers, body }, response) => {
    const session = headers["mcp-session-id"];
    if (method === "GET" && streams.length > 0 && session === "session-1") return onGet(response);
    if (method === "GET") {
      streams.push(response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.flushHeaders();
    }
    if (method !== "POST") return response.writeHead(200).end();
    const message: { readonly id?: number; readonly method: string } = JSON.parse(body);
    if (message.id === undefined) return response.writeHead(202).end();
    if (message.method === "server/discover") return response.writeHead(400).end();
    if (message.method === "ping") return response.writeHead(404).end();
    const isHandshake = message.method === "initialize";
    if (isHandshake) sessions += 1;
    const handshake = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "t", version: "1" },
    };
    const result = isHandshake ? handshake : { content: [{ type: "text", text: String(session) }] };
    const end = (): void => {
      response
        .writeHead(200, { "content-type": "application/json", "mcp-session-id": `session-${sessions}` })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    };
    if (message.method !== "tools/call") return end();
    callSessions.push(session);
    respond.push(end);
  });
  let closings = 0;
  const onClosed = (): void => {
    closings += 1;
  };
  subscribe(`${channelPrefix}transport:closed`, onClosed);
  onTestFinished(() => void unsubscribe(`${channelPrefix}transport:closed`, onClosed));
  const { connection, clock } = await openEagerConnection({ type: "http", url: String(url) });
  const respondTo = (index: number): void => respond[index]?.();
  return { callSessions, respond: respondTo, streams, closings: () => closings, connection, clock };
}

test.each<[string, (response: ServerResponse) => void]>([
  ["is forgotten", (response) => response.writeHead(404).end()],
  ["cannot be reopened", (response) => response.destroy()],
])(
  "makes new calls in a new session as soon as the event stream of a session %s, although calls always overlap",
  async (_, onGet) => {
    const { callSessions, respond, streams, closings, connection, clock } = await start(onGet);
    const call = () => connection.callTool({ name: "hold", arguments: {} }, { idleTimeoutMs: 2 ** 31 });
    await expect.poll(() => streams.length, waiting).toBe(1);
    const first = call();
    await expect.poll(() => callSessions.length, waiting).toBe(1);
    streams[0]?.end();
    await expect
      .poll(() => {
        clock.advance(1000);
        return streams.length;
      }, waiting)
      .toBe(2);
    const second = call();
    await expect.poll(() => callSessions, waiting).toEqual(["session-1", "session-2"]);
    const third = call();
    await expect.poll(() => callSessions.length, waiting).toBe(3);
    expect(closings()).toBe(0);
    respond(0);
    expect((await first).content).toEqual([{ type: "text", text: "session-1" }]);
    await expect.poll(closings, waiting).toBe(1);
    for (const index of [1, 2]) respond(index);
    for (const { content } of await Promise.all([second, third])) {
      expect(content).toEqual([{ type: "text", text: "session-2" }]);
    }
    expect([connection.state, closings()]).toEqual(["READY", 1]);
  },
);
