import http, { type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { Client } from "undici";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestContext } from "../connection/transports/transport-context.test.helper.js";
import { failureOf } from "../failure-of.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import { startHostileServer, startRawServer } from "./hostile-http-server.test.helper.js";
import { createTestClient, get } from "./http-client.test.helper.js";
import { createHttpConnection } from "./http-connection.js";

/** The timers of undici's time limits, which do not follow the system clock. */
const timers = createRequire(import.meta.url)("undici/lib/util/timers.js") as { tick(byMs: number): void };

/** Lets more time pass for undici than its default time limits, 300 s. */
function passTenMinutes(): void {
  // A new timer starts with the next tick.
  for (let tick = 0; tick < 3; tick += 1) timers.tick(600_000);
}

/** A client with undici's default settings. */
function createDefaultClient(url: URL): Client {
  const client = new Client(url.origin);
  onTestFinished(() => client.destroy());
  return client;
}

describe("a server that takes longer than undici's default time limits", () => {
  test("waits for response headers as long as the caller does", async () => {
    const due: ServerResponse[] = [];
    const server = await startHostileServer((_, response) => due.push(response));
    const cutOff = createDefaultClient(server.url).request({ method: "GET", path: "/" });
    const failed = expect(cutOff).rejects.toMatchObject({ code: "UND_ERR_HEADERS_TIMEOUT" });
    const sent = createTestClient().http.send(get(server.url));
    await vi.waitFor(() => expect(due).toHaveLength(2), waiting);
    passTenMinutes();
    for (const response of due) response.end("late");
    expect(await (await sent).text(10)).toBe("late");
    await failed;
  });

  test("waits for the rest of a body as long as the caller does", async () => {
    const due: ServerResponse[] = [];
    const server = await startHostileServer((_, response) => {
      response.write("very ");
      due.push(response);
    });
    const { body } = await createDefaultClient(server.url).request({ method: "GET", path: "/" });
    const failed = expect(body.text()).rejects.toMatchObject({ code: "UND_ERR_BODY_TIMEOUT" });
    const text = (await createTestClient().http.send(get(server.url))).text(10);
    passTenMinutes();
    for (const response of due) response.end("late");
    expect(await text).toBe("very late");
    await failed;
  });
});

test("limits response headers to 16 KiB, even if Node is started with a higher limit", async () => {
  // As --max-http-header-size=65536 does, which is undici's default.
  const limit = vi.spyOn(http, "maxHeaderSize", "get").mockReturnValue(65_536);
  onTestFinished(() => limit.mockRestore());
  const server = await startRawServer((socket) =>
    socket.on("data", (bytes) => {
      const size = bytes.toString().startsWith("GET /short") ? 16_000 : 17_000;
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: ${"x".repeat(size)}\r\n\r\nok`);
    }),
  );
  const { body } = await createDefaultClient(server.url).request({ method: "GET", path: "/long" });
  expect(await body.text()).toBe("ok");
  const client = createTestClient().http;
  expect(await (await client.send(get(new URL("/short", server.url)))).text(10)).toBe("ok");
  const failure = await failureOf(client.send(get(new URL("/long", server.url))));
  expect(failure).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
});

describe("the time that a connection may be idle", () => {
  test.each([
    ["500 ms before the server does", "timeout=10", 9500],
    ["after 10 minutes, even if the server keeps it longer", "timeout=86400", 600_000],
    ["after the time of the options if the server does not say", "nonsense", 1234],
  ])("closes an idle connection %s", async (_, keepAlive, expectedMs) => {
    const started = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => started.mockRestore());
    const server = await startRawServer((socket) =>
      socket.on("data", () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: ${keepAlive}\r\n\r\n`)),
    );
    const { http } = createTestClient({ idleMs: 1234 });
    await (await http.send(get(server.url))).text(10);
    // The only timer of undici that is one of Node's.
    const idleTimesMs = (): unknown[] =>
      started.mock.calls.filter(([{ name }]) => name === "onParserTimeout").map(([, delayMs]) => delayMs);
    await vi.waitFor(() => expect(idleTimesMs()).toEqual([expectedMs]), waiting);
  });

  test("sets the maximum age of an idle connection, although undici's default is the same", () => {
    const given: Client.Options[] = [];
    class RecordingClient {
      constructor(_: string, options: Client.Options) {
        given.push(options);
      }
    }
    createHttpConnection(RecordingClient as unknown as typeof Client, new Socket(), {
      origin: "http://localhost",
      remoteName: "localhost:80",
      transport: createTestContext("http").info,
      redact: (text) => text,
      idleMs: 4000,
    });
    expect(given).toMatchObject([{ keepAliveMaxTimeout: 600_000 }]);
  });
});
