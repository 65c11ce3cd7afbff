import { describe, expect, test, vi } from "vitest";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { waiting } from "../../waiting.test.helper.js";
import { initialize, startBridge } from "./bridge.test.helper.js";
import { modern, startToolServer, startWebSocketServer } from "./tool-server.test.helper.js";

describe("a request that the client cancels", () => {
  test("cancels a request at an older-era server, and ends its exchange", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    await initialize(bridge);
    bridge.send({ jsonrpc: "2.0", id: "c", method: "tools/call", params: { name: "wait" } });
    await vi.waitFor(() => expect(server.waiting).toHaveLength(1), waiting);
    bridge.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "c" } });
    await vi.waitFor(() => expect(server.asked("notifications/cancelled")).toHaveLength(1), waiting);
    await vi.waitFor(() => expect(server.waiting[0]?.destroyed).toBe(true), waiting);
    // No response is expected.
    await bridge.ask("tools/list");
    expect(bridge.lines.filter(({ id }) => id === "c")).toEqual([]);
  });

  test("cancels a request at a newer-era server by ending its exchange alone", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    bridge.send({ jsonrpc: "2.0", id: "c", method: "tools/call", params: modern({ name: "wait" }) });
    await vi.waitFor(() => expect(server.waiting).toHaveLength(1), waiting);
    bridge.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: modern({ requestId: "c" }) });
    await vi.waitFor(() => expect(server.waiting[0]?.destroyed).toBe(true), waiting);
    await bridge.ask("tools/list", modern());
    expect(server.asked("notifications/cancelled")).toEqual([]);
    expect(bridge.lines.filter(({ id }) => id === "c")).toEqual([]);
  });

  test("cancels a request over a shared socket by a message, in either era", async () => {
    const server = await startWebSocketServer();
    const bridge = startBridge(server.url, { type: "ws" });
    bridge.send({ jsonrpc: "2.0", id: "c", method: "tools/call", params: modern({ name: "wait" }) });
    await vi.waitFor(() => expect(server.seen("tools/call")).toHaveLength(1), waiting);
    bridge.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: modern({ requestId: "c" }) });
    await vi.waitFor(() => expect(server.seen("notifications/cancelled")).toHaveLength(1), waiting);
  });
});

describe("a WebSocket", () => {
  test("fails the requests in flight when the server closes a WebSocket, and opens another for the next", async () => {
    const server = await startWebSocketServer();
    const bridge = startBridge(server.url, { type: "ws" });
    await initialize(bridge);
    const hanging = bridge.ask("tools/call", { name: "wait" });
    await vi.waitFor(() => expect(server.seen("tools/call")).toHaveLength(1), waiting);
    for (const socket of server.sockets) socket.terminate();
    expect((await hanging).error).toMatchObject({ code: -32000 });
    expect((await bridge.ask("tools/list")).result).toBeDefined();
    expect([server.seen("initialize").length, server.seen("tools/call").length]).toEqual([2, 1]);
  });

  test("forwards server requests, and returns the responses", async () => {
    const server = await startWebSocketServer();
    const bridge = startBridge(server.url, { type: "ws" });
    await initialize(bridge);
    for (const socket of server.sockets) socket.send('{"jsonrpc":"2.0","id":"s1","method":"roots/list"}');
    await vi.waitFor(() => expect(bridge.lines.some(({ method }) => method === "roots/list")).toBe(true), waiting);
    bridge.send({ jsonrpc: "2.0", id: "s1", result: { roots: [] } });
    await vi.waitFor(() => expect(server.responses).toEqual([{ roots: [] }]), waiting);
  });
});

test("returns an error for a response above the limit of a WebSocket, and connects again [TS-D-EXT-9]", async () => {
  const server = await startWebSocketServer();
  const bridge = startBridge(server.url, { type: "ws", limits: { messageBytes: 10_000 } });
  await initialize(bridge);
  const asked = bridge.ask("tools/call", { name: "wait" });
  await vi.waitFor(() => expect(server.seen("tools/call")).toHaveLength(1), waiting);
  const result = { text: "x".repeat(20_000) };
  const response = JSON.stringify({ jsonrpc: "2.0", id: server.seen("tools/call")[0]?.id, result });
  for (const socket of server.sockets) socket.send(response);
  expect((await asked).error?.message).toContain("10000 bytes");
  expect((await bridge.ask("tools/list")).result).toBeDefined();
  expect(server.seen("initialize")).toHaveLength(2);
});

describe("client messages", () => {
  test("forwards 5 MB messages in both directions", async () => {
    const server = await startToolServer();
    const text = "x".repeat(5 * 1024 * 1024);
    const { result } = await startBridge(server.url).ask("tools/call", { name: "x", text });
    expect(JSON.stringify(result)).toHaveLength(JSON.stringify({ content: [], got: { name: "x", text } }).length);
  });

  test("ends the bridge with an error if a message is larger than the limit", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url, { limits: { messageBytes: 1000 } });
    bridge.send(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":"${"x".repeat(1000)}"}}`);
    await expect(bridge.ended).rejects.toMatchObject({ code: "MESSAGE_TOO_LARGE" });
    expect(bridge.input.destroyed).toBe(true);
    expect(server.requests).toEqual([]);
  });

  test("returns an error for a line that is not a message, and affects no other request", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    bridge.send("nonsense", "", '{"jsonrpc":"1.0","id":1}');
    expect((await bridge.ask("tools/list")).result).toBeDefined();
    const errors = bridge.lines.filter(({ id }) => id === null);
    expect(errors.map(({ error }) => error?.code)).toEqual([-32700, -32700]);
  });

  test("accepts a batch from the client", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    const ping = (id: number): object => ({ jsonrpc: "2.0", id, method: "ping" });
    bridge.send([ping(101), ping(102)]);
    await vi.waitFor(() => expect(bridge.lines.map(({ id }) => id).sort()).toEqual([101, 102]), waiting);
  });
});

describe("[TS-D-BRIDGE-1] a client that disconnects", () => {
  test("ends the bridge and everything that it started when the client disconnects, even during a call", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    await initialize(bridge);
    bridge.send({ jsonrpc: "2.0", id: "c", method: "tools/call", params: { name: "wait" } });
    await vi.waitFor(() => expect(server.waiting).toHaveLength(1), waiting);
    bridge.leave();
    await bridge.ended;
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });

  test("ends the bridge at a broken pipe", async () => {
    const server = await startToolServer();
    const bridge = startBridge(server.url);
    bridge.input.destroy(new Error("EPIPE"));
    await bridge.ended;
    expect(server.requests).toEqual([]);
  });
});

test("shows no secret of a header or of the url in an error or in a report", async () => {
  const [token, key] = ["t0ken-of-the-header", "k3y-of-the-query"];
  const server = await startToolServer((_, response, { headers, url }) => {
    const words = `You sent ${headers.authorization} to ${url}`;
    response.writeHead(500, { "content-type": "text/plain" }).end(words);
    return true;
  });
  const bridge = startBridge(`${server.url}?key=${key}`, {
    secrets: createSecretRegistry(),
    headers: [{ name: "Authorization", value: `Bearer ${token}` }],
  });
  const { error } = await bridge.ask("initialize");
  expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${token}`);
  expect(error?.message).toContain("You sent Bearer [redacted] to /mcp?key=[redacted]");
  expect(JSON.stringify([bridge.lines, bridge.problems])).not.toMatch(new RegExp(`${token}|${key}`));
});
