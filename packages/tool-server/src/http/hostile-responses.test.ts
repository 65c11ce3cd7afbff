import { getEventListeners } from "node:events";
import type { Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Published } from "../connection/transports/transport-context.test.helper.js";
import type { ToolServerError } from "../errors.js";
import { failureOf } from "../failure-of.test.helper.js";
import { createFakeClock } from "../fake-clock.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import type { HttpClientOptions } from "./create-http-client.js";
import { type HostileServer, startRawServer } from "./hostile-http-server.test.helper.js";
import type { HttpClient, HttpRequest, HttpResponse } from "./http-client.js";
import { createTestClient, get, post } from "./http-client.test.helper.js";

/** Handles a request on a raw socket; `number` counts the connections from 1, `index` the requests on each from 0. */
type RawHandler = (socket: Socket, number: number, index: number, request: string) => unknown;

/** A raw TCP server that waits for the headers of each request, and parses nothing else. */
function startResponding(handler: RawHandler): Promise<HostileServer> {
  return startRawServer((socket, number) => {
    let seen = "";
    let index = 0;
    socket.setNoDelay(true);
    socket.on("data", (bytes) => {
      seen += bytes.toString("latin1");
      for (let end = seen.indexOf("\r\n\r\n"); end !== -1; end = seen.indexOf("\r\n\r\n")) {
        const request = seen.slice(0, end);
        seen = seen.slice(end + 4);
        void handler(socket, number, index, request);
        index += 1;
      }
    });
  });
}

/** A client of which nothing may be left after the test, neither here nor at the servers. */
function createCheckedClient(
  servers: readonly HostileServer[],
  options: Partial<HttpClientOptions> = {},
): { http: HttpClient; published: Published; signal: AbortSignal } {
  const { http, published } = createTestClient(options);
  const { signal } = new AbortController();
  onTestFinished(async () => {
    await http.close();
    expect(getEventListeners(signal, "abort")).toEqual([]);
    const totals = published.totals();
    expect(totals.closed).toBe(totals.opened);
    expect(totals["stream-succeeded"] + totals["stream-failed"]).toBe(totals["stream-started"]);
    for (const { sockets } of servers) await vi.waitFor(() => expect(sockets.size).toBe(0), waiting);
  });
  return { http, published, signal };
}

const responseOf = (body: string, ...headers: string[]): string =>
  `${["HTTP/1.1 200 OK", `Content-Length: ${body.length}`, ...headers].join("\r\n")}\r\n\r\n${body}`;

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

async function ask(http: HttpClient, request: HttpRequest): Promise<string> {
  return (await http.send(request)).text(1_000_000);
}

/** The socket that a response came on. */
const socketOf = ({ socketInfo }: HttpResponse): Socket => socketInfo.socket;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("bytes after a response", () => {
  test("[TS-D-HTTP-5] drops bytes in the same packet as a response, and uses another connection for the next request", async () => {
    const server = await startResponding((socket, number) =>
      socket.write(number === 1 ? responseOf("one") + responseOf("injected") : responseOf("two")),
    );
    const { http, published, signal } = createCheckedClient([server]);
    expect(await ask(http, get(server.url, { signal }))).toBe("one");
    expect(await ask(http, get(server.url, { signal }))).toBe("two");
    expect([server.connections, published.totals()["stream-succeeded"]]).toEqual([2, 2]);
  });

  test("[TS-D-HTTP-5] ends the connection if bytes arrive while no request is pending, and discards them", async () => {
    const server = await startResponding((socket, number) => socket.write(responseOf(`${number}`)));
    const { http, published } = createCheckedClient([server]);
    expect(await ask(http, get(server.url))).toBe("1");
    for (const socket of server.sockets) socket.write(responseOf("injected"));
    await vi.waitFor(() => expect(published.reasons).toEqual(["The server sent an unsolicited response."]), waiting);
    expect(await ask(http, get(server.url))).toBe("2");
  });

  test.each([
    ["another response", "data", (socket: Socket) => socket.write(responseOf("injected"))],
    ["a 408", "data", (socket: Socket) => socket.end("HTTP/1.1 408 Request Timeout\r\n\r\n")],
    ["the end of the stream", "end", (socket: Socket) => socket.end()],
  ])(
    "[TS-D-HTTP-3] sends a request on another connection if the server sends %s before it is written",
    async (_, event, speak) => {
      const requests: string[] = [];
      const server = await startResponding((socket, number, _index, request) => {
        requests.push(`${number} ${request.slice(0, 9)}`);
        socket.write(responseOf(`${number}`));
      });
      const { http, published, signal } = createCheckedClient([server]);
      const send = (): Promise<HttpResponse> => http.send(post(server.url, "", { signal }));
      let response = await send();
      for (let round = 1; round <= 5; round += 1) {
        expect(await response.text(10)).toBe(`${round}`);
        const socket = socketOf(response);
        const next = new Promise<HttpResponse>((resolve) => {
          // At the last moment: other listeners are called after this.
          socket.prependOnceListener(event, () => resolve(send()));
        });
        for (const each of server.sockets) speak(each);
        response = await next;
      }
      expect(await response.text(10)).toBe("6");
      // Each was written once.
      expect(requests).toEqual(Array.from({ length: 6 }, (_each, index) => `${index + 1} POST /mcp`));
      expect(published.totals()).toMatchObject({ "stream-started": 6, "stream-succeeded": 6 });
    },
  );

  test("discards a late response to a cancelled request", async () => {
    const late: Socket[] = [];
    const server = await startResponding((socket, number) => {
      if (number === 1) late.push(socket);
      else {
        for (const socket of late) socket.write(responseOf("late"));
        socket.write(responseOf("right"));
      }
    });
    const { http, published } = createCheckedClient([server]);
    const controller = new AbortController();
    const given = http.send(get(server.url, { signal: controller.signal }));
    await vi.waitFor(() => expect(late).toHaveLength(1), waiting);
    controller.abort(new RangeError("enough"));
    const next = ask(http, get(server.url));
    await expect(given).rejects.toThrow("enough");
    expect(await next).toBe("right");
    expect(published.reasons).toEqual(["A request on it was cancelled."]);
  });
});

describe("a server that ends the connection", () => {
  test("loses no request if a server closes the connection right after its response", async () => {
    const server = await startResponding((socket, number) => socket.end(responseOf(`${number}`)));
    const { http, published } = createCheckedClient([server]);
    for (let round = 1; round <= 20; round += 1) {
      expect(await ask(http, post(server.url, "x"))).toBe(`${round}`);
      // Its end may arrive at any time.
      await vi.waitFor(() => expect(published.totals().closed).toBe(round), waiting);
    }
    expect(published.totals()).toMatchObject({ "stream-started": 20, "stream-succeeded": 20 });
  });

  test.each([
    ["before it says anything", "", "CONNECTION_LOST"],
    ["in the status line", "HTTP/1.1 2", "CONNECTION_LOST"],
    ["in a header", "HTTP/1.1 200 OK\r\nContent-", "CONNECTION_LOST"],
    ["after an informational response", "HTTP/1.1 103 Early Hints\r\n\r\n", "CONNECTION_LOST"],
    ["before a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "CONNECTION_LOST"],
    ["in a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "CONNECTION_LOST"],
    ["in the size of a chunk", `${chunked}5`, "CONNECTION_LOST"],
    ["in a chunk", `${chunked}5\r\nhell`, "CONNECTION_LOST"],
    ["after a chunk", `${chunked}5\r\nhello\r\n`, "CONNECTION_LOST"],
    ["before the last line end", `${chunked}5\r\nhello\r\n0\r\n`, "CONNECTION_LOST"],
    ["in a trailer", `${chunked}0\r\nX: y`, "CONNECTION_LOST"],
    ["after the start of another protocol", "SSH", "NOT_A_TOOL_SERVER"],
  ])("reports a response that the server breaks off %s", async (_, bytes, code) => {
    const server = await startResponding((socket) => socket.end(bytes));
    const { http, signal } = createCheckedClient([server]);
    const failure = await failureOf(ask(http, get(server.url, { signal })));
    expect(failure).toMatchObject({ code, details: { wasSent: true } });
  });

  test("reads a response that ends with the connection", async () => {
    const server = await startResponding((socket) =>
      socket.end("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nhello"),
    );
    const { http, published } = createCheckedClient([server]);
    expect(await ask(http, get(server.url))).toBe("hello");
    expect(published.totals()["stream-succeeded"]).toBe(1);
  });
});

describe("a server that announces how long it keeps a connection", () => {
  test.each([
    ["timeout=0", 2],
    ["timeout=1", 1],
    ["timeout=999999", 1],
    ["timeout=99999999999999999999", 1],
    ["timeout=-1", 1],
    ["nonsense", 1],
  ])("sends two requests after Keep-Alive: %s over %i connections", async (value, connections) => {
    const server = await startResponding((socket) => socket.write(responseOf("x", `Keep-Alive: ${value}`)));
    const { http } = createCheckedClient([server]);
    expect([await ask(http, get(server.url)), await ask(http, get(server.url))]).toEqual(["x", "x"]);
    expect(server.connections).toBe(connections);
  });
});

describe("a request", () => {
  const large = "x".repeat(32 * 1024 * 1024);

  test("returns a response that came before the request was read, and does not reuse the connection", async () => {
    const server = await startRawServer((socket, number) => {
      if (number > 1) return socket.once("data", () => socket.write(responseOf("second")));
      // One byte is enough for it.
      return socket.once("readable", () => socket.write(responseOf("too much")));
    });
    const { http, published } = createCheckedClient([server]);
    expect(await ask(http, post(server.url, large))).toBe("too much");
    expect(await ask(http, get(server.url))).toBe("second");
    expect(published.totals()).toMatchObject({ opened: 2, "stream-succeeded": 2 });
    for (const socket of server.sockets) socket.resume();
  });

  test("gives up on a request that the server does not read in time", async () => {
    const server = await startRawServer((socket) => socket.pause());
    const clock = createFakeClock();
    const { http, published } = createCheckedClient([server], { clock });
    const failure = failureOf(http.send(post(server.url, large, { headersTimeoutMs: 1000 })));
    await vi.waitFor(() => expect(published.totals()["stream-started"]).toBe(1), waiting);
    clock.advance(1000);
    expect(await failure).toMatchObject({ code: "CALL_TIMEOUT" });
    for (const socket of server.sockets) socket.resume();
  });
});

describe("an endless response", () => {
  /** Writes as long as the socket is open. */
  const pour = (socket: Socket, begins: string, piece: string): void => {
    const bytes = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
    socket.write(begins);
    const more = (): void => {
      while (!socket.destroyed && socket.write(bytes));
    };
    socket.on("drain", more);
    more();
  };

  test.each([
    ["a header", "HTTP/1.1 200 OK\r\nX: ", "s3cr3t", "MESSAGE_TOO_LARGE"],
    ["headers", "HTTP/1.1 200 OK\r\n", "X: s3cr3t\r\n", "MESSAGE_TOO_LARGE"],
    ["a reason phrase", "HTTP/1.1 200 ", "s3cr3t", "CONNECTION_LOST"],
    ["empty lines before its headers", "", "\r\n", "CONNECTION_LOST"],
    ["informational responses", "", "HTTP/1.1 102 s3cr3t\r\n\r\n", "MESSAGE_TOO_LARGE"],
    ["chunk extensions", `${chunked}5`, ";s3cr3t", "CONNECTION_LOST"],
    ["zeros in the size of a chunk", chunked, "0", "CONNECTION_LOST"],
    ["trailers", `${chunked}0\r\n`, "X: s3cr3t\r\n", "CONNECTION_LOST"],
    ["a body", "HTTP/1.1 200 OK\r\n\r\n", "s3cr3t", "MESSAGE_TOO_LARGE"],
    ["chunks", chunked, "6\r\ns3cr3t\r\n", "MESSAGE_TOO_LARGE"],
    ["nonsense", "", "s3cr3t", "NOT_A_TOOL_SERVER"],
  ])("gives up on an endless response of %s, and does not quote it", async (_, begins, piece, code) => {
    const server = await startResponding((socket) => pour(socket, begins, piece));
    const { http, signal } = createCheckedClient([server]);
    const failure = await failureOf(ask(http, get(server.url, { signal })));
    expect(failure).toMatchObject({ code, details: { wasSent: true } });
    expect(JSON.stringify([failure.message, String(failure.cause)])).not.toContain("s3cr3t");
  });

  test("reads less than 1 MiB of a chunk extension that does not end", async () => {
    const server = await startResponding((socket) => pour(socket, `${chunked}1\r\nx\r\n1`, ";s3cr3t"));
    const { http, published } = createCheckedClient([server]);
    const response = await http.send(get(server.url));
    expect(await failureOf(response.text(10))).toMatchObject({ code: "CONNECTION_LOST" });
    expect(socketOf(response).bytesRead).toBeLessThan(1024 * 1024);
    expect(published.reasons).toEqual(["The server violates HTTP."]);
  });

  test("reads a body with long chunk extensions if each is followed by a byte of the body", async () => {
    const piece = `1;${"a".repeat(200 * 1024)}\r\nx\r\n`;
    const server = await startResponding((socket) => socket.write(`${chunked}${piece.repeat(5)}0\r\n\r\n`));
    const { http } = createCheckedClient([server]);
    expect(await ask(http, get(server.url))).toBe("xxxxx");
  });
});

test("keeps a connection on which many small pieces arrive while the reader of the body is busy", async () => {
  const piece = "1\r\nx\r\n";
  const count = 1000;
  let client: Socket | undefined;
  const server = await startResponding(async (socket) => {
    socket.write(chunked + piece);
    await vi.waitFor(() => expect(client).toBeDefined(), waiting);
    for (let sent = 2; sent <= count; sent += 1) {
      socket.write(piece);
      // One after the other, so that each is read on its own.
      while (client?.destroyed === false && client.bytesRead < chunked.length + sent * piece.length) await turn();
    }
    socket.write("0\r\n\r\n");
    release?.();
  });
  const { http, published } = createCheckedClient([server]);
  const response = await http.send(get(server.url));
  let release: (() => void) | undefined;
  let bytes = 0;
  await response.read((chunk) => {
    bytes += chunk.length;
    if (release !== undefined) return undefined;
    client = socketOf(response);
    return new Promise<void>((resolve) => {
      release = resolve;
    });
  });
  expect(bytes).toBe(count);
  expect(published.totals()).toMatchObject({ opened: 1, "stream-succeeded": 1 });
});

describe("a body in many pieces", () => {
  const pieces = "0123456789".repeat(500);
  const begin = async (): Promise<HttpResponse> => {
    const server = await startResponding((socket) =>
      socket.write(`${chunked}${[...pieces].map((piece) => `1\r\n${piece}\r\n`).join("")}0\r\n\r\n`),
    );
    const { http } = createCheckedClient([server]);
    return http.send(get(server.url));
  };

  test("joins a body of many pieces", async () => {
    expect(await (await begin()).text(5000)).toBe(pieces);
  });

  test("[TS-D-HTTP-6] pauses after many pieces, because each takes more than its bytes", async () => {
    const response = await begin();
    // Bytes that were read from the socket, but not consumed yet.
    await vi.waitFor(() => expect(socketOf(response).readableLength).toBeGreaterThan(4000 * 6), waiting);
    expect(response.textIfComplete(5000)).toBeUndefined();
    expect(await response.text(5000)).toBe(pieces);
  });
});

test("[TS-D-HTTP-6] keeps only the bytes of a body in chunks, and not their extensions", async () => {
  const piece = Buffer.from(`1;${"a".repeat(1000)}\r\nx\r\n`.repeat(50));
  const times = 400;
  const server = await startResponding((socket) => {
    socket.write(chunked);
    for (let index = 0; index < times; index += 1) socket.write(piece);
  });
  const { http } = createCheckedClient([server]);
  const keptBytes = (): number => {
    globalThis.gc?.();
    return process.memoryUsage().arrayBuffers;
  };
  const before = keptBytes();
  const response = await http.send(get(server.url));
  const text = response.text(1_000_000);
  const all = chunked.length + times * piece.length;
  await vi.waitFor(() => expect(socketOf(response).bytesRead).toBe(all), waiting);
  // All that came is twenty times that.
  await vi.waitFor(() => expect(keptBytes() - before).toBeLessThan(all / 20), { timeout: 60_000, interval: 100 });
  for (const socket of server.sockets) socket.write("0\r\n\r\n");
  expect(await text).toHaveLength(times * 50);
});

test("reads no body of a response that can have none, and refuses one that announces it", async () => {
  const server = await startResponding((socket, _, index) =>
    socket.write(`HTTP/1.1 304 Not Modified\r\n${index === 0 ? "" : "Content-Length: 99999999\r\n"}\r\n`),
  );
  const { http } = createCheckedClient([server]);
  expect(await ask(http, get(server.url))).toBe("");
  expect(await failureOf(ask(http, get(server.url)))).toMatchObject({ code: "CONNECTION_LOST" });
  expect(server.connections).toBe(1);
});

test("reads a response that comes byte by byte, and reuses the connection", async () => {
  const server = await startResponding(async (socket, number) => {
    for (const character of `${chunked}1;a=b\r\n${number}\r\n0\r\nX: y\r\n\r\n`) {
      socket.write(character);
      await turn();
    }
  });
  const { http, published } = createCheckedClient([server]);
  for (let round = 0; round < 3; round += 1) expect(await ask(http, get(server.url))).toBe("1");
  expect(published.totals()).toMatchObject({ opened: 1, "stream-succeeded": 3 });
});

test("leaves the connection usable for many requests after a slow reader", async () => {
  const size = 1024 * 1024;
  const server = await startResponding((socket, _, index) =>
    socket.write(responseOf(index % 2 === 0 ? "x".repeat(size) : "y")),
  );
  const { http, published } = createCheckedClient([server]);
  for (let round = 0; round < 4; round += 1) {
    const response = await http.send(get(server.url));
    let bytes = 0;
    await turn();
    await response.read(async (chunk) => {
      bytes += chunk.length;
      await turn();
    });
    expect(bytes).toBe(size);
    expect(await ask(http, get(server.url))).toBe("y");
  }
  expect(published.totals()).toMatchObject({ opened: 1, "stream-succeeded": 8 });
});

test("gives each request a response or one of our errors, whatever arrives and however it is split", async () => {
  let script: readonly string[] = [];
  const server = await startResponding(async (socket) => {
    for (const piece of script) {
      if (piece === "turn") await turn();
      else socket.write(piece, "latin1");
    }
    socket.end();
  });
  const { http, signal, published } = createCheckedClient([server]);
  const pieces = fc.constantFrom(
    "turn",
    "turn",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 204 s3cr3t\r\n\r\n",
    "HTTP/1.1 100 s3cr3t\r\n\r\n",
    "Content-Length: 6\r\n",
    "Transfer-Encoding: chunked\r\n",
    "X: s3cr3t\r\n",
    "\r\n",
    "6\r\ns3cr3t\r\n",
    "0\r\n\r\n",
    "s3cr3t",
    "\0",
  );
  const begins = fc.constantFrom(
    [],
    ["HTTP/1.1 200 OK\r\n"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"],
    [chunked],
  );
  await fc.assert(
    fc.asyncProperty(begins, fc.array(pieces, { maxLength: 12 }), fc.boolean(), async (begin, rest, discards) => {
      script = [...begin, ...rest];
      const asked = http.send(post(server.url, "x", { signal })).then((response) => {
        if (!discards) return response.text(1000);
        response.discard();
        return "";
      });
      const result = await asked.catch((error: ToolServerError) => error);
      if (typeof result === "string") return;
      expect(result).toMatchObject({ code: expect.stringMatching(/^(CONNECTION_LOST|NOT_A_TOOL_SERVER)$/) });
      expect(`${result.message} ${result.cause}`).not.toContain("s3cr3t");
    }),
    { numRuns: 100 },
  );
  await vi.waitFor(() => expect(published.totals().closed).toBe(published.totals().opened), waiting);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
