import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import {
  hold,
  initializeResult,
  type McpHandler,
  respondJson,
  resultOf,
} from "../connection/transports/streamable-http.test.helper.js";
import { type SeenRequest, startHostileServer } from "../http/hostile-http-server.test.helper.js";
import { codesOf, explainEntry, firstOf, outcomesOf, startToolServer } from "./explain.test.helper.js";

const http = (url: string | URL) => ({ type: "http", url: String(url) });
const always =
  (status: number, headers: Record<string, string> = {}, body = ""): McpHandler =>
  (_, response) =>
    response.writeHead(status, headers).end(body);

describe("a response", () => {
  test("reports a redirect with its target", async () => {
    const server = await startToolServer(always(308, { location: "https://mcp.example.com/v2/mcp?key=secret" }));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({
      code: "redirected",
      fix: { position: { line: 5 }, write: '"url": "https://mcp.example.com/v2/mcp"' },
    });
    expect(JSON.stringify(explained)).not.toContain("key=secret");
  });

  test("points to the url if every path returns 404", async () => {
    const server = await startToolServer(
      always(404, { "content-type": "text/html" }, "<html><title>Not Found</title>"),
    );
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ code: "not-found", fix: { position: { line: 5 } } });
    expect(outcomesOf(explained)).toMatchObject({ connection: "ok", http: "failed", protocol: "skipped" });
  });

  test("points to the type after a 405", async () => {
    const server = await startToolServer(always(405));
    expect(firstOf(await explainEntry(http(server.url)))).toMatchObject({ code: "method-refused" });
  });

  test("reports a 5xx as a failure of the server, with its message", async () => {
    const server = await startToolServer(always(503, {}, "maintenance until noon"));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ code: "server-failing", fix: { command: "wirescope ping api" } });
    expect(firstOf(explained).evidence).toContain("The response says: maintenance until noon");
  });

  test("says when to try again after a 429", async () => {
    const server = await startToolServer(always(429, { "retry-after": "120" }));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ code: "rate-limited" });
    expect(firstOf(explained).fix.advice).toContain("Retry-After: 120.");
  });

  test("reports a page with its title", async () => {
    const page = "<!doctype html><title>Sign in to Example</title><body>Please log in</body>";
    const server = await startToolServer(always(200, { "content-type": "text/html" }, page));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ code: "html-page", fix: { position: { line: 5 } } });
    expect(firstOf(explained).evidence[0]).toContain('a page titled "Sign in to Example"');
    expect(firstOf(explained).fix.advice).toContain("A sign-in page is in front of the server");
  });

  test("reports a response of another content type with the type", async () => {
    const server = await startToolServer(always(200, { "content-type": "application/xml" }, "<hello/>"));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ code: "content-type-wrong" });
    expect(firstOf(explained).evidence[0]).toContain("200 (application/xml)");
  });

  test("reports JSON that is not a message as not the protocol", async () => {
    const server = await startToolServer(always(200, { "content-type": "application/json" }, '{"hello": "world"}'));
    expect(firstOf(await explainEntry(http(server.url))).code).toBe("not-the-protocol");
  });

  test("reports a response that never arrives after the timeout", async () => {
    const server = await startToolServer((_, response) => hold(response));
    const explained = await explainEntry(http(server.url), { responseMs: 500 });
    expect(firstOf(explained)).toMatchObject({ code: "no-response", fix: { command: "wirescope ping api" } });
  });

  test("reports a response with an unknown protocol version", async () => {
    const server = await startToolServer(({ message }, response) => {
      if (message.method !== "initialize") return;
      respondJson(response, resultOf(message, { ...initializeResult, protocolVersion: "1999-01-01" }));
    });
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ code: "version-unsupported" });
    expect(outcomesOf(explained)).toMatchObject({ http: "ok", protocol: "failed" });
  });

  test("reports a response to tools/list that violates the protocol, after a successful handshake", async () => {
    const server = await startToolServer(({ message }, response) => {
      const tools = { ...initializeResult, capabilities: { tools: {} } };
      if (message.method === "initialize") respondJson(response, resultOf(message, tools));
      if (message.method === "tools/list") respondJson(response, resultOf(message, { tools: "none" }));
    });
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ code: "response-invalid", evidence: ["The handshake succeeded."] });
  });

  test("points to the credential after a JSON-RPC error about it", async () => {
    const server = await startToolServer(({ message }, response) => {
      if (message.method !== "initialize") return;
      const error = { code: -32_001, message: "Unauthorized: invalid API key" };
      respondJson(response, JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
    });
    expect(firstOf(await explainEntry(http(server.url))).code).toBe("token-refused");
  });
});

describe("another url or type", () => {
  /** A legacy server at `sse` and a modern one at `mcp`, if these paths are given. */
  const startAt = (paths: { readonly mcp?: string; readonly sse?: string }) =>
    startHostileServer((request: SeenRequest, response: ServerResponse) => {
      const path = request.url;
      if (path === paths.sse && request.method === "GET") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("event: endpoint\ndata: /messages?id=1\n\n");
      } else if (path === paths.mcp && request.method === "POST") {
        const { id } = JSON.parse(request.body);
        const error = { code: -32_000, message: "Bad Request: Server not initialized" };
        response
          .writeHead(400, { "content-type": "application/json" })
          .end(JSON.stringify({ jsonrpc: "2.0", id, error }));
      } else {
        response.writeHead(404, { "content-type": "text/plain" }).end(`Cannot ${request.method} ${path}`);
      }
    });

  test("finds the right url if the path is wrong", async () => {
    const server = await startAt({ mcp: "/mcp" });
    const explained = await explainEntry(http(new URL("/api", server.url)));
    const url = `http://localhost:${server.port}/mcp`;
    expect(firstOf(explained)).toMatchObject({
      code: "wrong-path",
      weight: 1,
      fix: { position: { line: 5 }, write: `"url": "${url}"` },
    });
  });

  test("shows the credential to no other path, and sends nothing but pings there", async () => {
    const server = await startAt({ mcp: "/mcp" });
    const headers = { Authorization: "Bearer ${API_TOKEN}" };
    const variables = { API_TOKEN: "a-token-of-mine" };
    await explainEntry({ ...http(new URL("/api", server.url)), headers }, { variables });
    const others = server.requests.filter(({ url }) => url !== "/api");
    expect(others.length).toBeGreaterThan(0);
    for (const { headers: sent, body } of others) {
      expect(sent.authorization).toBeUndefined();
      expect(body === "" ? "ping" : JSON.parse(body).method).toBe("ping");
    }
  });

  test("suggests sse if the type is http and the server is a legacy one", async () => {
    const server = await startAt({ sse: "/sse" });
    const explained = await explainEntry(http(new URL("/sse", server.url)));
    expect(firstOf(explained)).toMatchObject({
      code: "wrong-type",
      fix: { position: { line: 3 }, write: '"type": "sse"' },
    });
  });

  test("finds url and type if both are wrong", async () => {
    const server = await startAt({ sse: "/sse" });
    const explained = await explainEntry(http(server.url));
    const url = `http://localhost:${server.port}/sse`;
    expect(firstOf(explained)).toMatchObject({
      code: "wrong-path",
      fix: { write: `"type": "sse", "url": "${url}"` },
    });
  });

  test("suggests http if the type is sse and the server is a modern one", async () => {
    const server = await startToolServer();
    const explained = await explainEntry({ type: "sse", url: server.url.href });
    expect(firstOf(explained)).toMatchObject({ code: "wrong-type", fix: { write: '"type": "http"' } });
  });

  test("suggests http if the type is ws and the server uses HTTP", async () => {
    const server = await startToolServer();
    const explained = await explainEntry({ type: "ws", url: server.url.href.replace("http", "ws") });
    expect(firstOf(explained).code).toMatch(/^wrong-(type|path)$/);
    expect(firstOf(explained).fix.write).toContain('"type": "http"');
  });

  test("does not search other urls for long if nothing responds there", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/api") response.writeHead(404).end();
    });
    const explained = await explainEntry(http(new URL("/api", server.url)), { responseMs: 1500 });
    expect(firstOf(explained).code).toBe("not-found");
    expect(new Set(server.requests.map(({ url }) => url)).size).toBeLessThanOrEqual(3);
  });

  test("suggests ws if the type is http and the server requires a WebSocket", async () => {
    const sockets = new WebSocketServer({ port: 0, host: "localhost" });
    onTestFinished(() => sockets.close());
    await new Promise((resolve) => sockets.once("listening", resolve));
    const { port } = sockets.address() as { port: number };
    const explained = await explainEntry(http(`http://localhost:${port}/mcp`));
    expect(firstOf(explained)).toMatchObject({ code: "method-refused" });
    expect(firstOf(explained).fix.advice).toContain('A WebSocket server has the type "ws"');
  });
});

test("ends a walk that times out, and says so", async () => {
  const server = await startToolServer((_, response) => hold(response));
  const explained = await explainEntry(http(server.url), { totalMs: 3000 });
  expect(explained.isWell).toBe(false);
  expect(codesOf(explained)).toEqual(["no-response"]);
});

test("[TS-D-WHY-4] sends a working server nothing but the handshake and tools/list", async () => {
  const server = await startToolServer(({ message }, response) => {
    const tools = { ...initializeResult, capabilities: { tools: {} } };
    if (message.method === "initialize") respondJson(response, resultOf(message, tools));
  });
  const explained = await explainEntry(http(server.url));
  expect(explained.isWell).toBe(true);
  const methods = server.requests.filter(({ body }) => body !== "").map(({ body }) => JSON.parse(body).method);
  expect(methods).toEqual(["server/discover", "initialize", "notifications/initialized", "tools/list"]);
});
