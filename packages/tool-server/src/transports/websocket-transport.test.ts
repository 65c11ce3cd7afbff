import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import { ToolServerError } from "../errors.js";
import { createFakeClock } from "../process/fake-clock.test.helper.js";
import { createNetworkContext, overNetwork } from "./network-context.test.helper.js";
import { defaultLimits, type ToolTransport } from "./transport.js";
import { listenTo, type Published } from "./transport-context.test.helper.js";
import { describeTransportContract } from "./transport-contract.test.helper.js";
import { createWebSocketTransport, type WebSocketOptions } from "./websocket-transport.js";

const waiting = { timeout: 20_000, interval: 5 };

interface TestServer {
  readonly url: string;
  readonly sockets: ReadonlySet<Socket>;
  readonly requests: readonly IncomingMessage[];
}

/** Listens, and ends with the test. */
async function listen(server: Server, scheme: "ws" | "wss" = "ws"): Promise<TestServer> {
  const sockets = new Set<Socket>();
  const requests: IncomingMessage[] = [];
  server.on(scheme === "ws" ? "connection" : "secureConnection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  server.prependListener("request", (request) => requests.push(request));
  // A listener of its own would make the server leave upgrades to it.
  if (server.listenerCount("upgrade") > 0) server.prependListener("upgrade", (request) => requests.push(request));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?v=1#part`, sockets, requests };
}

/** A server of WebSockets. */
function serveWebSockets(onSocket: (socket: WebSocket) => void, options: ServerOptions = {}): Promise<TestServer> {
  const server = createServer();
  new WebSocketServer({ server, ...options }).on("connection", (socket) => onSocket(socket.on("error", () => {})));
  return listen(server);
}

/** A server that answers the upgrade as an HTTP server does. */
function serveHttp(answer: RequestListener): Promise<TestServer> {
  // Without a listener for upgrades, they are requests like any other.
  return listen(createServer(answer));
}

/** A server that does with the request for the upgrade what it likes. */
function serveRaw(onUpgrade: (request: IncomingMessage, socket: Socket) => void): Promise<TestServer> {
  const server = createServer();
  server.on("upgrade", (request, socket: Socket) => {
    // Who does not read does not notice the end, and these sockets may be half open.
    onUpgrade(
      request,
      socket.resume().on("end", () => socket.end()),
    );
  });
  return listen(server);
}

/** The head of an answer that grants the upgrade. */
function granted(request: IncomingMessage, ...more: string[]): string {
  const accept = createHash("sha1")
    .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  return [...head, `Sec-WebSocket-Accept: ${accept}`, ...more, "", ""].join("\r\n");
}

describeTransportContract("WebSocket", {
  kind: "ws",
  endsWithServer: true,
  async open(context, serve) {
    const { url, sockets } = await serveWebSockets((socket) => {
      const reply = {
        send: (message: JSONRPCMessage) => socket.send(JSON.stringify(message)),
        sendGarbage: (text: string) => socket.send(text),
      };
      socket.on("message", (data) => serve(JSON.parse(String(data)), reply));
    });
    const network = overNetwork(context, url);
    return {
      transport: createWebSocketTransport(network),
      dispose: () => network.http.close(),
      kill() {
        for (const socket of sockets) socket.resetAndDestroy();
      },
      assertGone: () => expect(sockets.size).toBe(0),
    };
  },
});

interface Subject {
  readonly transport: ToolTransport;
  readonly messages: JSONRPCMessage[];
  readonly published: Published;
  readonly refusals: readonly number[];
  closings(): number;
  /** How it ended, once it did. */
  failure(): Promise<ToolServerError>;
}

type Changes = Parameters<typeof createNetworkContext>[2] & { readonly secret?: string };

function prepare(
  { url }: Pick<TestServer, "url">,
  { secret, ...changes }: Changes = {},
  options: WebSocketOptions = {},
  httpOptions: Parameters<typeof createNetworkContext>[3] = {},
): Subject {
  const context = createNetworkContext("ws", url, changes, httpOptions);
  if (secret !== undefined) context.secrets.add(secret);
  const published = listenTo(context.facts);
  const transport = createWebSocketTransport(context, options);
  const messages: JSONRPCMessage[] = [];
  let closings = 0;
  transport.onmessage = (message) => messages.push(message);
  transport.onclose = () => {
    closings += 1;
  };
  onTestFinished(() => transport.close());
  return {
    transport,
    messages,
    published,
    refusals: context.refusals,
    closings: () => closings,
    failure: () =>
      vi.waitFor(() => {
        expect(closings).toBe(1);
        if (transport.failure === undefined) throw new Error("closed without a failure");
        return transport.failure;
      }, waiting),
  };
}

/** Why a start failed; it has closed by then, once. */
async function failedStart(subject: Subject): Promise<ToolServerError> {
  const error = await subject.transport.start().then(
    () => new Error("started"),
    (reason: unknown) => reason,
  );
  if (!ToolServerError.is(error)) throw error;
  expect(subject.transport.failure).toBe(error);
  expect(subject.closings()).toBe(1);
  await subject.transport.close();
  expect(subject.closings()).toBe(1);
  await vi.waitFor(() => {
    const { opened, closed } = subject.published.totals();
    expect(closed).toBe(opened);
  }, waiting);
  return error;
}

/** Starts it; what ends it may come as soon as it is open, and then the start fails. */
async function startAnyhow(transport: ToolTransport): Promise<void> {
  await transport.start().catch((error: unknown) => expect(error).toBe(transport.failure));
}

const request = (id: number): JSONRPCMessage => ({ jsonrpc: "2.0", id, method: "test/any" });

describe("the upgrade", () => {
  test("[TS-D-TYPE-4] [TS-HEADER-3] offers the subprotocol mcp, and carries the headers of the credential", async () => {
    const server = await serveWebSockets(() => {});
    const headers = [{ Authorization: "Bearer s3cr3t-t0ken", "X-API-Key": "k3y-of-notes" }];
    const { transport, published } = prepare(server, { headers });
    await transport.start();
    const [upgrade] = server.requests;
    expect(upgrade?.url).toBe("/mcp?v=1");
    expect(upgrade?.headers).toMatchObject({
      authorization: "Bearer s3cr3t-t0ken",
      "x-api-key": "k3y-of-notes",
      "sec-websocket-protocol": "mcp",
      upgrade: "websocket",
    });
    expect(upgrade?.headers).not.toHaveProperty("sec-websocket-extensions");
    expect(published.stories).toEqual([]);
  });

  test("goes through the client's TLS, with its own authority", async () => {
    const pem = (name: string): string =>
      readFileSync(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url), "utf8");
    const server = createSecureServer({ cert: pem("server"), key: pem("server-key") });
    new WebSocketServer({ server }).on("connection", (socket) => {
      socket.on("message", (data) => socket.send(String(data)));
    });
    const secure = await listen(server as unknown as Server, "wss");
    const stranger = prepare(secure);
    expect(await failedStart(stranger)).toMatchObject({ code: "SERVER_UNREACHABLE" });
    const { transport, messages } = prepare(secure, {}, {}, { tls: { ca: pem("ca") } });
    await transport.start();
    await transport.send({ jsonrpc: "2.0", method: "test/noted" });
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
  });

  test("is asked for once more with what the credential gives after a refusal", async () => {
    const server = await serveWebSockets(() => {}, {
      verifyClient: ({ req }, done) => done(req.headers.authorization === "Bearer new-t0ken", 401, "No"),
    });
    const headers = [{ Authorization: "Bearer old-t0ken" }, { Authorization: "Bearer new-t0ken" }];
    const { transport, refusals, published } = prepare(server, { headers });
    await transport.start();
    expect(refusals).toEqual([401]);
    expect(server.requests).toHaveLength(2);
    expect(published.stories).toMatchObject([{ severity: "warning", text: expect.stringContaining("answered 401") }]);
  });

  test("that is refused for good is UNAUTHORIZED or FORBIDDEN, with a diagnosis and without the secret", async () => {
    for (const [status, code] of [
      [401, "UNAUTHORIZED"],
      [403, "FORBIDDEN"],
    ] as const) {
      const server = await serveHttp((_, answer) => {
        answer.writeHead(status, {
          "WWW-Authenticate": 'Bearer error="invalid_token", error_description="bare-t0ken"',
        });
        answer.end("no");
      });
      const subject = prepare(server, { headers: [{ Authorization: "bare-t0ken" }, { Authorization: "bare-t0ken2" }] });
      const error = await failedStart(subject);
      expect(error).toMatchObject({ code, details: { status } });
      expect(error.message).toContain('Authorization (from API_TOKEN) starts with neither "Bearer " nor "Basic "');
      expect(error.details.findings?.[0]?.cause).toBe("scheme-missing");
      expect(subject.refusals).toEqual([status, status]);
      expect(server.requests).toHaveLength(2);
      expect(JSON.stringify([error.message, error.details, subject.published.words()])).not.toContain("bare-t0ken");
    }
  });

  test("that is sent elsewhere is not followed", async () => {
    const other = await serveHttp((_, answer) => answer.end());
    const target = other.url.replace("ws:", "http:");
    const server = await serveHttp((_, answer) => answer.writeHead(307, { Location: target }).end());
    const error = await failedStart(prepare(server, { headers: [{ "X-API-Key": "k3y-of-notes" }] }));
    expect(error).toMatchObject({ code: "REDIRECT_REFUSED", details: { status: 307 } });
    expect(error.message).toContain(`sends it to ${new URL(target).origin}.`);
    expect(other.requests).toEqual([]);
  });

  test.each([
    [200, "NOT_A_TOOL_SERVER"],
    [404, "NOT_A_TOOL_SERVER"],
    [426, "NOT_A_TOOL_SERVER"],
    [429, "SERVER_FAILED"],
    [503, "SERVER_FAILED"],
  ])("that is answered with %i is %s", async (status, code) => {
    const server = await serveHttp((_, answer) => answer.writeHead(status).end("<html>".repeat(100_000)));
    expect(await failedStart(prepare(server))).toMatchObject({ code, details: { status } });
  });

  test("that is never answered fails in time", async () => {
    const server = await serveRaw(() => {});
    const subject = prepare(server, { limits: { ...defaultLimits, connectMs: 50 } });
    expect(await failedStart(subject)).toMatchObject({
      code: "SERVER_UNREACHABLE",
      message: expect.stringContaining("within 50 ms"),
    });
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });

  test("that is answered by nobody, or with the end of the connection, is SERVER_UNREACHABLE", async () => {
    expect(await failedStart(prepare({ url: "ws://127.0.0.1:1/" }))).toMatchObject({ code: "SERVER_UNREACHABLE" });
    const server = await serveRaw((_, socket) => socket.destroy());
    expect(await failedStart(prepare(server))).toMatchObject({ code: "SERVER_UNREACHABLE" });
  });

  test.each([
    ["what is no HTTP", () => "SSH-2.0-OpenSSH_9.7\r\n\r\n"],
    ["a wrong key", () => granted({ headers: {} } as IncomingMessage)],
    ["another subprotocol", (upgrade: IncomingMessage) => granted(upgrade, "Sec-WebSocket-Protocol: chat")],
    [
      "an extension that nobody asked for",
      (upgrade: IncomingMessage) => granted(upgrade, "Sec-WebSocket-Extensions: permessage-deflate"),
    ],
  ])("that is answered with %s is NOT_A_TOOL_SERVER", async (_, answer) => {
    const server = await serveRaw((upgrade, socket) => socket.write(answer(upgrade)));
    expect(await failedStart(prepare(server))).toMatchObject({ code: "NOT_A_TOOL_SERVER" });
  });

  test("that is granted without a subprotocol is accepted, with a warning", async () => {
    const server = await serveWebSockets((socket) => socket.on("message", (data) => socket.send(String(data))), {
      handleProtocols: () => false,
    });
    const { transport, messages, published } = prepare(server);
    await transport.start();
    await transport.send(request(1));
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
    expect(published.stories).toMatchObject([
      { severity: "warning", text: expect.stringContaining("subprotocol mcp") },
    ]);
  });

  test("loses no message that comes with its answer", async () => {
    const text = '{"jsonrpc":"2.0","method":"test/noted"}';
    const server = await serveRaw((upgrade, socket) => {
      const frame = Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);
      socket.write(Buffer.concat([Buffer.from(granted(upgrade, "Sec-WebSocket-Protocol: mcp")), frame]));
    });
    const { transport, messages } = prepare(server);
    await transport.start();
    await vi.waitFor(() => expect(messages).toHaveLength(1), waiting);
  });

  test("that is closed in its midst leaves nothing behind", async () => {
    const server = await serveRaw(() => {});
    // No limit of time ends it.
    const { transport, closings, published } = prepare(server, { clock: createFakeClock() });
    const starting = transport.start().catch((error: unknown) => error);
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), waiting);
    await transport.close();
    expect(await starting).toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(transport.failure).toBeUndefined();
    expect(closings()).toBe(1);
    await vi.waitFor(() => {
      expect(server.sockets.size).toBe(0);
      expect(published.totals()).toMatchObject({ opened: 1, closed: 1 });
    }, waiting);
  });
});

describe("what comes through a WebSocket", () => {
  const small = { limits: { ...defaultLimits, messageBytes: 1000 } };

  test.each([
    ["a message larger than the limit", "MESSAGE_TOO_LARGE", (socket: WebSocket) => socket.send("x".repeat(1001))],
    ["binary data", "NOT_A_TOOL_SERVER", (socket: WebSocket) => socket.send(Buffer.from("{}"))],
    [
      "too much that is no message",
      "NOT_A_TOOL_SERVER",
      (socket: WebSocket) => Array.from({ length: 9 }, () => socket.send("x".repeat(200))),
    ],
  ])("and is %s ends it with %s", async (_, code, act) => {
    const server = await serveWebSockets((socket) => void act(socket));
    const { transport, failure, messages } = prepare(server, small);
    await startAnyhow(transport);
    expect(await failure()).toMatchObject({ code });
    expect(messages).toEqual([]);
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });

  test.each([
    ["a frame with reserved bits", [0xf1, 0]],
    ["text that is no UTF-8", [0x81, 2, 0xc3, 0x28]],
    ["a masked frame", [0x81, 0x81, 1, 2, 3, 4, 5]],
  ])("and is %s breaks the rules: NOT_A_TOOL_SERVER", async (_, bytes) => {
    const server = await serveRaw((upgrade, socket) => {
      socket.write(Buffer.concat([Buffer.from(granted(upgrade, "Sec-WebSocket-Protocol: mcp")), Buffer.from(bytes)]));
    });
    const { transport, failure } = prepare(server);
    await startAnyhow(transport);
    expect(await failure()).toMatchObject({
      code: "NOT_A_TOOL_SERVER",
      message: expect.stringContaining("broke the rules"),
    });
  });
});

describe("the end of a WebSocket", () => {
  test.each([
    [1000, "CONNECTION_LOST", 'said that it is done (1000: "bye")'],
    [1001, "CONNECTION_LOST", 'is going away (1001: "bye")'],
    [1008, "CONNECTION_LOST", 'its policy does not allow it (1008: "bye")'],
    [1009, "MESSAGE_TOO_LARGE", 'too large for it (1009: "bye")'],
    [1011, "CONNECTION_LOST", 'failed (1011: "bye")'],
    [3000, "UNAUTHORIZED", 'does not accept who asks (3000: "bye")'],
    [3003, "FORBIDDEN", 'does not allow it (3003: "bye")'],
    [4242, "CONNECTION_LOST", 'gave a reason of its own (4242: "bye")'],
  ])("with %i is %s", async (closeCode, code, words) => {
    const server = await serveWebSockets((socket) => socket.close(closeCode, "bye"));
    const { transport, failure } = prepare(server);
    await startAnyhow(transport);
    expect(await failure()).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  test("without a code, or without a word, is CONNECTION_LOST", async () => {
    for (const [end, words] of [
      [(socket: WebSocket) => socket.close(), "gave no reason (1005)"],
      [(socket: WebSocket) => socket.terminate(), "ended the connection without a word (1006)"],
    ] as const) {
      const { transport, failure } = prepare(await serveWebSockets(end));
      await startAnyhow(transport);
      expect(await failure()).toMatchObject({ code: "CONNECTION_LOST", message: expect.stringContaining(words) });
    }
  });

  test("tells what the server said escaped, and without secrets", async () => {
    const secret = "s3cr3t-t0ken";
    const server = await serveWebSockets((socket) => socket.close(1011, `\u001b[31m bad ${secret}`));
    const { transport, failure, published } = prepare(server, { secret });
    await startAnyhow(transport);
    expect((await failure()).message).toContain('(1011: "\\x1b[31m bad [redacted]")');
    expect(published.words()).not.toContain(secret);
  });

  test("ends what is being written", async () => {
    const server = await serveRaw((upgrade, socket) => {
      socket.pause().write(granted(upgrade, "Sec-WebSocket-Protocol: mcp"));
    });
    const large: JSONRPCMessage = { jsonrpc: "2.0", method: "test/large", params: { text: "x".repeat(20_000_000) } };
    const lost = prepare(server);
    await lost.transport.start();
    const lostSend = expect(lost.transport.send(large)).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      details: { wasSent: true },
    });
    for (const socket of server.sockets) socket.resetAndDestroy();
    await lostSend;
    const closed = prepare(server);
    await closed.transport.start();
    const closedSend = expect(closed.transport.send(large)).rejects.toMatchObject({
      code: "CONNECTION_CLOSED",
      details: { wasSent: true },
    });
    await closed.transport.close();
    await closedSend;
  });

  test("does not wait for a server that does not answer it", async () => {
    const server = await serveRaw((upgrade, socket) => socket.write(granted(upgrade, "Sec-WebSocket-Protocol: mcp")));
    const { transport, closings } = prepare(server);
    await startAnyhow(transport);
    await transport.close();
    expect(closings()).toBe(1);
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });
});

describe("a silent server", () => {
  const times = { intervalMs: 30_000, timeoutMs: 10_000 };

  test("is asked whether it is there, and stays where it answers", async () => {
    const clock = createFakeClock();
    const server = await serveWebSockets(() => {});
    const { transport, published } = prepare(server, { clock }, { keepAlive: times });
    await transport.start();
    const [wire] = published.wires.keys();
    if (wire?.kind !== "socket") throw new Error("no wire");
    for (const round of [1, 2, 3]) {
      const { bytesRead } = wire.socket;
      clock.advance(30_000);
      expect(published.totals()["keep-alive-sent"]).toBe(round);
      // Nothing but the pong.
      await vi.waitFor(() => expect(wire.socket.bytesRead).toBe(bytesRead + 2), waiting);
      clock.advance(10_000);
    }
    expect(transport.failure).toBeUndefined();
  });

  test("is not asked while it speaks", async () => {
    const clock = createFakeClock();
    const server = await serveWebSockets((socket) => socket.on("message", (data) => socket.send(String(data))));
    const { transport, messages, published } = prepare(server, { clock }, { keepAlive: times });
    await transport.start();
    for (const round of [1, 2, 3]) {
      await transport.send(request(round));
      await vi.waitFor(() => expect(messages).toHaveLength(round), waiting);
      clock.advance(30_000);
    }
    expect(published.totals()["keep-alive-sent"]).toBe(0);
    await transport.close();
    expect(clock.waiting).toBe(0);
  });

  test("that does not answer is dead", async () => {
    const clock = createFakeClock();
    const server = await serveWebSockets(() => {}, { autoPong: false });
    const { transport, failure, published } = prepare(server, { clock }, { keepAlive: times });
    await transport.start();
    clock.advance(29_999);
    expect(published.totals()["keep-alive-sent"]).toBe(0);
    clock.advance(1);
    expect(published.totals()["keep-alive-sent"]).toBe(1);
    clock.advance(9999);
    expect(transport.failure).toBeUndefined();
    clock.advance(1);
    expect(await failure()).toMatchObject({
      code: "CONNECTION_LOST",
      message: expect.stringContaining("did not answer a ping within 10000 ms"),
    });
    expect(clock.waiting).toBe(0);
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });
});
