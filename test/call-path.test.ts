import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { readPathPage, startTracedGateway } from "./path-page.test.helper.js";

const page = readPathPage("call-path.md");
const { files } = page;

/** A server over HTTP with one tool. */
async function serveEcho(): Promise<string> {
  const results: Readonly<Record<string, unknown>> = {
    initialize: {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "echo", version: "1" },
    },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "hello" }] },
  };
  const server = createServer(async (request, response) => {
    const { id, method } = JSON.parse((await text(request)) || "{}") as { id?: number; method?: string };
    const result = results[method ?? ""];
    if (result === undefined) response.writeHead(id === undefined ? 202 : 404).end();
    else response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

test("docs/call-path.md lists exactly the files that run for a call from HTTP to HTTP", async () => {
  const gateway = await startTracedGateway({ traced: { type: "http", url: await serveEcho() } });
  const { endpoint, token } = gateway;
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const post = async (message: object): Promise<string> => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    const response = await fetch(endpoint, { method: "POST", headers, body });
    headers["mcp-session-id"] ??= response.headers.get("mcp-session-id") ?? "";
    return response.text();
  };
  const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  await post({ id: 0, method: "initialize", params: client });
  await post({ method: "notifications/initialized" });
  const call = (id: number): Promise<string> => post({ id, method: "tools/call", params: { name: "traced__echo" } });
  // From the first request for a service on, each request is compared with the paths of all services.
  await fetch(new URL("/grpc.health.v1.Health/Check", endpoint), { method: "POST", headers, body: "{}" });
  // The first ones also connect, and load modules.
  await expect.poll(() => call(1), { timeout: 60_000 }).toContain("hello");
  await call(2);
  // Timers run too, so a file counts only if it runs in each of several calls.
  let ran: readonly string[] | undefined;
  await gateway.takeFiles();
  for (let id = 3; id < 13; id += 1) {
    expect(await call(id)).toContain("hello");
    const now = await gateway.takeFiles();
    ran = ran?.filter((path) => now.includes(path)) ?? now;
  }
  expect(ran?.filter((path) => !page.isNotCounted(path)).toSorted()).toEqual(files.toSorted());
});

test("docs/call-path.md lists files that exist, each once, and at most 45", () => {
  const missing = files.filter((path) => !existsSync(new URL(`../packages/${path}`, import.meta.url)));
  expect(missing).toEqual([]);
  expect(new Set(files).size).toBe(files.length);
  expect(files.length).toBeGreaterThan(0);
  expect(files.length).toBeLessThanOrEqual(45);
});

test("no object literal on the path of a call has a getter: V8 keeps such an object as a hash table", () => {
  const others = [
    "tool-server/src/connection/transports/stdio-transport.ts",
    "tool-server/src/connection/transports/json-rpc-streams.ts",
    "tool-server/src/connection/transports/stray-output.ts",
    "gateway/src/servers/servers.ts",
    "gateway/src/servers/cached-list.ts",
    "gateway/src/observers/call-log/capture.ts",
  ];
  // Getters of classes, which are on their prototypes, are indented less.
  const getter = /^ {4,}get \w+\(/m;
  const having = [...files, ...others].filter((path) => {
    return getter.test(readFileSync(new URL(`../packages/${path}`, import.meta.url), "utf8"));
  });
  expect(having).toEqual([]);
});
