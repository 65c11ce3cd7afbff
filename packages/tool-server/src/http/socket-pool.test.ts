import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestContext, listenTo } from "../connection/transports/transport-context.test.helper.js";
import { ToolServerError } from "../errors.js";
import { failureOf } from "../failure-of.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import { createHttpClient } from "./create-http-client.js";
import { certificate, serverTls, startHostileServer, startRawServer } from "./hostile-http-server.test.helper.js";
import { createTestClient, get, post } from "./http-client.test.helper.js";
import { createSocketPool } from "./socket-pool.js";

describe("a socket", () => {
  test("reuses a socket, for one request at a time", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http, published } = createTestClient();
    for (let index = 0; index < 5; index += 1) await (await http.send(get(server.url))).text(10);
    expect(server.connections).toBe(1);
    expect(published.totals()).toMatchObject({ opened: 1, closed: 0, "stream-started": 5, "stream-succeeded": 5 });
    await Promise.all(Array.from({ length: 20 }, async () => (await http.send(get(server.url))).text(10)));
    expect(server.connections).toBe(20);
  });

  test("does not share a socket with another transport", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const [first, second] = [createTestContext("http"), createTestContext("http")];
    const published = [listenTo(first.info), listenTo(second.info)];
    let current = first;
    const http = createHttpClient({ server: "notes", secrets: first.secrets, transport: () => current.info });
    onTestFinished(() => http.close());
    await (await http.send(get(server.url))).text(10);
    current = second;
    await (await http.send(get(server.url))).text(10);
    await vi.waitFor(() => expect(published[0]?.totals()).toMatchObject({ opened: 1, closed: 1 }), waiting);
    expect(published[1]?.totals()).toMatchObject({ opened: 1, "stream-succeeded": 1 });
  });

  test("reports a socket with the requested host and port, and enables TCP keep-alive", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http, published } = createTestClient();
    const response = await http.send(get(server.url));
    expect(response.socketInfo).toMatchObject({ kind: "socket", remoteName: `localhost:${server.port}` });
    expect([...published.sockets.keys()]).toEqual([response.socketInfo]);
    const { socket } = response.socketInfo;
    expect(socket.remotePort).toBe(server.port);
    const keepAlive = Object.getOwnPropertySymbols(socket).find((symbol) => symbol.description === "kSetKeepAlive");
    expect(keepAlive && Reflect.get(socket, keepAlive)).toBe(true);
    await response.text(10);
  });

  test("closes a socket that was idle for long, and says so", async () => {
    const server = await startHostileServer((_, response) => response.end("x"), { keepAliveMs: 0 });
    const { http, published } = createTestClient({ idleMs: 20 });
    await (await http.send(get(server.url))).text(10);
    await vi.waitFor(() => expect(published.reasons).toEqual(["It was idle."]), waiting);
  });

  test("[TS-D-DEBUG-1] reuses a TLS socket whose response arrives before Node reports that the request was written", async () => {
    const responded = new Int32Array(new SharedArrayBuffer(4));
    // In a thread, so that it responds while this one is blocked.
    const program = `
      const { parentPort, workerData } = require("node:worker_threads");
      const server = require("node:https").createServer(workerData.tls, (request, response) => {
        request.resume().on("end", () => response.end("x", () => {
          Atomics.add(workerData.responded, 0, 1);
          Atomics.notify(workerData.responded, 0);
        }));
      });
      server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));`;
    const worker = new Worker(program, { eval: true, workerData: { tls: serverTls(), responded } });
    onTestFinished(async () => void (await worker.terminate()));
    const [port] = await once(worker, "message");
    const url = new URL(`https://127.0.0.1:${port}`);
    const { http, published } = createTestClient({ tls: { ca: certificate("ca") } });
    await (await http.send(post(url, "x"))).text(10);
    for (let count = 1; count <= 3; count += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      const onWritten = (): void => queueMicrotask(() => Atomics.wait(responded, 0, count, 5000));
      const text = await (await http.send(post(url, "x", { observer: { onWritten } }))).text(10);
      expect(text).toBe("x");
    }
    expect(published.reasons).toEqual([]);
    expect(published.totals()).toMatchObject({ opened: 1, "stream-succeeded": 4 });
  });

  test("closes a socket whose server responds before it has read the request", async () => {
    const server = await startRawServer((socket) => {
      socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx");
      });
    });
    const { http, published } = createTestClient();
    await (await http.send(post(server.url, "x".repeat(64 * 1024 * 1024)))).text(10);
    const reasons = ["The server responded before it had read the request."];
    await vi.waitFor(() => expect(published.reasons).toEqual(reasons), waiting);
  });

  test("[TS-D-DEBUG-1] does not report one request per connection if a server closes a socket after several responses", async () => {
    const server = await startHostileServer((_, response, index) => {
      if (index === 2) response.setHeader("connection", "close");
      response.end("x");
    });
    const { http, published } = createTestClient();
    for (let index = 0; index < 3; index += 1) await (await http.send(get(server.url))).text(10);
    await vi.waitFor(() => expect(published.totals()).toMatchObject({ closed: 1, "stream-succeeded": 3 }), waiting);
    expect(published.reasons).toEqual(["The last response ended the connection."]);
  });

  test("counts a request that failed, and says why the socket closed", async () => {
    const server = await startHostileServer((request) => request.socket.destroy());
    const { http, published } = createTestClient();
    await failureOf(http.send(get(server.url)));
    expect(published.totals()).toMatchObject({ opened: 1, closed: 1, "stream-started": 1, "stream-failed": 1 });
    expect(published.reasons).toEqual(["The server closed it."]);
  });

  test("opens, reports and closes sockets that are not for HTTP", async () => {
    const server = await startRawServer((socket) => socket.pipe(socket));
    const { http, published } = createTestClient();
    const url = new URL(server.url);
    url.protocol = "ws:";
    const info = await http.openSocket(url);
    const { socket } = info;
    socket.write("hello");
    expect(String((await once(socket, "data"))[0])).toBe("hello");
    expect(info).toMatchObject({ remoteName: `localhost:${server.port}` });
    expect([...published.sockets.keys()]).toEqual([info]);
    await http.close();
    expect(socket.destroyed).toBe(true);
    expect(published.reasons).toEqual(["Closed on this side."]);
  });
});

describe("the connections to one origin", () => {
  test("opens at most 256 connections, lets other requests wait, and keeps a reserve for what they may wait for", async () => {
    const held: (() => void)[] = [];
    const server = await startHostileServer(({ url }, response) => {
      if (url === "/reserved") response.end("now");
      else held.push(() => response.end("late"));
    });
    const { http, published } = createTestClient();
    const calls = Array.from({ length: 300 }, async () => (await http.send(get(server.url))).text(10));
    await vi.waitFor(() => expect(held).toHaveLength(256), waiting);
    const reserved = get(new URL("/reserved", server.url), { usesReserve: true });
    // One more than the reserve: no waiting request takes a connection of it.
    for (let round = 0; round < 17; round += 1) {
      expect(await (await http.send(reserved)).text(10)).toBe("now");
      expect(held).toHaveLength(256);
    }

    const controller = new AbortController();
    const given = http.send(get(server.url, { signal: controller.signal }));
    controller.abort(new RangeError("enough"));
    await expect(given).rejects.toThrow("enough");

    expect(server.connections).toBe(257);
    for (const response of held.splice(0)) response();
    await vi.waitFor(() => expect(held).toHaveLength(44), waiting);
    for (const response of held.splice(0)) response();
    expect(await Promise.all(calls)).toEqual(Array(300).fill("late"));
    expect(server.connections).toBe(257);
    expect(published.totals()).toMatchObject({ opened: 257, "stream-started": 317, "stream-succeeded": 317 });
  });

  test("gives a free connection to a request that may use the reserve before requests that have waited for longer", async () => {
    const held: { readonly url: string | undefined; readonly respond: () => void }[] = [];
    const server = await startHostileServer(({ url }, response) => {
      held.push({ url, respond: () => response.end("x") });
    });
    const { http } = createTestClient();
    const open = (path: string, usesReserve: boolean): Promise<string> =>
      http.send(get(new URL(path, server.url), { usesReserve })).then((response) => response.text(10));
    const sent = Array.from({ length: 256 }, () => open("/call", false));
    await vi.waitFor(() => expect(held).toHaveLength(256), waiting);
    sent.push(open("/waiting", false), ...Array.from({ length: 17 }, () => open("/reserved", true)));
    await vi.waitFor(() => expect(held).toHaveLength(272), waiting);
    held.shift()?.respond();
    await vi.waitFor(() => expect(held.at(-1)?.url).toBe("/reserved"), waiting);
    for (const { respond } of held.splice(0, 17)) respond();
    await vi.waitFor(() => expect(held.at(-1)?.url).toBe("/waiting"), waiting);
    for (const { respond } of held) respond();
    expect(await Promise.all(sent)).toEqual(Array(274).fill("x"));
  });

  test("makes room for others when connections fail or close, and ends waiting requests with the client", async () => {
    const server = await startHostileServer((request) => request.socket.destroy());
    const { http } = createTestClient();
    const lost = await Promise.all(Array.from({ length: 300 }, () => failureOf(http.send(post(server.url, "x")))));
    expect(new Set(lost.map(({ code }) => code))).toEqual(new Set(["CONNECTION_LOST"]));
    server.kill();
    const refused = await Promise.all(Array.from({ length: 300 }, () => failureOf(http.send(post(server.url, "x")))));
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(["SERVER_UNREACHABLE"]));

    const silent = await startHostileServer(() => {});
    const waits = Array.from({ length: 300 }, () => failureOf(http.send(get(silent.url))));
    await vi.waitFor(() => expect(silent.requests).toHaveLength(256), waiting);
    await http.close();
    for (const { code } of await Promise.all(waits)) expect(code).toBe("CONNECTION_CLOSED");
  });
});

describe("a dead pooled socket after idling", () => {
  test("[TS-D-HTTP-3] never fails a request: it is sent on a fresh socket, once", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http, published } = createTestClient();
    for (let round = 0; round < 10; round += 1) {
      await (await http.send(post(server.url, `${round}`))).text(10);
      for (const socket of server.sockets) socket.destroy();
      // Whether or not the client has noticed it by then.
      for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.requests.map(({ body }) => body)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`));
    expect(published.totals()["stream-started"]).toBe(10);
  });

  test("[TS-D-HTTP-3] does not fail a request that was not yet written when its socket dies", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http, published } = createTestClient();
    const first = await http.send(post(server.url, "first"));
    await first.text(10);
    const second = http.send(post(server.url, "second"));
    first.socketInfo.socket.destroy();
    expect(await (await second).text(10)).toBe("x");
    expect(server.requests.map(({ body, connection }) => [body, connection])).toEqual([
      ["first", 1],
      ["second", 2],
    ]);
    expect(published.totals()).toMatchObject({ opened: 2, "stream-started": 2, "stream-succeeded": 2 });
  });

  test("[TS-D-HTTP-3] fails a request that was written, because it may have arrived, unless it is safe", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.body === "first") response.end("x");
      else request.socket.destroy();
    });
    const { http } = createTestClient();
    await (await http.send(post(server.url, "first"))).text(10);
    const failure = await failureOf(http.send(post(server.url, "written")));
    expect(failure).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    expect(server.requests.map(({ body }) => body)).toEqual(["first", "written"]);
  });

  test("[TS-D-HTTP-3] fails no safe request: one that was written is sent once more, and not twice", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/never" || request.connection === 1) request.socket.destroy();
      else response.end("x");
    });
    const { http } = createTestClient();
    const written: unknown[] = [];
    const response = await http.send(
      get(server.url, { isSafe: true, observer: { onWritten: (socketInfo) => written.push(socketInfo) } }),
    );
    expect(await response.text(10)).toBe("x");
    expect(new Set(written).size).toBe(2);
    await failureOf(http.send(get(new URL("/never", server.url), { isSafe: true })));
    expect(server.requests.filter(({ url }) => url === "/never")).toHaveLength(2);
  });
});

test("does not wait for a slot if the request is cancelled already", async () => {
  const pool = createSocketPool();
  while (pool.claim("https://notes.example", false));
  const reason = new Error("cancelled");
  const waitForSlot = pool.waitForSlot("https://notes.example", false, [AbortSignal.abort(reason)]);
  await expect(waitForSlot).rejects.toBe(reason);
});

test("reports that a request no longer waits for a connection, also if it is cancelled meanwhile", async () => {
  const held: ServerResponse[] = [];
  const server = await startHostileServer((_, response) => void held.push(response));
  const { http } = createTestClient();
  const cancelling = new AbortController();
  const queued: boolean[] = [];
  const observer = { onWritten() {}, onQueued: (isQueued: boolean) => void queued.push(isQueued) };
  const all = Array.from({ length: 256 }, () => http.send(get(server.url)));
  const last = failureOf(http.send({ ...get(server.url), signal: cancelling.signal, observer }));
  await vi.waitFor(() => expect(queued).toEqual([true]), waiting);
  cancelling.abort(new ToolServerError("CALL_CANCELLED", { problem: "Cancelled.", advice: "" }));
  expect((await last).code).toBe("CALL_CANCELLED");
  expect(queued).toEqual([true, false]);
  await vi.waitFor(() => expect(held).toHaveLength(256), waiting);
  for (const response of held) response.end();
  for (const response of await Promise.all(all)) response.discard();
});
