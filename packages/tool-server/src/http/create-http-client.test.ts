import { getEventListeners, once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ToolServerError } from "../errors.js";
import { createFakeClock } from "../process/fake-clock.test.helper.js";
import { createTestContext, listenTo, type Published } from "../transports/transport-context.test.helper.js";
import { createHttpClient, type HttpClientOptions } from "./create-http-client.js";
import { startHostileServer, startRawServer } from "./hostile-http-server.test.helper.js";
import type { HttpClient, HttpRequest } from "./http-client.js";
import { wireOf } from "./socket-wire.js";

const waiting = { timeout: 20_000, interval: 5 };

function createTestClient(options: Partial<HttpClientOptions> = {}): { http: HttpClient; published: Published } {
  const { server, facts, secrets } = createTestContext("http");
  const published = listenTo(facts);
  const http = createHttpClient({ server, secrets, transport: () => facts, ...options });
  onTestFinished(() => http.close());
  return { http, published };
}

const get = (url: URL, more: Partial<HttpRequest> = {}): HttpRequest => ({ method: "GET", url, headers: {}, ...more });
const post = (url: URL, body: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "POST",
  url,
  headers: {},
  body,
  ...more,
});

async function failureOf(promise: Promise<unknown>): Promise<ToolServerError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ToolServerError);
  return error as ToolServerError;
}

describe("a request", () => {
  test("carries its method, path, headers and body as they are", async () => {
    const server = await startHostileServer((_, response) => response.end());
    const { http } = createTestClient();
    const url = new URL("/a%20b?c=d&e", server.url);
    await http.send({ method: "POST", url, headers: { "X-Key": "ä", "content-type": "text/plain" }, body: "grüße" });
    await http.send({ method: "DELETE", url, headers: {} });
    expect(server.requests).toMatchObject([
      { method: "POST", url: "/a%20b?c=d&e", body: "grüße", headers: { "content-type": "text/plain", host: url.host } },
      { method: "DELETE", body: "" },
    ]);
    expect(Buffer.from(server.requests[0]?.headers["x-key"] as string, "latin1").toString("latin1")).toBe("ä");
  });

  test("is answered with status, headers and body", async () => {
    const server = await startHostileServer((_, response) => {
      response.writeHead(418, { "X-A": ["1", "2"], "Set-Cookie": ["a", "b"] });
      response.end("tea");
    });
    const { http } = createTestClient();
    const answer = await http.send(get(server.url));
    expect(answer).toMatchObject({ status: 418, headers: { "x-a": "1, 2", "set-cookie": "b" } });
    expect(await answer.text(3)).toBe("tea");
  });

  test("passes over what a server says before its answer", async () => {
    const server = await startRawServer((socket) => {
      socket.once("data", () =>
        socket.write("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
      );
    });
    const { http } = createTestClient();
    const answer = await http.send(get(server.url));
    expect([answer.status, await answer.text(10)]).toEqual([200, "ok"]);
  });

  test("of a header that cannot be sent is a TypeError that does not quote it", async () => {
    const server = await startHostileServer((_, response) => response.end());
    const { http } = createTestClient();
    const sent = http.send(get(server.url, { headers: { authorization: "Bearer s3cr3t\n" } }));
    await expect(sent).rejects.toThrow(TypeError);
    await expect(sent).rejects.not.toThrow("s3cr3t");
  });
});

describe("a body", () => {
  test("past the limit is refused, whether its length is told or not", async () => {
    const server = await startHostileServer((request, response) => {
      const body = "x".repeat(1000);
      if (request.url === "/told") response.setHeader("content-length", 1000);
      response.write(body.slice(0, 500));
      response.end(body.slice(500));
    });
    const { http } = createTestClient();
    for (const path of ["/told", "/untold"]) {
      const answer = await http.send(get(new URL(path, server.url)));
      expect(await failureOf(answer.text(999))).toMatchObject({ code: "MESSAGE_TOO_LARGE", details: { status: 200 } });
      expect(await (await http.send(get(new URL(path, server.url)))).text(1000)).toHaveLength(1000);
    }
  });

  test("waits where nobody reads it, or the reader is busy, and comes whole in the end", async () => {
    const size = 32 * 1024 * 1024;
    const server = await startHostileServer((_, response) => response.end(Buffer.alloc(size, "x")));
    const { http } = createTestClient();
    const answer = await http.send(get(server.url));
    const { socket } = answer.wire as { socket: Socket };
    const settle = async (): Promise<number> => {
      let before = -1;
      const isStill = (): void => {
        const earlier = before;
        before = socket.bytesRead;
        expect(before).toBe(earlier);
      };
      await vi.waitFor(isStill, { timeout: 20_000, interval: 50 });
      return before;
    };
    expect(await settle()).toBeLessThan(size / 8);
    let bytes = 0;
    let release: (() => void) | undefined;
    const read = answer.read((chunk) => {
      bytes += chunk.length;
      if (release !== undefined || bytes < 1024 * 1024) return undefined;
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    });
    await vi.waitFor(() => expect(release).toBeDefined(), waiting);
    expect(await settle()).toBeLessThan(size / 8);
    release?.();
    await read;
    expect(bytes).toBe(size);
  });

  test("comes piece after piece to a reader that takes its time", async () => {
    const server = await startHostileServer((_, response) => response.end(Buffer.alloc(1024 * 1024, "x")));
    const { http } = createTestClient();
    const answer = await http.send(get(server.url));
    let busy = 0;
    let most = 0;
    let bytes = 0;
    await answer.read(async (chunk) => {
      busy += 1;
      most = Math.max(most, busy);
      await new Promise((resolve) => setImmediate(resolve));
      bytes += chunk.length;
      busy -= 1;
    });
    expect([bytes, most]).toEqual([1024 * 1024, 1]);
  });

  test("is let go where its reader throws, with that error", async () => {
    const server = await startHostileServer((_, response) => response.write("x"));
    const { http, published } = createTestClient();
    for (const reader of [
      () => {
        throw new RangeError("enough");
      },
      async () => {
        throw new RangeError("enough");
      },
    ]) {
      const answer = await http.send(get(server.url));
      await expect(answer.read(reader)).rejects.toThrow("enough");
    }
    await vi.waitFor(
      () => expect(published.totals()).toMatchObject({ opened: 2, closed: 2, "stream-failed": 2 }),
      waiting,
    );
  });

  test("that breaks off is CONNECTION_LOST", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/length") response.setHeader("content-length", 100);
      response.write("half", () => setImmediate(() => request.socket.destroy()));
    });
    const { http } = createTestClient();
    for (const path of ["/length", "/chunked"]) {
      const answer = await http.send(get(new URL(path, server.url)));
      expect(await failureOf(answer.text(1000))).toMatchObject({ code: "CONNECTION_LOST", details: { wasSent: true } });
    }
  });

  test("in chunks of a wrong form is CONNECTION_LOST, and odd but right ones are read", async () => {
    const server = await startRawServer((socket) => {
      socket.on("data", (bytes) => {
        const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        const isOdd = bytes.toString().startsWith("GET /odd");
        socket.write(`${head}${isOdd ? "1;a=b\r\no\r\n01\r\nk\r\n0\r\nTrailer: x\r\n\r\n" : "zz\r\nok\r\n"}`);
      });
    });
    const { http } = createTestClient();
    const odd = await http.send(get(new URL("/odd", server.url)));
    expect(await odd.text(10)).toBe("ok");
    const wrong = http.send(get(new URL("/wrong", server.url))).then((answer) => answer.text(10));
    expect(await failureOf(wrong)).toMatchObject({ code: "CONNECTION_LOST" });
  });

  test("that is not wanted leaves the socket to the next request, if it is short", async () => {
    const server = await startHostileServer((_, response) => {
      response.write("some");
      setImmediate(() => response.end("more"));
    });
    const { http } = createTestClient();
    (await http.send(get(server.url))).discard();
    await vi.waitFor(async () => {
      const before = server.connections;
      (await http.send(get(server.url))).discard();
      expect(server.connections).toBe(before);
    }, waiting);
  });

  test("that is not wanted and never ends is ended", async () => {
    const server = await startHostileServer((_, response) => response.write("some"));
    const clock = createFakeClock();
    const { http, published } = createTestClient({ clock });
    (await http.send(get(server.url))).discard();
    expect(published.totals().closed).toBe(0);
    clock.advance(2000);
    await vi.waitFor(() => expect(published.totals().closed).toBe(1), waiting);
  });

  test("can be asked for once", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http } = createTestClient();
    const answer = await http.send(get(server.url));
    await answer.text(10);
    await expect(answer.text(10)).rejects.toThrow(TypeError);
  });
});

describe("a socket", () => {
  test("is used again, by one request at a time", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http, published } = createTestClient();
    for (let index = 0; index < 5; index += 1) await (await http.send(get(server.url))).text(10);
    expect(server.connections).toBe(1);
    expect(published.totals()).toMatchObject({ opened: 1, closed: 0, "stream-started": 5, "stream-succeeded": 5 });
    await Promise.all(Array.from({ length: 20 }, async () => (await http.send(get(server.url))).text(10)));
    expect(server.connections).toBe(20);
  });

  test("is not used again by another transport", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const [first, second] = [createTestContext("http"), createTestContext("http")];
    const published = [listenTo(first.facts), listenTo(second.facts)];
    let current = first;
    const http = createHttpClient({ server: "notes", secrets: first.secrets, transport: () => current.facts });
    onTestFinished(() => http.close());
    await (await http.send(get(server.url))).text(10);
    current = second;
    await (await http.send(get(server.url))).text(10);
    await vi.waitFor(() => expect(published[0]?.totals()).toMatchObject({ opened: 1, closed: 1 }), waiting);
    expect(published[1]?.totals()).toMatchObject({ opened: 1, "stream-succeeded": 1 });
  });

  test("is seen with the host and port that were asked for, and asks whether its silent peer is there", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http, published } = createTestClient();
    const answer = await http.send(get(server.url));
    expect(answer.wire).toMatchObject({ kind: "socket", remoteName: `localhost:${server.port}` });
    expect([...published.wires.keys()]).toEqual([answer.wire]);
    const { socket } = answer.wire as { socket: Socket };
    expect(socket.remotePort).toBe(server.port);
    const keepAlive = Object.getOwnPropertySymbols(socket).find((symbol) => symbol.description === "kSetKeepAlive");
    expect(keepAlive && Reflect.get(socket, keepAlive)).toBe(true);
    await answer.text(10);
  });

  test("is given up when it was idle for long, and says so", async () => {
    const server = await startHostileServer((_, response) => response.end("x"), { keepAliveMs: 0 });
    const { http, published } = createTestClient({ idleMs: 20 });
    await (await http.send(get(server.url))).text(10);
    await vi.waitFor(() => expect(published.reasons).toEqual(["It was idle."]), waiting);
  });

  test("counts a request that failed, and says why it closed", async () => {
    const server = await startHostileServer((request) => request.socket.destroy());
    const { http, published } = createTestClient();
    await failureOf(http.send(get(server.url)));
    expect(published.totals()).toMatchObject({ opened: 1, closed: 1, "stream-started": 1, "stream-failed": 1 });
    expect(published.reasons).toEqual(["The server ended it."]);
  });

  test("for what is not HTTP is opened, seen, and closed with the client", async () => {
    const server = await startRawServer((socket) => socket.pipe(socket));
    const { http, published } = createTestClient();
    const url = new URL(server.url);
    url.protocol = "ws:";
    const socket = await http.openSocket(url);
    socket.write("hello");
    expect(String((await once(socket, "data"))[0])).toBe("hello");
    expect(wireOf(socket)).toMatchObject({ remoteName: `localhost:${server.port}` });
    expect([...published.wires.keys()]).toEqual([wireOf(socket)]);
    await http.close();
    expect(socket.destroyed).toBe(true);
    expect(published.reasons).toEqual(["Closed on this side."]);
  });
});

describe("a dead pooled socket after idling", () => {
  test("[TS-D-HTTP-3] never fails a request: it is sent on a fresh socket, once", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http, published } = createTestClient();
    for (let round = 0; round < 10; round += 1) {
      await (await http.send(post(server.url, `${round}`))).text(10);
      for (const socket of server.sockets) socket.destroy();
      // Whether the client has heard of it by then or not.
      for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.requests.map(({ body }) => body)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`));
    expect(published.totals()["stream-started"]).toBe(10);
  });

  test("[TS-D-HTTP-3] that dies under a request which was not yet written does not fail it", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http, published } = createTestClient();
    const first = await http.send(post(server.url, "first"));
    await first.text(10);
    const second = http.send(post(server.url, "second"));
    (first.wire as { socket: Socket }).socket.destroy();
    expect(await (await second).text(10)).toBe("x");
    expect(server.requests.map(({ body, connection }) => [body, connection])).toEqual([
      ["first", 1],
      ["second", 2],
    ]);
    expect(published.totals()).toMatchObject({ opened: 2, "stream-started": 2, "stream-succeeded": 2 });
  });

  test("[TS-D-HTTP-3] fails a request that was written, for it may have arrived, unless it is safe", async () => {
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
    const answer = await http.send(get(server.url, { isSafe: true, onWritten: (wire) => written.push(wire) }));
    expect(await answer.text(10)).toBe("x");
    expect(new Set(written).size).toBe(2);
    await failureOf(http.send(get(new URL("/never", server.url), { isSafe: true })));
    expect(server.requests.filter(({ url }) => url === "/never")).toHaveLength(2);
  });
});

describe("a server that answers", () => {
  test.each([
    ["nothing, and ends", "", "CONNECTION_LOST"],
    ["garbage", "\x00\x01 what is this\r\n\r\n", "NOT_A_TOOL_SERVER"],
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n", "NOT_A_TOOL_SERVER"],
    ["half a head", "HTTP/1.1 200 OK\r\nContent-", "CONNECTION_LOST"],
    ["headers without end", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(200_000)}`, "MESSAGE_TOO_LARGE"],
  ])("%s", async (_, bytes, code) => {
    const server = await startRawServer((socket) => socket.once("data", () => socket.end(bytes)));
    const { http } = createTestClient();
    const failure = await failureOf(http.send(get(server.url)));
    expect(failure).toMatchObject({ code, details: { wasSent: true } });
    expect(failure.message).toContain(`The server "notes" (localhost:${server.port})`);
  });

  test("too late for the head is CALL_TIMEOUT, and a body may take its time", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/slow") return;
      response.write("a");
    });
    const clock = createFakeClock();
    const { http } = createTestClient({ clock });
    const slow = failureOf(http.send(get(new URL("/slow", server.url), { headTimeoutMs: 5000 })));
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), waiting);
    clock.advance(5000);
    expect(await slow).toMatchObject({ code: "CALL_TIMEOUT" });
    const answer = await http.send(get(server.url, { headTimeoutMs: 5000 }));
    clock.advance(60_000);
    let text = "";
    const read = answer.read((chunk) => {
      text += chunk.toString();
    });
    const end = failureOf(read);
    await vi.waitFor(() => expect(text).toBe("a"), waiting);
    await http.close();
    expect(await end).toMatchObject({ code: "CONNECTION_CLOSED" });
  });
});

describe("a caller that gives up", () => {
  test("before, while the request waits, before the head, and in the body, hears its own reason", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/body") response.write("a");
    });
    const { http, published } = createTestClient();
    const reason = new RangeError("enough");
    await expect(http.send(get(server.url, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);

    const connecting = new AbortController();
    const early = http.send(get(server.url, { signal: connecting.signal }));
    connecting.abort(reason);
    await expect(early).rejects.toBe(reason);
    expect(server.requests).toEqual([]);

    const waits = new AbortController();
    const late = http.send(get(server.url, { signal: waits.signal }));
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), waiting);
    waits.abort(reason);
    await expect(late).rejects.toBe(reason);

    const reads = new AbortController();
    const answer = await http.send(get(new URL("/body", server.url), { signal: reads.signal }));
    const read = answer.read(() => reads.abort(reason));
    await expect(read).rejects.toBe(reason);
    await vi.waitFor(() => expect(published.totals()).toMatchObject({ closed: published.totals().opened }), waiting);
    expect(published.totals()).toMatchObject({ "stream-started": 2, "stream-failed": 2 });
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });

  test("may do so with one signal for many requests, which leaves nothing on it", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/broken") request.socket.destroy();
      else response.end("x");
    });
    const { http } = createTestClient();
    const { signal } = new AbortController();
    for (let round = 0; round < 3; round += 1) await (await http.send(get(server.url, { signal }))).text(10);
    await failureOf(http.send(get(new URL("/broken", server.url), { signal })));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("on a pooled socket, at the moment of sending, sends nothing", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http } = createTestClient();
    await (await http.send(get(server.url))).text(10);
    const controller = new AbortController();
    const sent = http.send(post(server.url, "unwanted", { signal: controller.signal }));
    controller.abort(new RangeError("enough"));
    await expect(sent).rejects.toThrow("enough");
    await (await http.send(post(server.url, "wanted"))).text(10);
    expect(server.requests.map(({ body }) => body)).toEqual(["", "wanted"]);
  });
});

describe("close", () => {
  test("ends requests in every state with CONNECTION_CLOSED, and leaves no socket", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/body") response.write("a");
      if (request.url === "/done") response.end("a");
    });
    const { http, published } = createTestClient();
    const send = (path: string) => http.send(get(new URL(path, server.url)));
    await (await send("/done")).text(10);
    const waits = send("/waits");
    const body = (await send("/body")).text(10);
    await vi.waitFor(() => expect(server.requests).toHaveLength(3), waiting);
    const silent = await startRawServer((socket) => socket.resume());
    const securing = http.openSocket(new URL(`wss://localhost:${silent.port}`));
    await vi.waitFor(() => expect(silent.sockets.size).toBe(1), waiting);
    const connecting = send("/connecting");
    const raw = http.openSocket(server.url);
    const ends = Promise.all([waits, body, connecting, raw, securing].map((promise) => failureOf(promise)));
    await http.close();
    for (const failure of await ends) expect(failure.code).toBe("CONNECTION_CLOSED");
    expect(await failureOf(send("/late"))).toMatchObject({ code: "CONNECTION_CLOSED", details: { wasSent: false } });
    const totals = published.totals();
    expect(totals.closed).toBe(totals.opened);
    expect(totals["stream-succeeded"] + totals["stream-failed"]).toBe(totals["stream-started"]);
    await vi.waitFor(() => expect(server.sockets.size + silent.sockets.size).toBe(0), waiting);
    await http.close();
  });

  test("leaves no handle behind that keeps a process alive", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const before = process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate/.test(name)).length;
    const { http } = createTestClient({ connectMs: 60_000 });
    await Promise.all(Array.from({ length: 10 }, async () => (await http.send(get(server.url))).text(10)));
    await http.close();
    server.kill();
    await vi.waitFor(() => {
      const resources = process.getActiveResourcesInfo();
      expect(resources.filter((name) => name.startsWith("TCP"))).toEqual([]);
      expect(resources.filter((name) => /Timeout|Immediate/.test(name)).length).toBeLessThanOrEqual(before + 1);
    }, waiting);
  });
});
