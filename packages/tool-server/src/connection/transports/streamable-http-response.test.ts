import { PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/client";
import { describe, expect, test, vi } from "vitest";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { respondEvents, respondJson, resultOf, startTransport } from "./streamable-http.test.helper.js";
import { defaultLimits } from "./transport.js";

const modern = { _meta: { [PROTOCOL_VERSION_META_KEY]: "2026-07-28" } };

describe("a response", () => {
  test("resumes a response as events where its stream broke off, after the delay that the server sets", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      ({ method, message, headers, socket }, response) => {
        if (method === "POST") {
          respondEvents(
            response,
            "id: e1\nretry: 3000\ndata:\n\n",
            `id: e2\ndata: ${JSON.stringify({ jsonrpc: "2.0", method: "a" })}\n\n`,
          );
          setImmediate(() => socket.destroy());
        } else if (headers["last-event-id"] === "e2") {
          respondEvents(response, "id: e3\ndata:\n\n").end();
        } else {
          respondEvents(
            response,
            `id: e4\ndata: ${resultOf({ ...message, id: 1, jsonrpc: "2.0" } as never)}\n\n`,
          ).end();
        }
      },
      { clock },
    );
    const tokens: string[] = [];
    const sent = started.send("tools/call", {}, { onresumptiontoken: (token) => tokens.push(token) });
    await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
    clock.advance(2999);
    expect(started.server.requests).toHaveLength(1);
    clock.advance(1);
    await vi.waitFor(() => expect(started.server.requests).toHaveLength(2), waiting);
    await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
    clock.advance(3000);
    await sent;
    expect(started.server.requests.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "e2", "e3"]);
    expect(tokens).toEqual(["e1", "e2", "e3", "e4"]);
    expect(started.messages).toMatchObject([{ method: "a" }, { id: 1, result: {} }]);
    expect(clock.waiting).toBe(0);
  });

  test("reports CONNECTION_LOST after three attempts to resume a response, or at once if that is impossible", async () => {
    const clock = createFakeClock();
    let status = 503;
    const started = await startTransport(
      ({ method }, response) => {
        if (method === "POST") respondEvents(response, "id: e1\nretry: 10\ndata:\n\n").end();
        else response.writeHead(status).end();
      },
      { clock },
    );
    for (const [returned, tries] of [
      [503, 3],
      [405, 1],
    ] as const) {
      status = returned;
      const before = started.server.requests.length;
      const failure = started.fail();
      for (let attempt = 1; attempt <= tries; attempt += 1) {
        await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
        clock.advance(10_000);
        await vi.waitFor(() => expect(started.server.requests).toHaveLength(before + 1 + attempt), waiting);
      }
      expect(await failure).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    }
  });

  test("names the content type if the server resumes a response with no event stream", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      ({ method }, response) => {
        if (method === "POST") respondEvents(response, "id: e1\ndata:\n\n").end();
        else response.writeHead(200, { "content-type": "text/html" }).end("<html>");
      },
      { clock },
    );
    const failed = started.fail("tools/call");
    await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
    clock.advance(500);
    const { code, message } = await failed;
    expect([code, started.server.requests.length]).toEqual(["CONNECTION_LOST", 2]);
    expect(message).toContain("with a response of type text/html. Check the URL. GET has to return text/event-stream");
  });

  test("resumes a response that breaks off again and again more slowly each time, whatever the server's retry says", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      (_, response, index) => respondEvents(response, `id: e${index}\nretry: 0\ndata:\n\n`).end(),
      { clock },
    );
    void started.send("tools/call").catch(() => {});
    for (const [round, delayMs] of [500, 1000, 2000, 4000, 8000, 10_000, 10_000].entries()) {
      await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
      // Jitter takes off up to half of a delay.
      clock.advance(delayMs / 2 - 1);
      expect([clock.waiting, started.server.requests.length]).toEqual([1, round + 1]);
      clock.advance(delayMs / 2 + 1);
      await vi.waitFor(() => expect(started.server.requests).toHaveLength(round + 2), waiting);
    }
  });

  test("gets the response to a request of an earlier transport by its resumption token, under the new id", async () => {
    const { server, messages, transport } = await startTransport((_, response) => {
      respondEvents(response, `data: ${JSON.stringify({ jsonrpc: "2.0", id: 77, result: { a: 1 } })}\n\n`).end();
    });
    await transport.send({ jsonrpc: "2.0", id: 5, method: "tools/call" }, { resumptionToken: "e9" });
    expect(messages).toEqual([{ jsonrpc: "2.0", id: 5, result: { a: 1 } }]);
    expect(server.requests).toMatchObject([{ method: "GET", headers: { "last-event-id": "e9" } }]);
  });

  test("ends the stream of a response after a while if the server does not", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      ({ message }, response) => respondEvents(response, `data: ${resultOf(message)}\n\n`),
      { clock },
    );
    const sent = started.send("tools/call");
    await vi.waitFor(() => expect(started.messages).toHaveLength(1), waiting);
    expect(clock.waiting).toBe(1);
    clock.advance(5000);
    await sent;
    await vi.waitFor(() => expect(started.server.sockets.size).toBe(0), waiting);
  });

  test("fixes responses that violate JSON-RPC slightly, so that the SDK accepts them", async () => {
    const bodies: ((id: unknown) => object)[] = [
      (id) => ({ jsonrpc: "2.0", id, result: { a: 1 }, error: null }),
      (id) => ({ jsonrpc: "2.0", id, result: { a: 2, _meta: null }, extra: 1 }),
      () => ({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "unreadable" } }),
      () => ({ jsonrpc: "2.0", error: { code: -32600, message: "invalid", data: 1 } }),
    ];
    const { messages, send } = await startTransport(({ message }, response, index) =>
      respondJson(response, JSON.stringify(bodies[index]?.(message.id))),
    );
    for (const _ of bodies) await send("tools/call");
    expect(messages).toEqual([
      { jsonrpc: "2.0", id: 1, result: { a: 1 } },
      { jsonrpc: "2.0", id: 2, result: { a: 2 } },
      { jsonrpc: "2.0", id: 3, error: { code: -32700, message: "unreadable" } },
      { jsonrpc: "2.0", id: 4, error: { code: -32600, message: "invalid", data: 1 } },
    ]);
  });

  test("passes an error with 4xx on as the response, and reports a failure if the handshake of the older era fails", async () => {
    const started = await startTransport(({ message }, response) => {
      const error = { code: -32602, message: "no such tool" };
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
    });
    await started.send("tools/call", modern);
    expect(started.messages).toMatchObject([{ id: 1, error: { code: -32602 } }]);
    await started.send("tools/call");
    expect(started.messages).toMatchObject([{ id: 1 }, { id: 2, error: { code: -32602, message: "no such tool" } }]);
    const failure = await started.fail("initialize");
    expect(failure).toMatchObject({ code: "SERVER_FAILED", details: { status: 400, rpcCode: -32602 } });
    expect(started.messages).toHaveLength(2);
  });
});

describe("an invalid response", () => {
  test("reports RESPONSE_INVALID for a response to another request, or for something else", async () => {
    const bodies = [
      '{"jsonrpc":"2.0","id":99,"result":{}}',
      '{"jsonrpc":"2.0","method":"notifications/x"}',
      '[{"jsonrpc":"2.0","id":99,"result":{}}]',
    ];
    const started = await startTransport((_, response, index) => respondJson(response, bodies[index] ?? ""));
    for (const _ of bodies)
      expect(await started.fail()).toMatchObject({ code: "RESPONSE_INVALID", details: { wasSent: true } });
    expect(started.messages).toHaveLength(3);
  });

  test("reports RESPONSE_INVALID for a response that the SDK would ignore", async () => {
    const started = await startTransport(({ message }, response) =>
      respondJson(response, JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { _meta: 7 } })),
    );
    expect(await started.fail()).toMatchObject({ code: "RESPONSE_INVALID" });
    expect(started.messages).toEqual([]);
  });

  test("reports CONNECTION_LOST if the stream ends or breaks off before the response", async () => {
    const started = await startTransport(({ message, socket }, response) => {
      const events = respondEvents(
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
      "ended the event stream before the response, and sent 1 events that are not JSON-RPC messages",
    );
    expect(await started.fail("breaks")).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    expect(started.messages).toEqual([]);
  });

  test("reports CONNECTION_LOST if the connection is cut in the body, or before it", async () => {
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

  test("reports a response that is too large, as JSON or as an event", async () => {
    const limits = { ...defaultLimits, messageBytes: 1024 * 1024 };
    const line = "x".repeat(10 * 1024 * 1024);
    const started = await startTransport(
      ({ message }, response) => {
        if (message.method === "json") respondJson(response, resultOf(message, { line }));
        else respondEvents(response, `data: ${resultOf(message, { line })}\n\n`).end();
      },
      { limits },
    );
    for (const method of ["json", "events"])
      expect(await started.fail(method)).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
  });

  test("reads a response of ten megabytes in one line, if the limit allows it", async () => {
    const line = "x".repeat(10 * 1024 * 1024);
    const started = await startTransport(({ message }, response) =>
      respondEvents(response, `data: ${resultOf(message, { line })}\n\n`).end(),
    );
    await started.send("tools/call");
    expect(started.messages).toHaveLength(1);
  });
});
