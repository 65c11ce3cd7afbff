import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import {
  answerJson,
  hold,
  initializeResult,
  type McpHandler,
  resultOf,
} from "../connection/transports/streamable-http.test.helper.js";
import { type SeenRequest, startHostileServer } from "../http/hostile-http-server.test.helper.js";
import { codesOf, explainEntry, firstOf, outcomesOf, startToolServer } from "./explain.test.helper.js";

const http = (url: string | URL) => ({ type: "http", url: String(url) });
const always =
  (status: number, headers: Record<string, string> = {}, body = ""): McpHandler =>
  (_, response) =>
    response.writeHead(status, headers).end(body);

describe("an answer", () => {
  test("that leads elsewhere is told with where", async () => {
    const server = await startToolServer(always(308, { location: "https://mcp.example.com/v2/mcp?key=secret" }));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({
      cause: "redirected",
      mend: { place: { line: 5 }, write: '"url": "https://mcp.example.com/v2/mcp"' },
    });
    expect(JSON.stringify(explained)).not.toContain("key=secret");
  });

  test("of 404 at every path leads to the url", async () => {
    const server = await startToolServer(
      always(404, { "content-type": "text/html" }, "<html><title>Not Found</title>"),
    );
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ cause: "not-found", mend: { place: { line: 5 } } });
    expect(outcomesOf(explained)).toMatchObject({ connection: "ok", http: "failed", protocol: "skipped" });
  });

  test("of 405 leads to the type", async () => {
    const server = await startToolServer(always(405));
    expect(firstOf(await explainEntry(http(server.url)))).toMatchObject({ cause: "method-refused" });
  });

  test("of 5xx is the server's trouble, and told with its words", async () => {
    const server = await startToolServer(always(503, {}, "maintenance until noon"));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ cause: "server-failing", mend: { command: "wirescope ping api" } });
    expect(firstOf(explained).evidence).toContain("It said: maintenance until noon");
  });

  test("of 429 says when to try again", async () => {
    const server = await startToolServer(always(429, { "retry-after": "120" }));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ cause: "rate-limited" });
    expect(firstOf(explained).mend.what).toContain("It asks to wait: 120.");
  });

  test("that is a page is told by its title", async () => {
    const page = "<!doctype html><title>Sign in to Example</title><body>Please log in</body>";
    const server = await startToolServer(always(200, { "content-type": "text/html" }, page));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ cause: "html-page", mend: { place: { line: 5 } } });
    expect(firstOf(explained).evidence[0]).toContain('a page titled "Sign in to Example"');
    expect(firstOf(explained).mend.what).toContain("A page for signing in stands before it");
  });

  test("of another content type is told by it", async () => {
    const server = await startToolServer(always(200, { "content-type": "application/xml" }, "<hello/>"));
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ cause: "content-type-wrong" });
    expect(firstOf(explained).evidence[0]).toContain("200 (application/xml)");
  });

  test("of JSON that is no message is not the protocol", async () => {
    const server = await startToolServer(always(200, { "content-type": "application/json" }, '{"hello": "world"}'));
    expect(firstOf(await explainEntry(http(server.url))).cause).toBe("not-the-protocol");
  });

  test("that never comes is told of after a while", async () => {
    const server = await startToolServer((_, response) => hold(response));
    const explained = await explainEntry(http(server.url), { answerMs: 500 });
    expect(firstOf(explained)).toMatchObject({ cause: "never-answers", mend: { command: "wirescope ping api" } });
  });

  test("of a version that nobody knows is told of", async () => {
    const server = await startToolServer(({ message }, response) => {
      if (message.method !== "initialize") return;
      answerJson(response, resultOf(message, { ...initializeResult, protocolVersion: "1999-01-01" }));
    });
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ cause: "wrong-era" });
    expect(outcomesOf(explained)).toMatchObject({ http: "ok", protocol: "failed" });
  });

  test("to the list of tools that breaks the protocol is told after a good handshake", async () => {
    const server = await startToolServer(({ message }, response) => {
      const tools = { ...initializeResult, capabilities: { tools: {} } };
      if (message.method === "initialize") answerJson(response, resultOf(message, tools));
      if (message.method === "tools/list") answerJson(response, resultOf(message, { tools: "none" }));
    });
    const explained = await explainEntry(http(server.url));
    expect(firstOf(explained)).toMatchObject({ cause: "answer-invalid", evidence: ["The handshake went well."] });
  });

  test("that refuses in the words of the protocol points to the credential", async () => {
    const server = await startToolServer(({ message }, response) => {
      if (message.method !== "initialize") return;
      const error = { code: -32_001, message: "Unauthorized: invalid API key" };
      answerJson(response, JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
    });
    expect(firstOf(await explainEntry(http(server.url))).cause).toBe("token-refused");
  });
});

describe("another place", () => {
  /** A server of the older kind at /sse, and of the newer at /mcp, as they are told to be there. */
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

  test("is found where the path is wrong", async () => {
    const server = await startAt({ mcp: "/mcp" });
    const explained = await explainEntry(http(new URL("/api", server.url)));
    const url = `http://localhost:${server.port}/mcp`;
    expect(firstOf(explained)).toMatchObject({
      cause: "wrong-path",
      weight: 1,
      mend: { place: { line: 5 }, write: `"url": "${url}"` },
    });
  });

  test("is found without showing the credential to any other path, and without anything but pings", async () => {
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

  test("is found where the type is http, and the server of the older kind", async () => {
    const server = await startAt({ sse: "/sse" });
    const explained = await explainEntry(http(new URL("/sse", server.url)));
    expect(firstOf(explained)).toMatchObject({
      cause: "wrong-type",
      mend: { place: { line: 3 }, write: '"type": "sse"' },
    });
  });

  test("is found where path and type are wrong", async () => {
    const server = await startAt({ sse: "/sse" });
    const explained = await explainEntry(http(server.url));
    const url = `http://localhost:${server.port}/sse`;
    expect(firstOf(explained)).toMatchObject({
      cause: "wrong-path",
      mend: { write: `"type": "sse", "url": "${url}"` },
    });
  });

  test("is found where the type is sse, and the server of the newer kind", async () => {
    const server = await startToolServer();
    const explained = await explainEntry({ type: "sse", url: server.url.href });
    expect(firstOf(explained)).toMatchObject({ cause: "wrong-type", mend: { write: '"type": "http"' } });
  });

  test("is found where the type is ws, and the server one of HTTP", async () => {
    const server = await startToolServer();
    const explained = await explainEntry({ type: "ws", url: server.url.href.replace("http", "ws") });
    expect(firstOf(explained).cause).toMatch(/^wrong-(type|path)$/);
    expect(firstOf(explained).mend.write).toContain('"type": "http"');
  });

  test("is not looked for long where nothing answers there", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/api") response.writeHead(404).end();
    });
    const explained = await explainEntry(http(new URL("/api", server.url)), { answerMs: 500 });
    expect(firstOf(explained).cause).toBe("not-found");
    expect(new Set(server.requests.map(({ url }) => url)).size).toBeLessThanOrEqual(3);
  });

  test("is told of where the type is http, and the server wants a WebSocket", async () => {
    const sockets = new WebSocketServer({ port: 0, host: "localhost" });
    onTestFinished(() => sockets.close());
    await new Promise((resolve) => sockets.once("listening", resolve));
    const { port } = sockets.address() as { port: number };
    const explained = await explainEntry(http(`http://localhost:${port}/mcp`));
    expect(firstOf(explained)).toMatchObject({ cause: "method-refused" });
    expect(firstOf(explained).mend.what).toContain("a WebSocket has the type ws");
  });
});

test("a walk ends when its time is over, and says so", async () => {
  const server = await startToolServer((_, response) => hold(response));
  const explained = await explainEntry(http(server.url), { totalMs: 500 });
  expect(explained.isWell).toBe(false);
  expect(codesOf(explained)).toEqual(["never-answers"]);
});

test("[TS-D-WHY-4] nothing but the handshake and the list of tools is asked of a server that is well", async () => {
  const server = await startToolServer(({ message }, response) => {
    const tools = { ...initializeResult, capabilities: { tools: {} } };
    if (message.method === "initialize") answerJson(response, resultOf(message, tools));
  });
  const explained = await explainEntry(http(server.url));
  expect(explained.isWell).toBe(true);
  const methods = server.requests.filter(({ body }) => body !== "").map(({ body }) => JSON.parse(body).method);
  expect(methods).toEqual(["server/discover", "initialize", "notifications/initialized", "tools/list"]);
});
