import { connect as connectSocket } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { connect, pollOptions, post, startTestGateway, type TestGateway, textOf } from "./gateway.test.helper.js";
import { completeLimits } from "./limits.js";
import { serveRaw } from "./raw-server.test.helper.js";
import { makeEcho, serveModern } from "./tool-servers.test.helper.js";

/** A server whose tool ends when it is released. */
async function startHolding(limits: Parameters<typeof completeLimits>[0]): Promise<{
  readonly gateway: TestGateway;
  readonly running: () => number;
  release(): void;
}> {
  const waiting = new Set<() => void>();
  const url = await serveModern(() => {
    const server = new McpServer({ name: "hold", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("hold", { inputSchema: z.object({}) }, async () => {
      await new Promise<void>((resolve) => waiting.add(resolve));
      return { content: [{ type: "text", text: "held" }] };
    });
    return server;
  });
  const gateway = await startTestGateway(
    { hold: { type: "http", url }, echo: { type: "http", url: await serveModern(makeEcho("echo")) } },
    { limits: limits ?? {} },
  );
  return {
    gateway,
    running: () => waiting.size,
    release() {
      for (const resolve of waiting) resolve();
      waiting.clear();
    },
  };
}

const initialize = (name: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name, version: "1" } },
});
const begin = async (gateway: TestGateway, name = "raw") => {
  const response = await post(gateway, initialize(name));
  return { status: response.status, session: { "mcp-session-id": response.headers.get("mcp-session-id") ?? "" } };
};

test("limits one client's requests in flight, and does not delay other clients", async () => {
  const { gateway, running, release } = await startHolding({ clientConcurrency: 2 });
  const { session } = await begin(gateway, "greedy");
  const hold = (id: number) =>
    post(gateway, { jsonrpc: "2.0", id, method: "tools/call", params: { name: "hold__hold", arguments: {} } }, session);
  const held = [hold(1), hold(2)];
  await expect.poll(running, pollOptions).toBe(2);
  const refused = await hold(3);
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ id: 3, error: { data: { reason: "OVERLOADED" } } });
  const other = await connect(gateway, "legacy");
  expect(textOf(await other.callTool({ name: "echo__echo", arguments: { text: "a" } }))).toBe("echo: a");
  release();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
  expect(gateway.events.filter(({ kind }) => kind === "refused")).toHaveLength(1);
});

/** Sends many requests at once with `send`, and expects that the rate limit admits the right number, however slow the machine is. */
async function expectRate(rate: number, send: (id: number) => Promise<readonly number[]>): Promise<void> {
  const startedAt = performance.now();
  const statuses = (await Promise.all(Array.from({ length: 12 * rate }, (_, id) => send(id)))).flat();
  const elapsedS = (performance.now() - startedAt) / 1000;
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  const admitted = statuses.filter((status) => status === 200).length;
  // The first requests, such as those that start a session, may have been sent before.
  expect(admitted).toBeGreaterThanOrEqual(2 * rate - 1);
  expect(admitted).toBeLessThanOrEqual(2 * rate + Math.ceil(elapsedS * rate) + 1);
}

test("limits the requests per second of one client", async () => {
  const gateway = await startTestGateway({}, { limits: { clientRate: 5 } });
  const { session } = await begin(gateway);
  await expectRate(5, async (id) => [(await post(gateway, { jsonrpc: "2.0", id, method: "ping" }, session)).status]);
});

test.each([
  ["a new session for each request", { token: undefined }],
  ["a new session for each request, and an Authorization header that nobody checks", { token: false }],
] as const)("applies clientRate despite %s", async (_, { token }) => {
  const gateway = await startTestGateway({}, { limits: { clientRate: 1 }, listen: { token } });
  await expectRate(1, async (id) => {
    const client = token === false ? { ...gateway, token: `of client ${id}` } : gateway;
    const { status, session } = await begin(client, `client ${id}`);
    return status === 200
      ? [200, (await post(client, { jsonrpc: "2.0", id, method: "ping" }, session)).status]
      : [status];
  });
});

/** A modern request with a different client name each time. */
function modernRequest(
  id: number,
  method: string,
  params: object = {},
): { readonly message: object; readonly headers: Record<string, string> } {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: `client ${id}`, version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method };
  return { message: { jsonrpc: "2.0", id, method, params: { ...params, _meta } }, headers };
}

test("counts subscriptions towards clientRate", async () => {
  const gateway = await startTestGateway({}, { limits: { clientRate: 1 } });
  await expectRate(1, async (id) => {
    const { message, headers } = modernRequest(id, "subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    const response = await post(gateway, message, headers);
    await response.body?.cancel();
    return [response.status];
  });
});

test.each([
  ["discoveries", "server/discover", 200],
  ["requests with unknown methods", "unknown/method", 404],
])("counts %s towards clientRate", async (_, method, admitted) => {
  const gateway = await startTestGateway({}, { limits: { clientRate: 1 } });
  await expectRate(1, async (id) => {
    const { message, headers } = modernRequest(id, method);
    const { status } = await post(gateway, message, headers);
    return [status === admitted ? 200 : status];
  });
});

test("applies clientRate despite another name in each request or another spelling of the token", async () => {
  const gateway = await startTestGateway({}, { limits: { clientRate: 1 } });
  await expectRate(1, async (id) => {
    const { message, headers } = modernRequest(id, "tools/list");
    const authorization = `Bearer ${" ".repeat(id)}${gateway.token}`;
    return [(await post(gateway, message, { ...headers, authorization })).status];
  });
});

test("limits the calls in flight of one server, without affecting other servers", async () => {
  const { gateway, running, release } = await startHolding({ serverConcurrency: 2 });
  const client = await connect(gateway, "modern");
  const held = [1, 2].map(() => client.callTool({ name: "hold__hold", arguments: {} }));
  await expect.poll(running, pollOptions).toBe(2);
  await expect(client.callTool({ name: "hold__hold", arguments: {} })).rejects.toThrow(
    /"hold" has reached its limit of 2 calls in flight/,
  );
  expect(textOf(await client.callTool({ name: "echo__echo", arguments: { text: "a" } }))).toBe("echo: a");
  expect(gateway.events.filter(({ kind }) => kind === "refused")).toMatchObject([{ limit: "server-concurrency" }]);
  release();
  expect((await Promise.all(held)).map(textOf)).toEqual(["held", "held"]);
});

test("reports each notification that is dropped because too many wait for a server", async () => {
  let held = 0;
  const extensions = { "example.com/notes": {} };
  const server = await serveRaw({
    initialize: () =>
      JSON.stringify({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, extensions },
        serverInfo: { name: "raw", version: "1" },
      }),
    "notifications/example/changed"() {
      held += 1;
      return undefined;
    },
  });
  const gateway = await startTestGateway({ raw: server.entry });
  await expect.poll(() => gateway.gateway.servers()[0]?.tools, pollOptions).toBe(1);
  const client = await connect(gateway, "legacy", { capabilities: { extensions } });
  for (let sent = 0; sent < 40; sent += 1)
    await client.notification({ method: "notifications/example/changed" } as never);
  const refusals = () => gateway.events.flatMap((event) => (event.kind === "refused" ? event.limit : []));
  await expect.poll(refusals, pollOptions).toEqual(Array(8).fill("server-notifications"));
  await expect.poll(() => held, pollOptions).toBe(32);
});

test("reports a notification that exceeds clientRate, and does not forward it", async () => {
  const gateway = await startTestGateway({}, { limits: { clientRate: 1 } });
  const { session } = await begin(gateway);
  const notify = () => post(gateway, { jsonrpc: "2.0", method: "notifications/example/changed" }, session);
  await expect.poll(async () => (await notify()).status, pollOptions).toBe(429);
  expect(gateway.events.filter(({ kind }) => kind === "refused")).toMatchObject([{ limit: "client-rate" }]);
});

test("reports a subscription that exceeds the limit of listeners", async () => {
  const gateway = await startTestGateway({}, { limits: { listeners: 1 } });
  const listen = (id: number) => {
    const notifications = { toolsListChanged: true };
    const { message, headers } = modernRequest(id, "subscriptions/listen", { notifications });
    return post(gateway, message, headers);
  };
  const stream = (await listen(1)).body?.getReader();
  onTestFinished(() => stream?.cancel());
  await stream?.read();
  expect(await (await listen(2)).text()).toContain("Subscription limit reached");
  expect(gateway.events.filter(({ kind }) => kind === "refused")).toMatchObject([{ limit: "listeners" }]);
});

test("closes the session that has been idle longest at the session limit, and none in use", async () => {
  const { gateway, running, release } = await startHolding({ sessions: 2 });
  const busy = await begin(gateway, "busy");
  const idle = await begin(gateway, "idle");
  const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "hold__hold", arguments: {} } };
  const held = post(gateway, call, busy.session);
  await expect.poll(running, pollOptions).toBe(1);
  const third = await begin(gateway, "third");
  const ping = { jsonrpc: "2.0", id: 3, method: "ping" };
  expect((await post(gateway, ping, idle.session)).status).toBe(404);
  const heldToo = post(gateway, { ...call, id: 4 }, third.session);
  await expect.poll(running, pollOptions).toBe(2);
  expect((await begin(gateway, "fourth")).status).toBe(503);
  release();
  expect((await Promise.all([held, heldToo])).map(({ status }) => status)).toEqual([200, 200]);
});

/** Stops the clock by which sessions are idle, until the test ends; returns a function that advances it. */
function stopDate(): (byMs: number) => void {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  return (byMs) => void vi.setSystemTime(Date.now() + byMs);
}

test("closes an idle session, and none in use", async () => {
  const advance = stopDate();
  const gateway = await startTestGateway({}, { limits: { sessionIdleMs: 100 } });
  const [used, left] = [await begin(gateway, "used"), await begin(gateway, "left")];
  const ping = async (session: Record<string, string>) =>
    (await post(gateway, { jsonrpc: "2.0", id: 3, method: "ping" }, session)).status;
  advance(99);
  expect(await ping(used.session)).toBe(200);
  advance(1);
  const closed = () => gateway.events.flatMap((event) => (event.kind === "session-closed" ? event.clientName : []));
  await expect.poll(closed, pollOptions).toEqual(["left 1"]);
  expect(await ping(left.session)).toBe(404);
  expect(await ping(used.session)).toBe(200);
});

test("does not treat sessions as idle whose requests have arrived, even if this process was busy for longer than the idle time", async () => {
  const advance = stopDate();
  const gateway = await startTestGateway({}, { limits: { sessionIdleMs: 100 } });
  const { hostname, port } = new URL(gateway.url);
  // More than start in one turn of the event loop.
  const clients = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const socket = connectSocket(Number(port), hostname);
      onTestFinished(() => void socket.destroy());
      const statuses: string[] = [];
      socket.setEncoding("latin1").on("data", (text: string) => {
        statuses.push(...(text.match(/(?<=^HTTP\/1\.1 )\d+/gm) ?? []));
      });
      const { session } = await begin(gateway);
      const body = JSON.stringify({ jsonrpc: "2.0", id: 3, method: "ping" });
      const lines = Object.entries({
        host: "localhost",
        authorization: `Bearer ${gateway.token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "content-length": body.length,
        ...session,
      }).map(([name, value]) => `${name}: ${value}\r\n`);
      const ping = (): void => void socket.write(`POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
      ping();
      return { statuses, ping };
    }),
  );
  const statuses = () => clients.flatMap((client) => client.statuses);
  await expect.poll(() => statuses().length, pollOptions).toBe(40);
  for (const { ping } of clients) ping();
  // The whole event loop is blocked, so the requests wait in the kernel.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 110);
  advance(110);
  await expect.poll(() => statuses().length, pollOptions).toBe(80);
  expect(new Set(statuses())).toEqual(new Set(["200"]));
});

test("rejects an invalid limit with a TypeError", () => {
  expect(() => completeLimits({ sesions: 1 } as object)).toThrow(TypeError);
  expect(() => completeLimits({ sessions: 0 })).toThrow(/must be greater than 0/);
  expect(completeLimits({ sessions: 5 })).toMatchObject({ sessions: 5, listMs: 5000 });
  // A longer timer would fire at once.
  const { inputMs, clientRate } = completeLimits({ inputMs: Infinity, clientRate: Infinity });
  expect([inputMs, clientRate]).toEqual([2 ** 31 - 1, Infinity]);
});
