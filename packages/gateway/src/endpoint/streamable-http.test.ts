import { request as httpRequest } from "node:http";
import { connect as connectSocket } from "node:net";
import { metaKeys } from "@wirescope/tool-server/internal";
import { describe, expect, onTestFinished, test } from "vitest";
import { post, startTestGateway, type TestGateway } from "../gateway.test.helper.js";
import { makeEcho, serveModern } from "../tool-servers.test.helper.js";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

async function start(options: Parameters<typeof startTestGateway>[1] = {}): Promise<TestGateway> {
  return startTestGateway({ echo: { type: "http", url: await serveModern(makeEcho("echo")) } }, options);
}

async function begin(gateway: TestGateway): Promise<{ readonly "mcp-session-id": string }> {
  const response = await post(gateway, initialize);
  const id = response.headers.get("mcp-session-id");
  if (id === null) throw new Error(`There is no session: ${await response.text()}`);
  return { "mcp-session-id": id };
}

const call = (id: number | string, text = "hello") => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "echo__echo", arguments: { text } },
});

/** Status, error code and id of a response. */
async function summaryOf(response: Response): Promise<unknown[]> {
  const text = await response.text();
  const body = text === "" ? undefined : (JSON.parse(text) as { id?: unknown; error?: { code: number } });
  return [response.status, body?.error?.code, body?.id];
}

describe("legacy clients", () => {
  test("responds to initialize with the requested version and a session", async () => {
    const gateway = await start();
    const response = await post(gateway, initialize);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("mcp-session-id")).toMatch(/^[\w-]{32}$/);
    expect(await response.json()).toMatchObject({
      id: 1,
      result: {
        protocolVersion: "2025-11-25",
        serverInfo: { name: "wirescope" },
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, prompts: {}, logging: {} },
      },
    });
  });

  test.each([
    ["2025-06-18", "2025-06-18"],
    ["2024-11-05", "2024-11-05"],
    ["1999-01-01", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
  ])("responds with the requested version if it is supported (%s: %s)", async (asked, given) => {
    const gateway = await start();
    const response = await post(gateway, { ...initialize, params: { ...initialize.params, protocolVersion: asked } });
    expect(await response.json()).toMatchObject({ result: { protocolVersion: given } });
  });

  test("responds with JSON if no message precedes the response", async () => {
    const gateway = await start();
    const response = await post(gateway, call("a"), await begin(gateway));
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ id: "a", result: { content: [{ text: "echo: hello" }] } });
  });

  test("requires a legacy client to use an existing session", async () => {
    const gateway = await start();
    expect(await summaryOf(await post(gateway, call(1)))).toEqual([400, -32_000, 1]);
    expect(await summaryOf(await post(gateway, call(1), { "mcp-session-id": "none" }))).toEqual([404, -32_001, 1]);
  });

  test("does not find a closed session, and has ended its stream", async () => {
    // Without servers, so that no list changes and no notification arrives meanwhile.
    const gateway = await startTestGateway({});
    const session = await begin(gateway);
    const headers = { authorization: `Bearer ${gateway.token}`, ...session };
    const stream = await fetch(gateway.endpoint, { headers: { ...headers, accept: "text/event-stream" } });
    expect(stream.status).toBe(200);
    expect((await fetch(gateway.endpoint, { method: "DELETE", headers })).status).toBe(200);
    expect(await stream.text()).toBe("");
    expect(await summaryOf(await post(gateway, call(1), session))).toEqual([404, -32_001, 1]);
    expect((await fetch(gateway.endpoint, { method: "DELETE", headers })).status).toBe(404);
  });

  test("refuses a modern version header in a legacy session, and accepts a legacy one", async () => {
    const gateway = await start();
    const session = await begin(gateway);
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    const withVersion = (version: string) => post(gateway, ping, { ...session, "mcp-protocol-version": version });
    expect(await summaryOf(await withVersion("1999-01-01"))).toEqual([400, -32_000, 2]);
    expect(await summaryOf(await withVersion("2025-06-18"))).toEqual([200, undefined, 2]);
  });

  test("responds to notifications and responses with 202", async () => {
    const gateway = await start();
    const session = await begin(gateway);
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
    expect(await summaryOf(await post(gateway, initialized, session))).toEqual([202, undefined, undefined]);
    expect(await summaryOf(await post(gateway, { jsonrpc: "2.0", id: 9, result: {} }, session))).toEqual([
      202,
      undefined,
      undefined,
    ]);
  });

  test("responds with a JSON-RPC error and status 200 to an unknown method", async () => {
    const gateway = await start();
    const session = await begin(gateway);
    expect(await summaryOf(await post(gateway, { jsonrpc: "2.0", id: 3, method: "no/such" }, session))).toEqual([
      200, -32_601, 3,
    ]);
  });
});

describe("modern clients", () => {
  const meta = (more: object = {}) => ({
    _meta: {
      [metaKeys.protocolVersion]: "2026-07-28",
      [metaKeys.clientInfo]: { name: "raw", version: "1" },
      [metaKeys.clientCapabilities]: {},
      ...more,
    },
  });
  const modernCall = (more: object = {}) => {
    const message = call("m");
    return { ...message, params: { ...message.params, ...meta(more) } };
  };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo__echo" };
  const without = (name: keyof typeof headers) =>
    Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));

  test("requires neither initialize nor a session from a modern client", async () => {
    const gateway = await start();
    const response = await post(gateway, modernCall(), headers);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("mcp-session-id")).toBeNull();
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      id: "m",
      result: {
        resultType: "complete",
        content: [{ type: "text", text: "echo: hello" }],
        _meta: { [metaKeys.serverInfo]: { name: "echo", version: "1.0.0" } },
      },
    });
  });

  test("serves server/discover to a modern client", async () => {
    const gateway = await start();
    const discover = { jsonrpc: "2.0", id: 1, method: "server/discover", params: meta() };
    const response = await post(gateway, discover, { ...without("mcp-name"), "mcp-method": "server/discover" });
    expect(await response.json()).toMatchObject({
      result: {
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: { listChanged: true } },
        ttlMs: 0,
        cacheScope: "private",
        _meta: { [metaKeys.serverInfo]: { name: "wirescope" } },
      },
    });
  });

  test.each<[string, Record<string, string>, object, number]>([
    ["the header of the version is missing", without("mcp-protocol-version"), modernCall(), -32_020],
    ["the header of the method is missing", without("mcp-method"), modernCall(), -32_020],
    ["the header of the name is missing", without("mcp-name"), modernCall(), -32_020],
    ["the version differs", { ...headers, "mcp-protocol-version": "2025-11-25" }, modernCall(), -32_020],
    ["the method differs", { ...headers, "mcp-method": "tools/list" }, modernCall(), -32_020],
    ["the name differs", { ...headers, "mcp-name": "other" }, modernCall(), -32_020],
    ["the name is broken base64", { ...headers, "mcp-name": "=?base64?a?=" }, modernCall(), -32_020],
    ["the capabilities are missing", headers, modernCall({ [metaKeys.clientCapabilities]: undefined }), -32_602],
    ["the version is not a string", headers, modernCall({ [metaKeys.protocolVersion]: 1 }), -32_602],
    ["the client is not described", headers, modernCall({ [metaKeys.clientInfo]: "x" }), -32_602],
    ["the body has no envelope", headers, call("m"), -32_602],
    [
      "the version is not supported",
      { ...headers, "mcp-protocol-version": "2027-01-01" },
      modernCall({ [metaKeys.protocolVersion]: "2027-01-01" }),
      -32_022,
    ],
  ])("refuses a request with 400 if %s", async (_, sent, message, code) => {
    const gateway = await start();
    expect(await summaryOf(await post(gateway, message, sent))).toEqual([400, code, "m"]);
  });

  test("accepts a name header in base64", async () => {
    const gateway = await start();
    const wrapped = `=?base64?${Buffer.from("echo__echo").toString("base64")}?=`;
    expect(await summaryOf(await post(gateway, modernCall(), { ...headers, "mcp-name": wrapped }))).toEqual([
      200,
      undefined,
      "m",
    ]);
  });

  test.each(["ping", "logging/setLevel", "resources/subscribe", "no/such"])(
    "responds with 404 to %s",
    async (method) => {
      const gateway = await start();
      const message = { jsonrpc: "2.0", id: 1, method, params: meta() };
      expect(await summaryOf(await post(gateway, message, { ...without("mcp-name"), "mcp-method": method }))).toEqual([
        404, -32_601, 1,
      ]);
    },
  );

  test("refuses initialize with a modern version", async () => {
    const gateway = await start();
    expect(await summaryOf(await post(gateway, initialize, { "mcp-protocol-version": "2026-07-28" }))).toEqual([
      400, -32_020, 1,
    ]);
  });

  test("responds with a JSON-RPC error and status 200 for an unknown tool", async () => {
    const gateway = await start();
    const message = { ...modernCall(), params: { ...modernCall().params, name: "no" } };
    expect(await summaryOf(await post(gateway, message, { ...headers, "mcp-name": "no" }))).toEqual([
      200,
      -32_602,
      "m",
    ]);
  });
});

describe("HTTP", () => {
  test.each([
    ["PUT", undefined, "GET, POST, DELETE"],
    ["GET", "2026-07-28", "POST"],
    ["DELETE", "2026-07-28", "POST"],
  ])("refuses %s with version %s, and names only methods that work", async (method, version, allowed) => {
    const { endpoint, token } = await startTestGateway({});
    const headers = { authorization: `Bearer ${token}`, ...(version && { "mcp-protocol-version": version }) };
    const response = await fetch(endpoint, { method, headers });
    expect([response.status, response.headers.get("allow")]).toEqual([405, allowed]);
    if (version !== undefined)
      expect(await response.text()).toContain(`Use POST: version ${version} has no other method.`);
  });

  const startSmall = () => startTestGateway({}, { limits: { messageBytes: 10_000 } });

  test.each<[string, number, RequestInit]>([
    ["a method that is none", 405, { method: "PUT", body: "{}" }],
    [
      "a body that is no JSON by its type",
      415,
      { method: "POST", body: "{}", headers: { "content-type": "text/plain" } },
    ],
    ["a client that accepts only JSON", 406, { method: "POST", body: "{}", headers: { accept: "application/json" } }],
    ["a stream that can only be JSON", 406, { method: "GET", headers: { accept: "application/json" } }],
    ["a body that is not JSON", 400, { method: "POST", body: "{" }],
    ["a body that is no message", 400, { method: "POST", body: '{"a":1}' }],
    ["a batch", 400, { method: "POST", body: JSON.stringify([initialize]) }],
    ["a body that is too large", 413, { method: "POST", body: JSON.stringify({ a: "x".repeat(10_000) }) }],
  ])("refuses %s with %d", async (_, status, init) => {
    const gateway = await startSmall();
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const response = await fetch(gateway.endpoint, {
      ...init,
      headers: { authorization: `Bearer ${gateway.token}`, ...headers, ...(init.headers as Record<string, string>) },
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: null, error: { message: expect.any(String) } });
  });

  test("refuses a body without a length once it exceeds the limit", async () => {
    const gateway = await startSmall();
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(
        gateway.endpoint,
        {
          method: "POST",
          headers: { authorization: `Bearer ${gateway.token}`, "content-type": "application/json" },
        },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      request.on("error", reject);
      for (let index = 0; index < 20; index += 1) request.write("x".repeat(1000));
    });
    expect(status).toBe(413);
  });

  test("responds with 404 to an unknown path", async () => {
    const gateway = await startSmall();
    const response = await fetch(`${gateway.url}/nowhere`, { headers: { authorization: `Bearer ${gateway.token}` } });
    expect(response.status).toBe(404);
  });

  test("leaves nothing behind if a client disconnects while it sends its body", async () => {
    const gateway = await startSmall();
    const socket = connectSocket(Number(new URL(gateway.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(
      `POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${gateway.token}\r\n` +
        "content-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    );
    await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    expect((await post(gateway, initialize)).status).toBe(200);
  });
});
