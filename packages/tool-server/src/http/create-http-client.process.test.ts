import { getEventListeners } from "node:events";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { CallPhases } from "../call-phases.js";
import { failureOf } from "../failure-of.test.helper.js";
import { createFakeClock } from "../fake-clock.test.helper.js";
import { waiting } from "../waiting.test.helper.js";
import { startHostileServer, startRawServer } from "./hostile-http-server.test.helper.js";
import { createTestClient, get, post } from "./http-client.test.helper.js";

describe("a request", () => {
  test("sends method, path, headers and body as they are", async () => {
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

  test("returns status, headers and body of a response", async () => {
    const server = await startHostileServer((_, response) => {
      response.writeHead(418, { "X-A": ["1", "2"], "Set-Cookie": ["a", "b"] });
      response.end("tea");
    });
    const { http } = createTestClient();
    const response = await http.send(get(server.url));
    expect(response).toMatchObject({ status: 418, headers: { "x-a": "1, 2", "set-cookie": "b" } });
    expect(await response.text(3)).toBe("tea");
  });

  test("skips the informational responses of a server", async () => {
    const server = await startRawServer((socket) => {
      socket.once("data", () =>
        socket.write("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
      );
    });
    const { http } = createTestClient();
    const response = await http.send(get(server.url));
    expect([response.status, await response.text(10)]).toEqual([200, "ok"]);
  });

  test("throws a TypeError that does not quote a header that cannot be sent", async () => {
    const server = await startHostileServer((_, response) => response.end());
    const { http } = createTestClient();
    const sent = http.send(get(server.url, { headers: { authorization: "Bearer s3cr3t\n" } }));
    await expect(sent).rejects.toThrow(TypeError);
    await expect(sent).rejects.not.toThrow("s3cr3t");
  });
});

describe("a server that responds", () => {
  test.each([
    ["nothing, and ends", "", "CONNECTION_LOST"],
    ["garbage", "\x00\x01 what is this\r\n\r\n", "NOT_A_TOOL_SERVER"],
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n", "NOT_A_TOOL_SERVER"],
    ["half of its headers", "HTTP/1.1 200 OK\r\nContent-", "CONNECTION_LOST"],
    ["endless headers", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(200_000)}`, "MESSAGE_TOO_LARGE"],
  ])("reports a server that sends %s", async (_, bytes, code) => {
    const server = await startRawServer((socket) => socket.once("data", () => socket.end(bytes)));
    const { http } = createTestClient();
    const failure = await failureOf(http.send(get(server.url)));
    expect(failure).toMatchObject({ code, details: { wasSent: true } });
    expect(failure.message).toContain(`The server "notes" (localhost:${server.port})`);
  });

  test("reports headers that come too late as CALL_TIMEOUT, and lets a body take its time", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/slow") return;
      response.write("a");
    });
    const clock = createFakeClock();
    const { http } = createTestClient({ clock });
    const slow = failureOf(http.send(get(new URL("/slow", server.url), { headersTimeoutMs: 5000 })));
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), waiting);
    clock.advance(5000);
    expect(await slow).toMatchObject({ code: "CALL_TIMEOUT" });
    const response = await http.send(get(server.url, { headersTimeoutMs: 5000 }));
    clock.advance(60_000);
    let text = "";
    const read = response.read((chunk) => {
      text += chunk.toString();
    });
    const end = failureOf(read);
    await vi.waitFor(() => expect(text).toBe("a"), waiting);
    await http.close();
    expect(await end).toMatchObject({ code: "CONNECTION_CLOSED" });
  });
});

describe("a caller that cancels", () => {
  test("rejects with the caller's own reason before the request, while it waits, before the headers, and in the body", async () => {
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
    const response = await http.send(get(new URL("/body", server.url), { signal: reads.signal }));
    const read = response.read(() => reads.abort(reason));
    await expect(read).rejects.toBe(reason);
    await vi.waitFor(() => expect(published.totals()).toMatchObject({ closed: published.totals().opened }), waiting);
    expect(published.totals()).toMatchObject({ "stream-started": 2, "stream-failed": 2 });
    await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
  });

  test("leaves no listener on one signal for many requests", async () => {
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

  test("rejects with the caller's own reason while a request is sent again, and reports what both attempts waited for", async () => {
    const server = await startHostileServer((request) => request.socket.destroy());
    const { http, published } = createTestClient();
    const controller = new AbortController();
    const reason = new RangeError("enough");
    const phases: string[] = [];
    const observer: CallPhases = {
      begin(phase) {
        phases.push(phase);
        if (phases.filter((name) => name === "connecting").length === 2) controller.abort(reason);
      },
      end() {},
      retry: () => void phases.push("retry"),
    };
    const { signal } = controller;
    const sent = http.send(get(server.url, { isSafe: true, signal, phases: observer }));
    await expect(sent).rejects.toBe(reason);
    expect(phases.filter((phase) => phase !== "lookup" && phase !== "tcp")).toEqual([
      ...["connecting", "request", "server"],
      ...["retry", "connecting"],
    ]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(server.requests).toHaveLength(1);
    expect(published.totals()).toMatchObject({ opened: 1, "stream-started": 1, "stream-failed": 1 });
  });

  test("rejects with the reason that came first if the client closes and the caller cancels", async () => {
    const server = await startHostileServer(() => {});
    const { http } = createTestClient();
    const controller = new AbortController();
    const sent = failureOf(http.send(get(server.url, { signal: controller.signal })));
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), waiting);
    const closed = http.close();
    controller.abort(new RangeError("too late"));
    expect(await sent).toMatchObject({ code: "CONNECTION_CLOSED", details: { wasSent: true } });
    await closed;
  });

  test("sends nothing if the caller cancels on a pooled socket at the moment of sending", async () => {
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

  test("says for each request whether it was written", async () => {
    const server = await startHostileServer((request, response) => {
      if (request.url === "/done") response.end("a");
    });
    const { http } = createTestClient();
    const send = (path: string) => http.send(get(new URL(path, server.url)));
    await Promise.all(["/done", "/done"].map(async (path) => (await send(path)).text(10)));
    const written = failureOf(send("/written"));
    await vi.waitFor(() => expect(server.requests).toHaveLength(3), waiting);
    const unwritten = failureOf(send("/unwritten"));
    await http.close();
    expect((await written).details).toMatchObject({ wasSent: true });
    expect((await unwritten).details).toMatchObject({ wasSent: false });
    expect(server.requests.map(({ url }) => url)).not.toContain("/unwritten");
  });

  test("leaves no handle behind that keeps a process alive", async () => {
    const server = await startHostileServer((_, response) => response.end("x"));
    // Vitest has its own timers, and more of them on a busy machine; it does not start them through the global.
    const started = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => started.mockRestore());
    const { http } = createTestClient({ connectMs: 60_000 });
    await Promise.all(Array.from({ length: 10 }, async () => (await http.send(get(server.url))).text(10)));
    await http.close();
    server.kill();
    await vi.waitFor(() => {
      expect(process.getActiveResourcesInfo().filter((name) => name.startsWith("TCP"))).toEqual([]);
      expect(started.mock.results.filter(({ value }) => isPending(value as NodeJS.Timeout))).toEqual([]);
    }, waiting);
    expect(started).toHaveBeenCalled();
  });
});

/** Whether a timer keeps the process alive. One that was cleared or has fired still reports that it would. */
function isPending(timer: NodeJS.Timeout): boolean {
  return timer.hasRef() && !(timer as unknown as { readonly _destroyed: boolean })._destroyed;
}
