import { describe, expect, test, vi } from "vitest";
import { failureOf } from "../failure-of.test.helper.js";
import { createFakeClock } from "../fake-clock.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import { startHostileServer, startRawServer } from "./hostile-http-server.test.helper.js";
import { createTestClient, get } from "./http-client.test.helper.js";

describe("a body", () => {
  test("rejects a body past the limit, whether its length is declared or not", async () => {
    const server = await startHostileServer((request, response) => {
      const body = "x".repeat(1000);
      if (request.url === "/declared") response.setHeader("content-length", 1000);
      response.write(body.slice(0, 500));
      response.end(body.slice(500));
    });
    const { http } = createTestClient();
    for (const path of ["/declared", "/undeclared"]) {
      const response = await http.send(get(new URL(path, server.url)));
      expect(await failureOf(response.text(999))).toMatchObject({
        code: "MESSAGE_TOO_LARGE",
        details: { status: 200 },
      });
      expect(await (await http.send(get(new URL(path, server.url)))).text(1000)).toHaveLength(1000);
    }
  });

  test("pauses a body that nobody reads or whose reader is busy, and delivers all of it in the end", async () => {
    const size = 32 * 1024 * 1024;
    const server = await startHostileServer((_, response) => response.end(Buffer.alloc(size, "x")));
    const { http } = createTestClient();
    const response = await http.send(get(server.url));
    const { socket } = response.socketInfo;
    const settle = async (): Promise<number> => {
      let before = -1;
      const isStill = (): void => {
        const earlier = before;
        before = socket.bytesRead;
        expect(before).toBe(earlier);
      };
      await vi.waitFor(isStill, { timeout: 60_000, interval: 50 });
      return before;
    };
    expect(await settle()).toBeLessThan(size / 8);
    let bytes = 0;
    let release: (() => void) | undefined;
    const read = response.read((chunk) => {
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

  test("delivers a body piece after piece to a slow reader", async () => {
    const server = await startHostileServer((_, response) => response.end(Buffer.alloc(1024 * 1024, "x")));
    const { http } = createTestClient();
    const response = await http.send(get(server.url));
    let busy = 0;
    let most = 0;
    let bytes = 0;
    await response.read(async (chunk) => {
      busy += 1;
      most = Math.max(most, busy);
      await new Promise((resolve) => setImmediate(resolve));
      bytes += chunk.length;
      busy -= 1;
    });
    expect([bytes, most]).toEqual([1024 * 1024, 1]);
  });

  test("gives up on a body whose reader throws, with that error", async () => {
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
      const response = await http.send(get(server.url));
      await expect(response.read(reader)).rejects.toThrow("enough");
    }
    await vi.waitFor(
      () => expect(published.totals()).toMatchObject({ opened: 2, closed: 2, "stream-failed": 2 }),
      waiting,
    );
  });

  test("reports a body that breaks off as CONNECTION_LOST", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/length") response.setHeader("content-length", 100);
      response.write("half", () => setImmediate(() => request.socket.destroy()));
    });
    const { http } = createTestClient();
    for (const path of ["/length", "/chunked"]) {
      const response = await http.send(get(new URL(path, server.url)));
      expect(await failureOf(response.text(1000))).toMatchObject({
        code: "CONNECTION_LOST",
        details: { wasSent: true },
      });
    }
  });

  test("reports malformed chunks as CONNECTION_LOST, and reads unusual but valid ones", async () => {
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
    const wrong = http.send(get(new URL("/wrong", server.url))).then((response) => response.text(10));
    expect(await failureOf(wrong)).toMatchObject({ code: "CONNECTION_LOST" });
  });

  test("leaves the socket to the next request if a body that is not needed is short", async () => {
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

  test.each([
    ["in chunks, at", false, 65_536, 1],
    ["in chunks, one byte above", false, 65_537, 2],
    ["with a length, at", true, 65_536, 1],
    ["with a length, one byte above", true, 65_537, 2],
  ])(
    "reads a body that is not needed up to 64 KiB, so that the socket can be reused (%s the limit)",
    async (_, hasLength, bytes, connections) => {
      let sendBody: (() => void) | undefined;
      const server = await startHostileServer((request, response) => {
        if (request.url !== "/long") return response.end("x");
        if (hasLength) response.setHeader("content-length", bytes);
        response.flushHeaders();
        sendBody = () => response.end(Buffer.alloc(bytes));
        return undefined;
      });
      // With a clock that stands still, nothing times out.
      const { http, published } = createTestClient({ clock: createFakeClock() });
      const response = await http.send(get(new URL("/long", server.url)));
      // Before the body arrives: one that was received is not read.
      response.discard();
      sendBody?.();
      const end = connections === 1 ? "stream-succeeded" : "stream-failed";
      await vi.waitFor(() => expect(published.totals()[end]).toBe(1), waiting);
      expect(await (await http.send(get(server.url))).text(10)).toBe("x");
      expect(server.connections).toBe(connections);
    },
  );

  test("closes the socket at once if a body that is not needed declares more than 64 KiB", async () => {
    const server = await startHostileServer((_, response) => {
      response.setHeader("content-length", 65_537);
      response.flushHeaders();
    });
    // With a clock that stands still, nothing times out.
    const { http, published } = createTestClient({ clock: createFakeClock() });
    (await http.send(get(server.url))).discard();
    await vi.waitFor(() => expect(published.totals()).toMatchObject({ closed: 1, "stream-failed": 1 }), waiting);
  });

  test("ends a body that is not needed and never ends", async () => {
    const server = await startHostileServer((_, response) => response.write("some"));
    const clock = createFakeClock();
    const { http, published } = createTestClient({ clock });
    (await http.send(get(server.url))).discard();
    expect(published.totals().closed).toBe(0);
    clock.advance(2000);
    await vi.waitFor(() => expect(published.totals().closed).toBe(1), waiting);
  });

  test("allows reading a body once", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    const { http } = createTestClient();
    const response = await http.send(get(server.url));
    await response.text(10);
    await expect(response.text(10)).rejects.toThrow(TypeError);
  });
});
