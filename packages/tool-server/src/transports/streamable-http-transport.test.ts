import { Client, PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createHelperCredential } from "../credentials/helper-credential.js";
import { ToolServerError } from "../errors.js";
import { createFakeClock } from "../process/fake-clock.test.helper.js";
import { createScriptFolder } from "../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import {
  answerEvents,
  answerJson,
  hold,
  initializeResult,
  resultOf,
  serveWell,
  startTransport,
} from "./streamable-http.test.helper.js";

const waiting = { timeout: 20_000, interval: 5 };
const modern = { _meta: { [PROTOCOL_VERSION_META_KEY]: "2026-07-28" } };

describe("headers", () => {
  test("[TS-HEADER-3] of the entry are sent with every request: posts, the stream of events, and the end of the session", async () => {
    const headers = [{ Authorization: "Bearer t0ken-of-the-test", "X-Workspace-ID": "w1" }];
    const { server, transport, send, notify } = await startTransport(serveWell(), { headers });
    await send("initialize");
    await notify("notifications/initialized");
    await vi.waitFor(() => expect(server.requests.some(({ method }) => method === "GET")).toBe(true), waiting);
    await send("tools/list");
    await transport.close();
    expect(server.requests.map(({ method }) => method).sort()).toEqual(["DELETE", "GET", "POST", "POST", "POST"]);
    for (const request of server.requests) {
      expect(request.headers).toMatchObject({ authorization: "Bearer t0ken-of-the-test", "x-workspace-id": "w1" });
    }
  });

  test("are asked for anew with each request, and not frozen for the life of a transport", async () => {
    let asked = 0;
    const { server, send } = await startTransport(serveWell(), {}, () => ({
      kind: "helper",
      headers: async () => {
        asked += 1;
        return { "X-Signature": `signature-${asked}` };
      },
      environment: () => ({}),
      refused: async () => ({ action: "give-up", reason: "" }),
      describe: () => ({ kind: "helper", summary: "", headers: [], environment: [] }),
      dispose: async () => {},
    }));
    await send("a");
    await send("b");
    expect(server.requests.map(({ headers }) => headers["x-signature"])).toEqual(["signature-1", "signature-2"]);
  });

  test("of the protocol follow the session and the message, and the sender's own override none of them", async () => {
    const { server, transport, send, notify } = await startTransport(serveWell(), {
      headers: [{ "X-API-Key": "the-key" }],
    });
    const more = {
      "Mcp-Session-Id": "x",
      Authorization: "x",
      DPoP: "x",
      accept: "x",
      "x-api-key": "x",
      "Mcp-Param-Region": "eu",
    };
    await send("initialize", {}, { headers: more });
    transport.setProtocolVersion?.("2025-06-18");
    await notify("notifications/initialized");
    await send("tools/call", { name: "grüße" }, { headers: more });
    await send("tools/call", { name: " a ", ...modern });
    await send("resources/read", { uri: "file:///a", ...modern });
    await send("constructor", modern);
    await send("initialize");
    const posts = server.requests.filter(({ method }) => method === "POST").map(({ headers }) => headers);
    expect(posts[0]).toMatchObject({
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "x-api-key": "the-key",
      "mcp-param-region": "eu",
    });
    for (const name of ["mcp-session-id", "mcp-protocol-version", "mcp-method", "authorization", "dpop"])
      expect(posts[0]).not.toHaveProperty(name);
    expect(posts[1]).toMatchObject({ "mcp-session-id": "session-0123456789", "mcp-protocol-version": "2025-06-18" });
    expect(posts[2]).toMatchObject({ "mcp-session-id": "session-0123456789" });
    expect(posts[2]).not.toHaveProperty("mcp-name");
    expect(posts[3]).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": `=?base64?${Buffer.from(" a ").toString("base64")}?=`,
    });
    expect(posts[4]).toMatchObject({ "mcp-method": "resources/read", "mcp-name": "file:///a" });
    expect(posts[5]).toMatchObject({ "mcp-method": "constructor" });
    expect(posts[5]).not.toHaveProperty("mcp-name");
    expect(posts[6]).not.toHaveProperty("mcp-session-id");
  });
});

describe("a refusal", () => {
  const challenge = 'Bearer realm="x", resource_metadata="https://evil.example/.well-known/oauth-protected-resource"';

  test.each([
    ["a personal token, though the server advertises OAuth", { Authorization: "Bearer my-personal-token" }],
    ["an API key", { "X-API-Key": "my-api-key-value" }],
  ])("[TS-D-AUTH-1] of %s is a failure with a diagnosis, and never a registration", async (_, headers) => {
    const started = await startTransport(
      (_request, response) => response.writeHead(401, { "www-authenticate": challenge }).end(),
      { headers: [headers] },
    );
    const failure = await started.fail("initialize");
    expect(failure).toMatchObject({ code: "UNAUTHORIZED", details: { status: 401 } });
    expect(failure.details.findings?.length).toBeGreaterThan(0);
    expect(failure.message).toContain("API_TOKEN");
    expect(failure.message).not.toMatch(/my-personal-token|my-api-key-value/);
    expect(started.server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(["POST /mcp"]);
  });

  test("[TS-D-AUTH-1] with 403 is FORBIDDEN, and with what the server says", async () => {
    const headers = { "www-authenticate": 'Bearer error="insufficient_scope", scope="files:write"' };
    const started = await startTransport((_, response) => response.writeHead(403, headers).end(), {
      headers: [{ Authorization: "Bearer abcdefgh" }],
    });
    const failure = await started.fail();
    expect(failure).toMatchObject({ code: "FORBIDDEN", details: { status: 403 } });
    expect(failure.message).toContain("files:write");
  });

  test("is tried once more where the credential has other headers by then", async () => {
    const { server, published, send } = await startTransport(
      ({ headers, message }, response) => {
        if (headers.authorization === "Bearer new-token") answerJson(response, resultOf(message));
        else response.writeHead(401).end("no");
      },
      { headers: [{ Authorization: "Bearer old-token" }, { Authorization: "Bearer new-token" }] },
    );
    await send("tools/list");
    expect(server.requests).toHaveLength(2);
    expect(published.words()).toContain("The server answered 401; asking once more");
    await send("tools/list");
    expect(server.requests).toHaveLength(3);
  });

  test("[TS-D-AUTH-1] runs the helper again, once for all who were refused, and never ends in a registration", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh(
      `echo x >> "${folder.path}/runs"; n=$(wc -l < "${folder.path}/runs" | tr -d ' '); echo "{\\"Authorization\\": \\"Bearer helper-token-$n\\"}"`,
    );
    const secrets = createSecretRegistry();
    const credential = createHelperCredential({
      server: "notes",
      url: "https://x.example",
      helper,
      pluginRoot: folder.path,
      environment: { PATH: process.env.PATH },
      secrets,
    });
    onTestFinished(() => credential.dispose());
    let accepted = "Bearer helper-token-1";
    const started = await startTransport(
      ({ headers, message }, response) => {
        if (headers.authorization === accepted) answerJson(response, resultOf(message));
        else response.writeHead(401, { "www-authenticate": challenge }).end();
      },
      {},
      () => credential,
    );
    await started.send("tools/list");
    accepted = "Bearer helper-token-2";
    await Promise.all(Array.from({ length: 5 }, () => started.send("tools/list")));
    accepted = "Bearer nobody";
    expect(await started.fail()).toMatchObject({ code: "UNAUTHORIZED" });
    expect(started.server.requests.every(({ url }) => url === "/mcp")).toBe(true);
    expect(new Set(started.server.requests.map(({ headers }) => headers.authorization)).size).toBe(3);
  });
});

describe("an answer", () => {
  test("as events goes on where its stream broke off, after as long as the server says", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      ({ method, message, headers, socket }, response) => {
        if (method === "POST") {
          answerEvents(
            response,
            "id: e1\nretry: 3000\ndata:\n\n",
            `id: e2\ndata: ${JSON.stringify({ jsonrpc: "2.0", method: "a" })}\n\n`,
          );
          setImmediate(() => socket.destroy());
        } else if (headers["last-event-id"] === "e2") {
          answerEvents(response, "id: e3\ndata:\n\n").end();
        } else {
          answerEvents(response, `id: e4\ndata: ${resultOf({ ...message, id: 1, jsonrpc: "2.0" } as never)}\n\n`).end();
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

  test("that cannot be gone on with is CONNECTION_LOST: after three tries, or at once where that is no use", async () => {
    const clock = createFakeClock();
    let status = 503;
    const started = await startTransport(
      ({ method }, response) => {
        if (method === "POST") answerEvents(response, "id: e1\nretry: 10\ndata:\n\n").end();
        else response.writeHead(status).end();
      },
      { clock },
    );
    for (const [answered, tries] of [
      [503, 3],
      [405, 1],
    ] as const) {
      status = answered;
      const before = started.server.requests.length;
      const failure = started.fail();
      for (let attempt = 1; attempt <= tries; attempt += 1) {
        await vi.waitFor(() => expect(clock.waiting).toBe(1), waiting);
        clock.advance(10);
        await vi.waitFor(() => expect(started.server.requests).toHaveLength(before + 1 + attempt), waiting);
      }
      expect(await failure).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    }
  });

  test("to a request of an earlier transport is had by its resumption token, under the new id", async () => {
    const { server, messages, transport } = await startTransport((_, response) => {
      answerEvents(response, `data: ${JSON.stringify({ jsonrpc: "2.0", id: 77, result: { a: 1 } })}\n\n`).end();
    });
    await transport.send({ jsonrpc: "2.0", id: 5, method: "tools/call" }, { resumptionToken: "e9" });
    expect(messages).toEqual([{ jsonrpc: "2.0", id: 5, result: { a: 1 } }]);
    expect(server.requests).toMatchObject([{ method: "GET", headers: { "last-event-id": "e9" } }]);
  });

  test("ends its stream in a while, where the server does not", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      ({ message }, response) => answerEvents(response, `data: ${resultOf(message)}\n\n`),
      { clock },
    );
    const sent = started.send("tools/call");
    await vi.waitFor(() => expect(started.messages).toHaveLength(1), waiting);
    expect(clock.waiting).toBe(1);
    clock.advance(5000);
    await sent;
    await vi.waitFor(() => expect(started.server.sockets.size).toBe(0), waiting);
  });

  test("that JSON-RPC does not quite allow reaches the SDK as it can be taken", async () => {
    const bodies: ((id: unknown) => object)[] = [
      (id) => ({ jsonrpc: "2.0", id, result: { a: 1 }, error: null }),
      (id) => ({ jsonrpc: "2.0", id, result: { a: 2, _meta: null }, extra: 1 }),
      () => ({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "unreadable" } }),
      () => ({ jsonrpc: "2.0", error: { code: -32600, message: "invalid", data: 1 } }),
    ];
    const { messages, send } = await startTransport(({ message }, response, index) =>
      answerJson(response, JSON.stringify(bodies[index]?.(message.id))),
    );
    for (const _ of bodies) await send("tools/call");
    expect(messages).toEqual([
      { jsonrpc: "2.0", id: 1, result: { a: 1 } },
      { jsonrpc: "2.0", id: 2, result: { a: 2 } },
      { jsonrpc: "2.0", id: 3, error: { code: -32700, message: "unreadable" } },
      { jsonrpc: "2.0", id: 4, error: { code: -32600, message: "invalid", data: 1 } },
    ]);
  });

  test("of the newer era that is an error with 4xx is handed on as the answer; of the older it is a failure", async () => {
    const started = await startTransport(({ message }, response) => {
      const error = { code: -32602, message: "no such tool" };
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
    });
    await started.send("tools/call", modern);
    expect(started.messages).toMatchObject([{ id: 1, error: { code: -32602 } }]);
    expect(await started.fail()).toMatchObject({ code: "SERVER_FAILED", details: { status: 400, rpcCode: -32602 } });
    expect(started.messages).toHaveLength(1);
  });
});

describe("a request that is given up", () => {
  test("in the newer era ends its own exchange", async () => {
    const started = await startTransport((_, response) => answerEvents(response, ": wait\n\n"));
    const controller = new AbortController();
    let ends = 0;
    const options = { requestSignal: controller.signal, onRequestStreamEnd: () => (ends += 1) };
    const failure = started.fail("tools/call", modern, options);
    await vi.waitFor(() => expect(started.server.sockets.size).toBe(1), waiting);
    controller.abort();
    expect(await failure).toMatchObject({ code: "CALL_CANCELLED" });
    await vi.waitFor(() => expect(started.server.sockets.size).toBe(0), waiting);
    expect(ends).toBe(0);
  });

  test("in the older era is called off, and its exchange ends too", async () => {
    const started = await startTransport(
      serveWell(({ message }, response) => message.method === "tools/call" && hold(response)),
    );
    const failure = started.fail();
    await vi.waitFor(() => expect(started.server.requests).toHaveLength(1), waiting);
    await started.notify("notifications/cancelled", { requestId: 1 });
    expect(await failure).toMatchObject({ code: "CALL_CANCELLED", details: { wasSent: true } });
    expect(started.server.requests).toHaveLength(2);
  });

  test("whose stream ends by itself tells who watches it, after it has failed", async () => {
    const started = await startTransport((_, response) => answerEvents(response, ": wait\n\n").end());
    const order: string[] = [];
    const sent = started.send("subscriptions/listen", modern, { onRequestStreamEnd: () => order.push("stream end") });
    await sent.catch(() => order.push("failure"));
    await vi.waitFor(() => expect(order).toEqual(["failure", "stream end"]), waiting);
  });
});

describe("the stream of what a server says unasked", () => {
  const greet = 'data: {"jsonrpc":"2.0","method":"notifications/hello"}\n\n';

  test("is opened again when it ends, from where it was, and more slowly each time", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      serveWell(({ method }, response) => {
        if (method === "GET") answerEvents(response, `id: g${started.server.requests.length}\n${greet}`).end();
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

  test("[TS-D-HTTP-4] that is gone because the session is ends the transport, and no farewell is sent", async () => {
    const started = await startTransport(
      serveWell(({ method }, response) => method === "GET" && response.writeHead(404).end()),
    );
    await started.send("initialize");
    await started.notify("notifications/initialized");
    await vi.waitFor(() => expect(started.closings()).toBe(1), waiting);
    expect(started.transport.failure).toMatchObject({ code: "SESSION_LOST" });
    await started.transport.close();
    expect(started.closings()).toBe(1);
    expect(started.server.requests.some(({ method }) => method === "DELETE")).toBe(false);
  });

  test("that a server which died does not open again ends the transport, so that nobody takes it for alive", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      serveWell(({ method }, response) => method === "GET" && answerEvents(response, greet)),
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

  test("that is refused is told, and ends nothing", async () => {
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

describe("close", () => {
  test("waits no longer than a second for a server that does not let the session go", async () => {
    const clock = createFakeClock();
    const started = await startTransport(
      serveWell(({ method }, response) => method === "DELETE" && hold(response)),
      { clock },
    );
    await started.send("initialize");
    const closed = started.transport.close();
    await vi.waitFor(() => expect(started.server.requests.at(-1)?.method).toBe("DELETE"), waiting);
    expect(started.closings()).toBe(0);
    clock.advance(1000);
    await closed;
    expect(started.closings()).toBe(1);
  });

  test.each([true, false])(
    "tells each call in flight whether it may have arrived, before the SDK ends them all alike (with a session: %s)",
    async (hasSession) => {
      const started = await startTransport(
        serveWell(({ message }, response) => {
          if (message.method === "tools/call") hold(response);
          if (message.method === "initialize" && !hasSession) answerJson(response, resultOf(message, initializeResult));
        }),
      );
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
      const { transport } = started;
      transport.start = async () => {};
      await client.connect(transport);
      const call = client.callTool({ name: "x", arguments: {} }).catch((error: unknown) => error);
      await vi.waitFor(
        () => expect(started.server.requests.some(({ body }) => body.includes("tools/call"))).toBe(true),
        waiting,
      );
      await client.close();
      expect(await call).toBeInstanceOf(ToolServerError);
      expect(await call).toMatchObject({ code: "CONNECTION_CLOSED", details: { wasSent: true } });
    },
  );
});
