import { request as httpRequest } from "node:http";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { createLineReader } from "@wirescope/tool-server/internal";
import { describe, expect, onTestFinished, test } from "vitest";
import { pollOptions, post, startTestGateway, type TestGateway } from "./gateway.test.helper.js";
import { serveRaw } from "./raw-server.test.helper.js";

const initialize = (changes: object = {}): object => ({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" }, ...changes },
});

async function begin(gateway: TestGateway): Promise<Record<string, string>> {
  const response = await post(gateway, initialize());
  return { "mcp-session-id": response.headers.get("mcp-session-id") ?? "" };
}

const modern = (method: string, params: object, headers: Record<string, string> = {}) => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return [
    { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
    { "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...headers },
  ] as const;
};

const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`;

test("refuses a message that is nested too deeply, and does not forward it", async () => {
  const server = await serveRaw();
  const gateway = await startTestGateway({ raw: server.entry });
  const session = await begin(gateway);
  const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"raw__echo","arguments":${deep}}}`;
  const refused = await post(gateway, call, session);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { code: -32_600, message: /nested deeper than 1000/ } });
  expect(server.seen.some(({ method }) => method === "tools/call")).toBe(false);
  expect((await post(gateway, { jsonrpc: "2.0", id: 3, method: "ping" }, session)).status).toBe(200);
});

const long = "n".repeat(100_000);

test.each([
  ["name", { clientInfo: { name: long, version: "1" } }],
  ["version", { clientInfo: { name: "a", version: long } }],
  ["capabilities", { capabilities: { elicitation: { form: {}, more: long } } }],
  ["version of the protocol", { protocolVersion: long }],
])("refuses initialize with a %s that is too long to keep", async (_, changes) => {
  const gateway = await startTestGateway({});
  const response = await post(gateway, initialize(changes));
  expect(await response.json()).toMatchObject({ error: { code: -32_602, message: /16384 characters/ } });
  expect(response.headers.get("mcp-session-id")).toBeNull();
  // Values that are not kept, such as an icon, may be long.
  const icons = [{ src: `data:image/png;base64,${long}` }];
  const fine = await post(gateway, initialize({ clientInfo: { name: "a", version: "1", icons } }));
  expect(fine.headers.get("mcp-session-id")).not.toBeNull();
});

/** A stdio server that accepts every subscription. */
const subscribable = `
  const capabilities = { tools: {}, resources: { subscribe: true } };
  const serverInfo = { name: "subscribable", version: "1" };
  const results = {
    initialize: { protocolVersion: "2025-11-25", capabilities, serverInfo },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "resources/list": { resources: [] },
    "resources/templates/list": { resourceTemplates: [] },
  };
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }) + "\\n");
  });
`;

describe("resource subscriptions", () => {
  test("limits the subscriptions of one session in number and length, and allows others after unsubscribing", async () => {
    const gateway = await startTestGateway({ all: { command: process.execPath, args: ["-e", subscribable] } });
    await expect.poll(() => gateway.gateway.servers()[0]?.tools, pollOptions).toBe(1);
    const [input, output] = [new PassThrough(), new PassThrough()];
    gateway.gateway.serveStdio(input, output);
    const responses = new Map<unknown, unknown>();
    const onLine = (line: string): void => {
      const response = JSON.parse(line) as { id?: unknown };
      if (response.id !== undefined) responses.set(response.id, response);
    };
    const lines = createLineReader(1_000_000, onLine, () => {});
    output.on("data", (chunk: Buffer) => lines.push(chunk));
    let last = 1;
    const ask = async (method: string, ...uris: string[]): Promise<unknown> => {
      for (const uri of uris) {
        last += 1;
        input.write(`${JSON.stringify({ jsonrpc: "2.0", id: last, method, params: { uri } })}\n`);
      }
      await expect.poll(() => responses.size, pollOptions).toBe(last);
      return responses.get(last);
    };
    input.write(`${JSON.stringify(initialize())}\n`);
    for (let first = 0; first < 1000; first += 200) {
      await ask("resources/subscribe", ...Array.from({ length: 200 }, (_, index) => `x:${first + index}`));
    }
    const tooMuch = { error: { code: -32_602, message: /at most 1000 resources/ } };
    expect(await ask("resources/subscribe", "x:more")).toMatchObject(tooMuch);
    expect(await ask("resources/subscribe", "x:5")).toMatchObject({ result: {} });
    await ask("resources/unsubscribe", "x:5");
    expect(await ask("resources/subscribe", "x:more")).toMatchObject({ result: {} });
    expect(await ask("resources/subscribe", `x:${long}`)).toMatchObject({ error: { message: /8192 characters/ } });
    const [listen, headers] = modern("subscriptions/listen", {
      notifications: { resourceSubscriptions: [`x:${long}`] },
    });
    expect(await (await post(gateway, listen, headers)).json()).toMatchObject({
      error: { message: /8192 characters/ },
    });
  });

  test("does not end the subscription of another client when one is refused", async () => {
    let isRefused = true;
    const server = await serveRaw({
      "resources/subscribe"({ id }, response) {
        if (!isRefused) return "{}";
        const error = '{"code":-32000,"message":"not now"}';
        response.writeHead(200, { "content-type": "application/json" });
        response.end(`{"jsonrpc":"2.0","id":${id},"error":${error}}`);
        return undefined;
      },
    });
    const gateway = await startTestGateway({ raw: server.entry });
    await expect.poll(() => gateway.gateway.servers()[0]?.tools, pollOptions).toBe(1);
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const [listen, headers] = modern("subscriptions/listen", { notifications: { resourceSubscriptions: ["x:1"] } });
    const stream = await fetch(gateway.endpoint, {
      method: "POST",
      headers: {
        authorization: `Bearer ${gateway.token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify(listen),
      signal: controller.signal,
    });
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    const asked = (method: string): number => server.seen.filter((message) => message.method === method).length;
    // A refused subscription is released at once.
    await expect.poll(() => asked("resources/unsubscribe"), pollOptions).toBe(1);

    isRefused = false;
    const session = await begin(gateway);
    const watch = { jsonrpc: "2.0", id: 5, method: "resources/subscribe", params: { uri: "x:1" } };
    expect(await (await post(gateway, watch, session)).json()).toMatchObject({ result: {} });
    controller.abort();
    const listeners = async (): Promise<string> => {
      const metrics = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${gateway.token}` } });
      return /^wirescope_gateway_listeners (\d+)$/m.exec(await metrics.text())?.[1] ?? "";
    };
    await expect.poll(listeners, pollOptions).toBe("0");
    expect(asked("resources/unsubscribe")).toBe(1);
    await post(gateway, { ...watch, method: "resources/unsubscribe" }, session);
    await expect.poll(() => asked("resources/unsubscribe"), pollOptions).toBe(2);
  });
});

test("truncates strings from a client in events and error messages", async () => {
  const gateway = await startTestGateway({});
  const session = await begin(gateway);
  const responses = [];
  for (const [method, params] of [
    [long, {}],
    ["tools/call", { name: long }],
    ["resources/read", { uri: long }],
  ] as const) {
    responses.push(await (await post(gateway, { jsonrpc: "2.0", id: long, method, params }, session)).json());
  }
  const lengths = responses.map((response) => (response as { error: { message: string } }).error.message.length);
  expect(Math.max(...lengths)).toBeLessThan(400);
  const calls = gateway.events.filter(({ kind }) => kind === "call");
  expect(calls).toHaveLength(3);
  for (const event of calls) expect(JSON.stringify(event).length).toBeLessThan(15_000);
});

test("stops reading from a stdio client that does not read, and sends every response once it reads", async () => {
  const text = "x".repeat(1_000_000);
  const server = await serveRaw({ "tools/call": () => JSON.stringify({ content: [{ type: "text", text }] }) });
  const { gateway } = await startTestGateway({ raw: server.entry }, { listen: false });
  await expect.poll(() => gateway.servers()[0]?.tools, pollOptions).toBe(1);
  const [input, output] = [new PassThrough(), new PassThrough()];
  gateway.serveStdio(input, output);
  input.write(`${JSON.stringify(initialize())}\n`);
  const calls = 40;
  const called = (): number => server.seen.filter(({ method }) => method === "tools/call").length;
  for (let id = 2; id <= calls + 1; id += 1) {
    const before = called();
    input.write(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"raw__echo","arguments":{}}}\n`);
    await expect.poll(() => called() > before || input.isPaused(), pollOptions).toBe(true);
  }
  expect(called()).toBeLessThan(calls);
  expect(output.writableLength + output.readableLength).toBeLessThan(calls * 500_000);
  const received = new Set<string>();
  createInterface({ input: output }).on("line", (line) => {
    // It is also notified of changed lists.
    const id = /^.{0,30}"id":([^,]+),/.exec(line)?.[1];
    if (id !== undefined) received.add(id);
  });
  await expect.poll(() => received.size, pollOptions).toBe(calls + 1);
});

test("does not find a session by the id of another client, nor by an invented one", async () => {
  const gateway = await startTestGateway({}, { listen: { token: false } });
  const session = await begin({ ...gateway, token: "of-the-first" });
  const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
  const statusOf = async (token: string, id: string): Promise<number> =>
    (await post({ ...gateway, token }, ping, { "mcp-session-id": id })).status;
  const id = session["mcp-session-id"] ?? "";
  expect(await statusOf("of-the-first", id)).toBe(200);
  expect(await statusOf("of-the-second", id)).toBe(404);
  for (const other of ["__proto__", "constructor", `${id}, ${id}`, id.slice(1), id.toLowerCase()]) {
    expect(await statusOf("of-the-first", other), other).toBe(404);
  }
  // A client cannot choose the id of its session.
  const chosen = await post(gateway, initialize(), { "mcp-session-id": "chosen" });
  expect(chosen.status).toBe(400);
  expect(await statusOf("of-the-first", "chosen")).toBe(404);
  // No client can use another client's session.
  const headers = { authorization: "Bearer of-the-second", accept: "text/event-stream", "last-event-id": "1" };
  const status = await new Promise((resolve, reject) => {
    const request = httpRequest(gateway.endpoint, { headers: { ...headers, "mcp-session-id": id } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("error", reject).end();
  });
  expect(status).toBe(404);
});
