import type { ServerResponse } from "node:http";
import { Client } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ToolServerError } from "../errors.js";
import { startRawServer } from "../http/hostile-http-server.test.helper.js";
import { createFakeClock } from "../process/fake-clock.test.helper.js";
import { createNetworkContext } from "./network-context.test.helper.js";
import {
  answerEvents,
  answerJson,
  initializeResult,
  resultOf,
  serveWell,
  startTransport,
} from "./streamable-http.test.helper.js";
import { createStreamableHttpTransport } from "./streamable-http-transport.js";
import { defaultLimits } from "./transport.js";

const waiting = { timeout: 20_000, interval: 5 };
const secret = "s3cr3t-of-the-server";

describe("a status that is a failure", () => {
  test.each([
    [
      500,
      "application/json",
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"broken inside"}}',
      {},
      'It says: "broken inside". Look into the log of the server.',
    ],
    [502, "text/html", "<html><head><title>502 Bad\n Gateway</title></head>", {}, 'It says: "502 Bad Gateway". Look'],
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
      'answered 404 to POST /mcp. It says: "Cannot POST /mcp". Check the path of the url: many servers have /mcp.',
    ],
    [405, "", "", {}, "has the type sse"],
    [400, "image/png", "\x89PNG", {}, "Check what was asked"],
    [406, "text/plain", `red \x1b[31m and ${secret} ${"x".repeat(1000)}`, {}, "red \\x1b[31m and [redacted] xxx"],
  ])("%s of %j is SERVER_FAILED, with what the server says", async (status, type, body, headers, words) => {
    const started = await startTransport((_, response) =>
      response.writeHead(status, { "content-type": type, ...headers } as Record<string, string>).end(body),
    );
    started.context.secrets.add(secret);
    const failure = await started.fail();
    expect(failure).toMatchObject({ code: "SERVER_FAILED", details: { status, wasSent: true } });
    expect(failure.message).toContain(words);
    expect(failure.message).toMatch(/^The server "notes" \(http:\/\/localhost:\d+\) answered/);
    expect(failure.message.length).toBeLessThan(700);
    expect(failure.message).not.toContain(secret);
  });

  test("with a body that never ends is told all the same", async () => {
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

  test("with a body of megabytes is told by its start, and the rest is not read", async () => {
    const started = await startTransport((_, response) =>
      response.writeHead(500, { "content-type": "text/plain" }).end("y".repeat(50 * 1024 * 1024)),
    );
    expect((await started.fail()).message).toContain('It says: "yyy');
    await vi.waitFor(() => expect(started.server.sockets.size).toBe(0), waiting);
  });

  test("[TS-D-HTTP-4] of a session that was forgotten is SESSION_LOST for all who use it, and they were not sent", async () => {
    let answer: (response: ServerResponse) => void = () => {};
    const started = await startTransport(
      serveWell(({ message }, response) => message.method === "tools/call" && answer(response)),
    );
    const fail404 = (response: ServerResponse): unknown => response.writeHead(404).end();
    answer = fail404;
    expect(await started.fail()).toMatchObject({ code: "SERVER_FAILED" });
    await started.send("initialize");
    const failures = await Promise.all(Array.from({ length: 5 }, () => started.fail()));
    for (const failure of failures)
      expect(failure).toMatchObject({ code: "SESSION_LOST", details: { status: 404, wasSent: false } });
    answer = (response) => response.writeHead(400).end("Bad Request: No valid session ID provided");
    expect(await started.fail()).toMatchObject({ code: "SESSION_LOST", details: { status: 400, wasSent: false } });
    answer = (response) => response.writeHead(400).end("Bad Request: wrong arguments");
    expect(await started.fail()).toMatchObject({ code: "SERVER_FAILED" });
    await started.transport.close();
    expect(started.server.requests.some(({ method }) => method === "DELETE")).toBe(false);
    for (const failure of failures) expect(failure.message).not.toContain("session-0123456789");
    expect(started.published.words()).toContain("does not know the session any more");
  });

  test("[TS-D-HTTP-1] that sends the request to another origin is REDIRECT_REFUSED, and no header leaves", async () => {
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

  test("[TS-D-HTTP-1] that sends the request to another path is followed", async () => {
    const started = await startTransport(({ url, message }, response) => {
      if (url === "/mcp") response.writeHead(307, { location: "/mcp/" }).end();
      else answerJson(response, resultOf(message));
    });
    await started.send("tools/list");
    expect(started.messages).toHaveLength(1);
  });
});

describe("what is no tool server", () => {
  test.each([
    [
      "a sign-in page",
      "text/html; charset=utf-8",
      "<!DOCTYPE html><html><head><title>\nSign in – Example </title></head>",
      'a page in HTML, titled "Sign in – Example"',
    ],
    ["a page that claims to be JSON", "text/plain", "<html>hi</html>", "a page in HTML, not with"],
    [
      "text",
      "text/plain",
      `Hello \u202e${secret}`,
      'of the type text/plain that begins with "Hello \\u{202e}[redacted]".',
    ],
    ["nothing", "", "", "without a content type that is empty"],
    ["an odd type", "application/octet-stream", "x", "of the type application/octet-stream"],
    [
      "what only claims to be JSON",
      "application/json",
      "{nope",
      'holds no message of JSON-RPC, but one that begins with "{nope".',
    ],
    [
      "JSON of another kind",
      "application/json; charset=utf-8",
      '{"hello":"world"}',
      'begins with "{"hello":"world"}".',
    ],
    ["an empty JSON body", "application/json", "", "one that is empty"],
  ])("%s", async (_, type, body, words) => {
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

  test.each([202, 204])("%s, which has no answer in it, to a request", async (status) => {
    const started = await startTransport((_, response) => response.writeHead(status).end());
    expect(await started.fail()).toMatchObject({ code: "NOT_A_TOOL_SERVER", details: { status } });
    await started.notify("notifications/cancelled");
  });

  test("another protocol", async () => {
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

describe("an answer that is none", () => {
  test("because it answers another request, or is no answer", async () => {
    const bodies = [
      '{"jsonrpc":"2.0","id":99,"result":{}}',
      '{"jsonrpc":"2.0","method":"notifications/x"}',
      '[{"jsonrpc":"2.0","id":99,"result":{}}]',
    ];
    const started = await startTransport((_, response, index) => answerJson(response, bodies[index] ?? ""));
    for (const _ of bodies)
      expect(await started.fail()).toMatchObject({ code: "ANSWER_INVALID", details: { wasSent: true } });
    expect(started.messages).toHaveLength(3);
  });

  test("because the SDK would pass over it", async () => {
    const started = await startTransport(({ message }, response) =>
      answerJson(response, JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { _meta: 7 } })),
    );
    expect(await started.fail()).toMatchObject({ code: "ANSWER_INVALID" });
    expect(started.messages).toEqual([]);
  });

  test("because the stream ends or breaks off before it", async () => {
    const started = await startTransport(({ message, socket }, response) => {
      const events = answerEvents(
        response,
        "event: other\ndata: x\n\n",
        "data: no JSON\n\n",
        `data: ${resultOf(message)}`,
      );
      if (message.method === "ends") events.end();
      else setImmediate(() => socket.destroy());
    });
    const ended = await started.fail("ends");
    expect(ended).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    expect(ended.message).toContain(
      "ended the stream of its answer before the answer came, and sent 1 events that are no messages",
    );
    expect(await started.fail("breaks")).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    expect(started.messages).toEqual([]);
  });

  test("because the connection is cut in the body, or before it", async () => {
    const started = await startTransport(({ message, socket }, response) => {
      if (message.method === "body") {
        response
          .writeHead(200, { "content-type": "application/json", "content-length": 1000 })
          .write(`{"jsonrpc":"2.0"`);
        setImmediate(() => socket.destroy());
      } else {
        socket.destroy();
      }
    });
    for (const method of ["body", "head"]) {
      expect(await started.fail(method)).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    }
    expect(started.server.requests).toHaveLength(2);
  });

  test("because it is too large, as JSON or as an event", async () => {
    const limits = { ...defaultLimits, messageBytes: 1024 * 1024 };
    const line = "x".repeat(10 * 1024 * 1024);
    const started = await startTransport(
      ({ message }, response) => {
        if (message.method === "json") answerJson(response, resultOf(message, { line }));
        else answerEvents(response, `data: ${resultOf(message, { line })}\n\n`).end();
      },
      { limits },
    );
    for (const method of ["json", "events"])
      expect(await started.fail(method)).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
  });

  test("of ten megabytes in one line is read, where it is allowed", async () => {
    const line = "x".repeat(10 * 1024 * 1024);
    const started = await startTransport(({ message }, response) =>
      answerEvents(response, `data: ${resultOf(message, { line })}\n\n`).end(),
    );
    await started.send("tools/call");
    expect(started.messages).toHaveLength(1);
  });
});

describe("a dead pooled socket after idling", () => {
  test("[TS-D-HTTP-3] fails no call, and none is sent twice", async () => {
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

describe("the question for the newer era", () => {
  type Answer = (response: ServerResponse, id: unknown) => unknown;

  async function connect(answer: Answer): Promise<Client> {
    const started = await startTransport(
      serveWell(({ message }, response) => {
        if (message.method === "server/discover") answer(response, message.id);
        if (message.method === "initialize") answerJson(response, resultOf(message, initializeResult));
      }),
    );
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
    onTestFinished(() => client.close());
    const transport = createStreamableHttpTransport(started.context);
    await client.connect(transport);
    return client;
  }

  const rpcError = (id: unknown, code: number): string =>
    JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: "x" } });

  test.each<[string, Answer]>([
    ["400", (response) => response.writeHead(400).end("Bad Request")],
    [
      "400 with an error of JSON-RPC",
      (response, id) => response.writeHead(400, { "content-type": "application/json" }).end(rpcError(id, -32000)),
    ],
    [
      "400 with one of no id",
      (response) => response.writeHead(400, { "content-type": "application/json" }).end(rpcError(null, -32600)),
    ],
    ["404", (response) => response.writeHead(404).end()],
    ["405", (response) => response.writeHead(405).end()],
    ["422", (response) => response.writeHead(422).end("{}")],
    ["that the method is not known", (response, id) => answerJson(response, rpcError(id, -32601))],
  ])("answered with %s shows a server of the older era", async (_, answer) => {
    expect((await connect(answer)).getProtocolEra()).toBe("legacy");
  });

  test.each<[string, Answer, string]>([
    ["401", (response) => response.writeHead(401).end(), "UNAUTHORIZED"],
    ["403", (response) => response.writeHead(403).end(), "FORBIDDEN"],
    ["500", (response) => response.writeHead(500).end(), "SERVER_FAILED"],
    ["503", (response) => response.writeHead(503).end(), "SERVER_FAILED"],
    [
      "a page",
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      "NOT_A_TOOL_SERVER",
    ],
    ["a redirect", (response) => response.writeHead(302, { location: "https://x.example" }).end(), "REDIRECT_REFUSED"],
    ["the end of the connection", (response) => response.socket?.destroy(), "CONNECTION_LOST"],
  ])("answered with %s fails, and the failure is ours", async (_, answer, code) => {
    const error = await connect(answer).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    let own: unknown = error;
    while (own instanceof Error && !ToolServerError.is(own)) own = own.cause;
    expect(own).toMatchObject({ code });
  });
});
