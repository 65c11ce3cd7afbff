import { describe, expect, test, vi } from "vitest";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { respondEvents, serveWell, startTransport } from "./streamable-http.test.helper.js";

describe("the stream of unsolicited messages", () => {
  const greet = 'data: {"jsonrpc":"2.0","method":"notifications/hello"}\n\n';

  test("reopens the stream when it ends, from where it was, and more slowly each time", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      serveWell(({ method }, response) => {
        if (method === "GET") respondEvents(response, `id: g${started.server.requests.length}\n${greet}`).end();
      }),
      { clock },
    );
    const streams = () => started.server.requests.filter(({ method }) => method === "GET");
    await started.send("initialize");
    await started.notify("notifications/initialized");
    for (const [round, leastMs] of [500, 1000, 2000, 4000].entries()) {
      await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
      expect(streams()).toHaveLength(round + 1);
      clock.advance(leastMs / 2 - 1);
      expect(streams()).toHaveLength(round + 1);
      clock.advance(leastMs / 2 + 1);
      await vi.waitFor(() => expect(streams()).toHaveLength(round + 2), waiting);
    }
    const ids = streams().map(({ headers }) => headers["last-event-id"]);
    expect(ids[0]).toBeUndefined();
    expect(ids.slice(1).every((id) => id?.toString().startsWith("g"))).toBe(true);
    expect(started.messages.filter((message) => "method" in message).length).toBeGreaterThanOrEqual(4);
    expect(started.errors).toEqual([]);
  });

  test("does not reopen the stream more often if the server asks for no delay with retry: 0", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      serveWell(({ method }, response) => method === "GET" && respondEvents(response, "retry: 0\n\n").end()),
      { clock },
    );
    const streams = () => started.server.requests.filter(({ method }) => method === "GET");
    await started.send("initialize");
    await started.notify("notifications/initialized");
    for (const [round, delayMs] of [500, 1000, 2000, 4000, 8000, 10_000, 10_000].entries()) {
      await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
      // Jitter takes off up to half of a delay.
      clock.advance(delayMs / 2 - 1);
      expect([clock.waiting, streams().length]).toEqual([1, round + 1]);
      clock.advance(delayMs / 2 + 1);
      await vi.waitFor(() => expect(streams()).toHaveLength(round + 2), waiting);
    }
  });

  test("reopens the stream after the delay that the server requests", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      serveWell(({ method }, response) => method === "GET" && respondEvents(response, "retry: 3000\n\n").end()),
      { clock },
    );
    const streams = () => started.server.requests.filter(({ method }) => method === "GET");
    await started.send("initialize");
    await started.notify("notifications/initialized");
    for (let round = 1; round <= 3; round += 1) {
      await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
      clock.advance(2999);
      expect([clock.waiting, streams().length]).toEqual([1, round]);
      clock.advance(1);
      await vi.waitFor(() => expect(streams()).toHaveLength(round + 1), waiting);
    }
  });

  test.each([
    ["404", 404, ""],
    [
      "400 and a JSON-RPC error",
      400,
      JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message: "no" } }),
    ],
  ])(
    "continues the session without a stream if the server rejects it with %s from the start",
    async (_, status, body) => {
      const started = await startTransport(
        serveWell(({ method }, response) => method === "GET" && response.writeHead(status).end(body)),
      );
      await started.send("initialize");
      await started.notify("notifications/initialized");
      await vi.waitFor(() => expect(started.published.words()).toContain("offers no event stream"), waiting);
      await started.send("tools/list");
      expect([started.transport.failure, started.errors]).toEqual([undefined, []]);
    },
  );

  test.each([404, 400])(
    "[TS-D-HTTP-4] opens the stream again if it is rejected with %i, but a ping is not",
    async (status) => {
      const clock = createFakeClock();
      let streams = 0;
      const started = await startTransport(
        serveWell(({ method }, response) => {
          if (method !== "GET") return;
          streams += 1;
          if (streams !== 2) respondEvents(response).end(streams === 3 ? greet : "");
          else
            response.writeHead(status).end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message: "no" } }));
        }),
        { clock },
      );
      await started.send("initialize");
      await started.notify("notifications/initialized");
      await vi.waitFor(() => {
        clock.advance(10_000);
        expect(streams).toBeGreaterThan(2);
      }, waiting);
      await started.send("tools/list");
      expect([started.transport.failure, started.errors]).toEqual([undefined, []]);
    },
  );

  test("[TS-D-HTTP-4] ends the transport without a DELETE if the stream is gone because the session is", async () => {
    const clock = createFakeClock();
    let hasOpened = false;
    const started = await startTransport(
      serveWell(({ method, message }, response) => {
        if (method === "GET" && !hasOpened) respondEvents(response).end();
        else if (method === "GET" || message.method === "ping") response.writeHead(404).end();
        hasOpened ||= method === "GET";
      }),
      { clock },
    );
    await started.send("initialize");
    await started.notify("notifications/initialized");
    await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
    clock.advance(500);
    await vi.waitFor(() => expect(started.closings()).toBe(1), waiting);
    expect(started.transport.failure).toMatchObject({ code: "SESSION_LOST" });
    await started.transport.close();
    expect(started.closings()).toBe(1);
    expect(started.server.requests.some(({ method }) => method === "DELETE")).toBe(false);
  });

  test("ends the transport if a dead server does not reopen the stream, so that it does not appear alive", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      serveWell(({ method }, response) => method === "GET" && respondEvents(response, greet)),
      { clock },
    );
    await started.send("initialize");
    await started.notify("notifications/initialized");
    await vi.waitFor(() => expect(started.messages).toHaveLength(2), waiting);
    started.server.kill();
    await vi.waitFor(() => {
      clock.advance(10_000);
      expect(started.closings()).toBe(1);
    }, waiting);
    expect(started.transport.failure).toMatchObject({ code: "SERVER_UNREACHABLE" });
  });

  test.each([
    ["reported once and opened again later if it was open before", true],
    ["given up if it was never open", false],
  ])("a stream that the server refuses for long is %s", async (_, wasOpen) => {
    const clock = createFakeClock();
    const failing = wasOpen ? [1, 8] : [0, 7];
    let attempts = 0;
    const started = await startTransport(
      serveWell(({ method }, response) => {
        if (method !== "GET") return;
        if (attempts >= failing[0]! && attempts < failing[1]!) response.writeHead(503).end();
        else if (attempts === 0) respondEvents(response).end();
        else respondEvents(response, greet);
        attempts += 1;
      }),
      { clock },
    );
    await started.send("initialize");
    await started.notify("notifications/initialized");
    const isOver = () =>
      wasOpen ? started.messages.some((message) => "method" in message) : started.errors.length > 0;
    await vi.waitFor(() => {
      clock.advance(10_000);
      expect(isOver()).toBe(true);
    }, waiting);
    expect(started.errors).toMatchObject([{ code: "SERVER_FAILED", details: { status: 503 } }]);
    expect([attempts, clock.waiting, started.closings()]).toEqual([wasOpen ? 9 : 5, 0, 0]);
  });

  test.each([
    ["text/html", "a response of type text/html"],
    ["", "a response without a content type"],
  ])(
    "reports a response to GET with the content type %j instead of an event stream, and ends nothing",
    async (type, what) => {
      const started = await startTransport(
        serveWell(({ method }, response) => {
          if (method === "GET") response.writeHead(200, type === "" ? {} : { "content-type": type }).end("ok");
        }),
      );
      await started.send("initialize");
      await started.notify("notifications/initialized");
      await vi.waitFor(() => expect(started.errors).toMatchObject([{ code: "RESPONSE_INVALID" }]), waiting);
      expect(started.errors[0]?.message).toContain(
        `returned 200 to GET /mcp with ${what}. It says: "ok". Check the URL. GET has to return text/event-stream, or 405`,
      );
      await started.send("tools/list");
      expect([started.transport.failure, started.closings()]).toEqual([undefined, 0]);
    },
  );

  test("[TS-D-HTTP-4] reports a stream that the server cuts each time before it opens, and ends nothing", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      serveWell(({ method }, response) => method === "GET" && response.destroy()),
      { clock },
    );
    await started.send("initialize");
    await started.notify("notifications/initialized");
    await vi.waitFor(() => {
      clock.advance(10_000);
      expect(started.errors).toMatchObject([{ code: "CONNECTION_LOST" }]);
    }, waiting);
    await started.send("tools/list");
    expect([started.transport.failure, started.closings()]).toEqual([undefined, 0]);
  });

  test("reports a rejected stream, and ends nothing", async () => {
    const started = await startTransport(
      serveWell(({ method }, response) => method === "GET" && response.writeHead(403).end()),
    );
    await started.send("initialize");
    await started.notify("notifications/initialized");
    await vi.waitFor(() => expect(started.errors).toMatchObject([{ code: "FORBIDDEN" }]), waiting);
    await started.send("tools/list");
    expect(started.closings()).toBe(0);
  });
});
