import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecretRegistry } from "@wirescope/tool-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { pollOptions, post, startTestGateway, type TestGateway } from "../gateway.test.helper.js";
import { eventOf, serveRaw } from "../raw-server.test.helper.js";
import { runGateway } from "../run-gateway.js";
import { serve } from "../tool-servers.test.helper.js";

const certificate = (name: string): string =>
  readFileSync(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url), "utf8");

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

/** The status of a request with headers that `fetch` would not send. */
function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: "POST", headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("error", reject);
    request.end("{}");
  });
}

/** A gateway whose token changes; `change` resolves when the new one is in use. */
async function startWithTokenFile(token: string): Promise<TestGateway & { change(token: string): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-token-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, token);
  const gateway = await startTestGateway({}, { listen: { tokenFile } });
  return {
    ...gateway,
    async change(next) {
      writeFileSync(tokenFile, next);
      // It is refused without a session, so it starts none.
      const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
      await expect.poll(async () => (await post({ ...gateway, token: next }, ping)).status, pollOptions).toBe(400);
    },
  };
}

describe("access control", () => {
  test.each(["/mcp", "/metrics", "/nowhere", "/rpc.channelz.v1.Channelz/GetServers"])(
    "requires the token at %s, and sends a challenge (CVE-2025-49596)",
    async (path) => {
      const { url, token } = await startTestGateway({});
      for (const authorization of [undefined, "Bearer wrong", `Basic ${token}`]) {
        const response = await fetch(`${url}${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...(authorization === undefined ? {} : { authorization }) },
          body: "{}",
        });
        expect(response.status).toBe(401);
        expect(response.headers.get("www-authenticate")).toBe("Bearer");
      }
    },
  );

  test("names the endpoint to a client that looks for HTTP with SSE", async () => {
    const { url, token } = await startTestGateway({});
    const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
    for (const [method, path] of [
      ["GET", "/sse"],
      ["POST", "/sse"],
      ["POST", "/messages?sessionId=1"],
    ] as const) {
      const response = await fetch(`${url}${path}`, { method, headers });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({
        error: { message: "Nothing is served at this path. Use Streamable HTTP at /mcp." },
      });
    }
  });

  test.each(["/healthz", "/readyz"])("allows %s without a token", async (path) => {
    const { url } = await startTestGateway({});
    expect((await fetch(`${url}${path}`)).status).toBe(200);
  });

  test("refuses foreign Host and Origin headers, even without a token (CVE-2025-66414)", async () => {
    const { url } = await startTestGateway({}, { listen: { token: false } });
    const headers = { "content-type": "application/json" };
    expect(await statusOf(`${url}/mcp`, { ...headers, host: "evil.example" })).toBe(403);
    expect(await statusOf(`${url}/mcp`, { ...headers, origin: "https://evil.example" })).toBe(403);
    expect(await statusOf(`${url}/healthz`, { host: "evil.example" })).toBe(403);
    expect(await statusOf(`${url}/mcp`, headers)).toBe(400);
  });

  test("creates a different token for each gateway if none is given", async () => {
    const [first, second] = [await startTestGateway({}), await startTestGateway({})];
    expect(first.token).toMatch(/^[\w-]{32}$/);
    expect(first.token).not.toBe(second.token);
  });

  test("requires TLS and a token on another address", async () => {
    const options = { configurations: [], secrets: createSecretRegistry() };
    const tls = { cert: certificate("server"), key: certificate("server-key") };
    await expect(runGateway({ ...options, listen: { host: "0.0.0.0" } })).rejects.toMatchObject({
      code: "LISTEN_EXPOSED",
    });
    await expect(runGateway({ ...options, listen: { host: "0.0.0.0", tls, token: false } })).rejects.toMatchObject({
      code: "LISTEN_EXPOSED",
    });
    const gateway = await runGateway({ ...options, listen: { host: "0.0.0.0", tls } });
    onTestFinished(() => gateway.close());
    const status = await new Promise((resolve, reject) => {
      const port = new URL(gateway.url ?? "").port;
      const headers = { authorization: `Bearer ${gateway.token}`, "content-type": "application/json" };
      const request = httpsRequest(
        { port, host: "127.0.0.1", path: "/mcp", method: "POST", headers, rejectUnauthorized: false },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      request.on("error", reject);
      request.end(JSON.stringify(initialize));
    });
    expect(status).toBe(200);
  });
});

describe("sessions", () => {
  test("does not find a session by the token of another client, with any method (CVE-2026-52869)", async () => {
    const { endpoint, change } = await startWithTokenFile("token-of-the-first");
    const first = { endpoint, token: "token-of-the-first" };
    const second = { endpoint, token: "token-of-the-second" };
    const began = await post(first, initialize);
    const session = { "mcp-session-id": began.headers.get("mcp-session-id") ?? "" };
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    expect((await post(first, ping, session)).status).toBe(200);
    await change("token-of-the-second");
    expect((await post(second, ping, session)).status).toBe(404);
    for (const method of ["GET", "DELETE"]) {
      const headers = { authorization: `Bearer ${second.token}`, accept: "text/event-stream", ...session };
      expect((await fetch(endpoint, { method, headers })).status).toBe(404);
    }
    await change("token-of-the-first");
    expect((await post(first, ping, session)).status).toBe(200);
  });
});

test.each(["HTTP/1.1", "HTTP/2"])(
  "does not find a session with another certificate of the same CA over %s (CVE-2026-52869)",
  async (version) => {
    const tls = {
      cert: certificate("server"),
      key: certificate("server-key"),
      ca: [certificate("ca"), certificate("other-ca")],
    };
    const gateway = await startTestGateway({}, { listen: { tls, token: false } });
    const as = (name: string) => ({
      rejectUnauthorized: false,
      cert: certificate(name),
      key: certificate(`${name}-key`),
    });
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const overHttp1 = (name: string, body: object, more: Record<string, string>): Promise<SessionResponse> =>
      new Promise((resolve, reject) => {
        const options = { ...as(name), method: "POST", headers: { ...headers, ...more } };
        const request = httpsRequest(gateway.endpoint, options, (response) => {
          response.resume();
          resolve({ status: response.statusCode, session: String(response.headers["mcp-session-id"]) });
        });
        request.on("error", reject);
        request.end(JSON.stringify(body));
      });
    const overHttp2 = (name: string, body: object, more: Record<string, string>): Promise<SessionResponse> =>
      new Promise((resolve, reject) => {
        const connection = connectHttp2(gateway.url, as(name)).on("error", reject);
        const stream = connection.request({ ":method": "POST", ":path": "/mcp", ...headers, ...more });
        stream.on("error", reject);
        stream.on("response", (head) => {
          stream.resume();
          connection.close();
          resolve({ status: head[":status"], session: String(head["mcp-session-id"]) });
        });
        stream.end(JSON.stringify(body));
      });
    const send = version === "HTTP/2" ? overHttp2 : overHttp1;
    const { session } = await send("client", initialize, {});
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    expect((await send("client", ping, { "mcp-session-id": session })).status).toBe(200);
    expect((await send("other-client", ping, { "mcp-session-id": session })).status).toBe(404);
  },
);

interface SessionResponse {
  readonly status: number | undefined;
  readonly session: string;
}

test("does not let another client continue a call that waits for input (CVE-2026-52869)", async () => {
  const server = await serveRaw({
    "tools/call"(_, response) {
      const params = { message: "Who?", requestedSchema: { type: "object", properties: {} } };
      const question = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "elicitation/create", params });
      response.writeHead(200, { "content-type": "text/event-stream" }).write(eventOf(question));
      return undefined;
    },
  });
  // Without a token the guard accepts both, and their headers still distinguish them.
  const gateway = await startTestGateway({ raw: server.entry }, { listen: { token: false } });
  const call = async (token: string, more: object): Promise<{ result?: { requestState?: string }; error?: object }> => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
    };
    const params = { name: "raw__echo", arguments: {}, _meta, ...more };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "raw__echo" };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    return (await post({ ...gateway, token }, body, headers)).json() as ReturnType<typeof call>;
  };
  const requestState = (await call("of-the-first", {})).result?.requestState;
  expect(requestState).toBeDefined();
  expect(await call("of-the-second", { requestState })).toMatchObject({
    error: { message: /requestState is not known/ },
  });
  // The call is still parked, and its request still open.
  expect(await call("of-the-first", { requestState })).toMatchObject({ result: { resultType: "input_required" } });
});

describe("client tokens", () => {
  test("does not forward the token, cookies and other headers of a client to a server (token passthrough)", async () => {
    const seen: unknown[] = [];
    const port = await serve((request, response) => {
      seen.push(request.headers);
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        seen.push(body);
        const { id, method } = JSON.parse(body || "{}") as { id?: number; method?: string };
        if (id === undefined || method === "server/discover") {
          response.writeHead(id === undefined ? 202 : 400).end();
          return;
        }
        const result =
          method === "initialize"
            ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "a", version: "1" } }
            : method === "tools/list"
              ? { tools: [{ name: "echo", inputSchema: { type: "object" } }] }
              : { content: [] };
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      });
    });
    const gateway = await startTestGateway({ raw: { type: "http", url: `http://127.0.0.1:${port}/mcp` } });
    const session = (await post(gateway, initialize)).headers.get("mcp-session-id") ?? "";
    const call = {
      jsonrpc: "2.0",
      id: 2,
      method: "tools/call",
      params: { name: "raw__echo", arguments: {}, _meta: { own: 1 } },
    };
    const response = await post(gateway, call, {
      "mcp-session-id": session,
      cookie: "a=b",
      "x-api-key": "key-of-the-client",
    });
    expect(response.status).toBe(200);
    const text = JSON.stringify(seen);
    expect(text).toContain("tools/call");
    for (const secret of [gateway.token, session, "a=b", "key-of-the-client"]) expect(text).not.toContain(secret);
  });
});
