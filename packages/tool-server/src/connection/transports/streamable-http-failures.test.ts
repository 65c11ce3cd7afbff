import type { ServerResponse } from "node:http";
import { describe, expect, test, vi } from "vitest";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { startRawServer } from "../../http/hostile-http-server.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { respondJson, resultOf, serveWell, startTransport } from "./streamable-http.test.helper.js";
import { createStreamableHttpTransport } from "./streamable-http-transport.js";
import { createNetworkContext } from "./transport-context.test.helper.js";

const secret = "s3cr3t-of-the-server";

describe("a status that is a failure", () => {
  test.each([
    [
      500,
      "application/json",
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"broken inside"}}',
      {},
      'It says: "broken inside". Check the log of the server.',
    ],
    [502, "text/html", "<html><head><title>502 Bad\n Gateway</title></head>", {}, 'It says: "502 Bad Gateway". Check'],
    [503, "text/plain", "busy", { "retry-after": "30" }, 'It says: "busy". Try again after 30 s.'],
    [
      429,
      "text/plain",
      "",
      { "retry-after": "Wed, 21 Oct 2099 07:28:00 GMT" },
      "Try again after Wed, 21 Oct 2099 07:28:00 GMT.",
    ],
    [429, "", "", {}, "Try again later."],
    [
      404,
      "text/plain",
      "Cannot POST /mcp",
      {},
      'returned 404 to POST /mcp. It says: "Cannot POST /mcp". Check the path of the URL: many servers use /mcp.',
    ],
    [405, "", "", {}, "use the type sse"],
    [400, "image/png", "\x89PNG", {}, "Check the request"],
    [406, "text/plain", `red \x1b[31m and ${secret} ${"x".repeat(1000)}`, {}, "red \\x1b[31m and [redacted] xxx"],
  ])("reports %s of %j as SERVER_FAILED, with the server's message", async (status, type, body, headers, words) => {
    const started = await startTransport((_, response) =>
      response.writeHead(status, { "content-type": type, ...headers } as Record<string, string>).end(body),
    );
    started.context.secrets.add(secret);
    const failure = await started.fail();
    expect(failure).toMatchObject({ code: "SERVER_FAILED", details: { status, wasSent: true } });
    expect(failure.message).toContain(words);
    expect(failure.message).toMatch(/^The server "notes" \(http:\/\/localhost:\d+\) returned/);
    expect(failure.message.length).toBeLessThan(700);
    expect(failure.message).not.toContain(secret);
  });

  test("reports a failure whose body never ends", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      (_, response) => response.writeHead(500, { "content-type": "text/plain" }).write("half a word"),
      { clock },
    );
    const failure = started.fail();
    await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
    await vi.waitFor(() => expect(started.server.requests).toHaveLength(1), waiting);
    clock.advance(2000);
    expect(await failure).toMatchObject({ code: "SERVER_FAILED" });
    await vi.waitFor(() => expect(started.server.sockets.size).toBe(0), waiting);
  });

  test("reports a failure with the start of a body of megabytes, and does not read the rest", async () => {
    const started = await startTransport((_, response) =>
      response.writeHead(500, { "content-type": "text/plain" }).end("y".repeat(50 * 1024 * 1024)),
    );
    expect((await started.fail()).message).toContain('It says: "yyy');
    await vi.waitFor(() => expect(started.server.sockets.size).toBe(0), waiting);
  });

  test("[TS-D-HTTP-4] reports a forgotten session as SESSION_LOST to all its requests, which were not sent", async () => {
    let respond: (response: ServerResponse) => void = () => {};
    const started = await startTransport(
      serveWell(({ message }, response) => ["tools/call", "ping"].includes(message.method ?? "") && respond(response)),
    );
    const fail404 = (response: ServerResponse): unknown => response.writeHead(404).end();
    respond = fail404;
    expect(await started.fail()).toMatchObject({ code: "SERVER_FAILED" });
    await started.send("initialize");
    const failures = await Promise.all(Array.from({ length: 5 }, () => started.fail()));
    for (const failure of failures)
      expect(failure).toMatchObject({ code: "SESSION_LOST", details: { status: 404, wasSent: false } });
    const fail400 = (code: number, message: string) => (response: ServerResponse) =>
      response.writeHead(400).end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } }));
    // As server-everything and other servers made from the SDK's examples respond.
    respond = fail400(-32_000, "Bad Request: No valid session ID provided");
    expect(await started.fail()).toMatchObject({ code: "SESSION_LOST", details: { status: 400, wasSent: false } });
    // As servers made with the Python SDK respond.
    respond = (response) => response.writeHead(400).end("Bad Request: No valid session ID provided");
    expect(await started.fail()).toMatchObject({ code: "SESSION_LOST", details: { status: 400, wasSent: false } });
    await started.transport.close();
    expect(started.server.requests.some(({ method }) => method === "DELETE")).toBe(false);
    for (const failure of failures) expect(failure.message).not.toContain("session-0123456789");
    expect(started.published.words()).toContain("no longer knows the session");
  });

  test.each([400, 404, 410])(
    "[TS-D-HTTP-4] keeps the session if the server rejects a call with %i and accepts a ping, and says what the server says",
    async (status) => {
      const reject = (id: unknown) =>
        JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_000, message: "argument x is missing" } });
      const started = await startTransport(
        serveWell(({ message }, response) => {
          if (message.method === "tools/call") response.writeHead(status).end(reject(message.id));
          else if (message.method === "prompts/get") response.writeHead(status).end(reject(null));
          else if (message.method === "resources/read") response.writeHead(status).end("no such file");
        }),
      );
      await started.send("initialize");
      await started.send("tools/call");
      expect(started.messages.at(-1)).toMatchObject({ error: { code: -32_000, message: "argument x is missing" } });
      expect(await started.fail("prompts/get")).toMatchObject({
        code: "SERVER_FAILED",
        message: expect.stringContaining("argument x is missing"),
        details: { status, rpcCode: -32_000 },
      });
      expect(await started.fail("resources/read")).toMatchObject({
        code: "SERVER_FAILED",
        message: expect.stringContaining('It says: "no such file"'),
      });
      expect(started.transport.failure).toBeUndefined();
    },
  );

  test("[TS-D-HTTP-1] reports a redirect to another origin as REDIRECT_REFUSED, and sends no header there", async () => {
    const other = await startTransport(serveWell());
    const started = await startTransport(
      (_, response) => response.writeHead(308, { location: `${other.server.url}?token=abc` }).end(),
      { headers: [{ Authorization: "Bearer t0ken-of-the-test" }] },
    );
    const failure = await started.fail("initialize");
    expect(failure).toMatchObject({ code: "REDIRECT_REFUSED", details: { status: 308 } });
    expect(failure.message).toContain(other.server.url.origin);
    expect(failure.message).not.toContain("abc");
    expect(other.server.requests).toEqual([]);
  });

  test("[TS-D-HTTP-1] follows a redirect to another path of the same origin", async () => {
    const started = await startTransport(({ url, message }, response) => {
      if (url === "/mcp") response.writeHead(307, { location: "/mcp/" }).end();
      else respondJson(response, resultOf(message));
    });
    await started.send("tools/list");
    expect(started.messages).toHaveLength(1);
  });
});

describe("responses that are not from a tool server", () => {
  test.each([
    [
      "a sign-in page",
      "text/html; charset=utf-8",
      "<!DOCTYPE html><html><head><title>\nSign in – Example </title></head>",
      'an HTML page, titled "Sign in – Example"',
    ],
    ["a page that claims to be JSON", "text/plain", "<html>hi</html>", "an HTML page, not with"],
    [
      "plain text",
      "text/plain",
      `Hello \u202e${secret}`,
      'of type text/plain that starts with "Hello \\u{202e}[redacted]".',
    ],
    ["an empty response", "", "", "an empty body without a content type"],
    ["an unknown type", "application/octet-stream", "x", "of type application/octet-stream"],
    [
      "a body that only claims to be JSON",
      "application/json",
      "{nope",
      'responded with a body that starts with "{nope", which is not a JSON-RPC message.',
    ],
    ["JSON of another kind", "application/json; charset=utf-8", '{"hello":"world"}', 'starts with "{"hello":"world"}"'],
    ["an empty JSON body", "application/json", "", "an empty body, which"],
  ])("reports NOT_A_TOOL_SERVER for %s", async (_, type, body, words) => {
    const started = await startTransport((_request, response) => {
      if (type !== "") response.setHeader("content-type", type);
      response.end(body);
    });
    started.context.secrets.add(secret);
    const failure = await started.fail("initialize");
    expect(failure.code).toBe("NOT_A_TOOL_SERVER");
    expect(failure.message).toContain(words);
    expect(failure.message).not.toContain(secret);
  });

  test.each([202, 204])(
    "reports NOT_A_TOOL_SERVER if a request gets the status %s, which contains no result",
    async (status) => {
      const started = await startTransport((_, response) => response.writeHead(status).end());
      expect(await started.fail()).toMatchObject({ code: "NOT_A_TOOL_SERVER", details: { status } });
      await started.notify("notifications/cancelled");
    },
  );

  test("reports NOT_A_TOOL_SERVER for another protocol", async () => {
    const server = await startRawServer((socket) =>
      socket.once("data", () => socket.end("220 smtp.example.com ESMTP\r\n")),
    );
    const transport = createStreamableHttpTransport(createNetworkContext("http", server.url));
    await transport.start();
    await expect(transport.send({ jsonrpc: "2.0", id: 1, method: "initialize" })).rejects.toMatchObject({
      code: "NOT_A_TOOL_SERVER",
    });
  });
});

describe("a dead pooled socket after idling", () => {
  test("[TS-D-HTTP-3] fails no call and sends none twice after pooled sockets died while idle", async () => {
    const started = await startTransport(serveWell());
    for (let round = 0; round < 5; round += 1) {
      await started.send("tools/call", { round });
      for (const socket of started.server.sockets) socket.destroy();
      for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(started.server.requests.map(({ body }) => JSON.parse(body).params.round)).toEqual([0, 1, 2, 3, 4]);
    expect(started.messages).toHaveLength(5);
  });
});
