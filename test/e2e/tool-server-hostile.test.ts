import { createServer } from "node:net";
import type { Connection, ToolServerErrorCode } from "@wirescope/tool-server";
import { describe, expect, test } from "vitest";
import {
  type HostileServer,
  serve,
  serveHostileHttp,
  serveHostileSse,
  serveHostileStdio,
  serveHostileWebSocket,
} from "./hostile-servers.test.helper.js";
import {
  activeResources,
  expectNothingLeft,
  failureOf,
  openConnection,
  textOf,
  until,
} from "./tool-server-world.test.helper.js";

expectNothingLeft();

const megabytes = 10 * 1024 * 1024;
const page = "<!doctype html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>";

/** Calls each tool, and compares its failure with the table; each ran once, and the connection still works. */
async function expectFailures(
  server: HostileServer,
  expected: Record<string, ToolServerErrorCode>,
): Promise<Record<string, string>> {
  const connection = await openConnection(server.entry, { limits: { messageBytes: 1024 * 1024 } });
  const messages: Record<string, string> = {};
  for (const [name, code] of Object.entries(expected)) {
    const idleTimeoutMs = code === "CALL_TIMEOUT" ? 400 : 20_000;
    const failure = await failureOf(connection.callTool({ name, arguments: {} }, { idleTimeoutMs }));
    expect([name, failure.code]).toEqual([name, code]);
    expect(failure.message).toContain('"faulty"');
    messages[name] = failure.message;
    await expectService(connection, name);
    expect([name, server.runs(name)]).toEqual([name, 1]);
  }
  return messages;
}

/** Checks that the connection works, at once or after its backoff. */
async function expectService(connection: Connection, after: string): Promise<void> {
  const text = await textOf(connection, "echo").catch((error: unknown) => `after ${after}: ${String(error)}`);
  expect(text).toBe("echo");
}

describe("a server with invalid responses", () => {
  test("fails only the one call over HTTP, and the next succeeds", async () => {
    const json = { "content-type": "application/json" };
    const events = { "content-type": "text/event-stream" };
    const server = await serveHostileHttp({
      garbage: (response) => response.socket?.end("\u0000\u0001 garbage \u001b[31m\r\n\r\n"),
      html: (response) => response.writeHead(200, { "content-type": "text/html" }).end(page),
      "html as json": (response) => response.writeHead(200, json).end(page),
      "another type": (response) => response.writeHead(200, { "content-type": "application/pdf" }).end("%PDF-1.7"),
      "no type": (response, reply) => response.writeHead(200).end(reply),
      "no message": (response) => response.writeHead(200, json).end('{"ok":true}'),
      "another's response": (response) =>
        response.writeHead(200, json).end(JSON.stringify({ jsonrpc: "2.0", id: 4711, result: {} })),
      "no result of a tool": (response, _, { id }) =>
        response.writeHead(200, json).end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: "text" } })),
      failure: (response) => response.writeHead(503, { "content-type": "text/html" }).end(page),
      "half-closed": (response) => response.socket?.end(),
      reset: (response) => response.socket?.resetAndDestroy(),
      "cut off": (response, reply) => {
        response.writeHead(200, { ...json, "content-length": 10_000 }).write(reply);
        setImmediate(() => response.socket?.end());
      },
      "events without a response": (response) => response.writeHead(200, events).end(": nothing\n\n"),
      "events cut off": (response) => {
        response.writeHead(200, events).write("event: message\ndata: {");
        setImmediate(() => response.socket?.destroy());
      },
      "10 MB": (response) => response.writeHead(200, json).end("x".repeat(megabytes)),
      "10 MB event": (response) => response.writeHead(200, events).end(`data: ${"x".repeat(megabytes)}\n\n`),
      silence: () => {},
      "half a response": (response, reply) => response.writeHead(200, json).write(reply.slice(0, 10)),
    });
    const messages = await expectFailures(server, {
      garbage: "NOT_A_TOOL_SERVER",
      html: "NOT_A_TOOL_SERVER",
      "html as json": "NOT_A_TOOL_SERVER",
      "another type": "NOT_A_TOOL_SERVER",
      "no type": "NOT_A_TOOL_SERVER",
      "no message": "NOT_A_TOOL_SERVER",
      "another's response": "RESPONSE_INVALID",
      "no result of a tool": "RESPONSE_INVALID",
      failure: "SERVER_FAILED",
      "half-closed": "CONNECTION_LOST",
      reset: "CONNECTION_LOST",
      "cut off": "CONNECTION_LOST",
      "events without a response": "CONNECTION_LOST",
      "events cut off": "CONNECTION_LOST",
      "10 MB": "MESSAGE_TOO_LARGE",
      "10 MB event": "MESSAGE_TOO_LARGE",
      silence: "CALL_TIMEOUT",
      "half a response": "CALL_TIMEOUT",
    });
    expect(messages.html).toContain('an HTML page, titled "Sign in"');
    // Abandoned calls have no connection; idle connections may be kept for a while.
    await until(() => expect(server.sockets.size).toBeLessThanOrEqual(2));
  });

  test("fails only the one call over SSE, and the next succeeds", async () => {
    const took = { "content-type": "text/plain" };
    const server = await serveHostileSse({
      garbage: (stream, response) => {
        response.writeHead(202).end();
        stream.write("event: message\ndata: \u0001garbage\n\n");
      },
      html: (_, response) => response.writeHead(500, { "content-type": "text/html" }).end(page),
      "half-closed": (stream, response) => {
        response.writeHead(202, took).end("Accepted");
        stream.end();
      },
      reset: (stream, response) => {
        response.writeHead(202).end();
        stream.socket?.resetAndDestroy();
      },
      "post cut off": (_, response) => response.socket?.destroy(),
      "10 MB": (stream, response) => {
        response.writeHead(202).end();
        stream.write(`data: ${"x".repeat(megabytes)}\n\n`);
      },
      silence: (_, response) => response.writeHead(202).end(),
      "post without a response": () => {},
    });
    await expectFailures(server, {
      garbage: "CALL_TIMEOUT",
      html: "SERVER_FAILED",
      "half-closed": "CONNECTION_LOST",
      reset: "CONNECTION_LOST",
      "post cut off": "CONNECTION_LOST",
      "10 MB": "MESSAGE_TOO_LARGE",
      silence: "CALL_TIMEOUT",
      "post without a response": "CALL_TIMEOUT",
    });
    await until(() => expect(server.sockets.size).toBeLessThanOrEqual(3));
  });

  test("fails only the one call over WebSocket, and the next succeeds", async () => {
    const server = await serveHostileWebSocket({
      garbage: (socket) => socket.send("\u0001garbage"),
      html: (socket) => socket.send(page),
      binary: (socket, _, reply) => socket.send(Buffer.from(reply)),
      "no frame": (_, tcp) => tcp.write(Buffer.from([0xff, 0xff, 0xff, 0xff])),
      "half-closed": (_, tcp) => tcp.end(),
      reset: (_, tcp) => tcp.resetAndDestroy(),
      "closed with a reason": (socket) => socket.close(1011, "out of order"),
      "10 MB": (socket) => socket.send("x".repeat(megabytes)),
      silence: () => {},
    });
    const messages = await expectFailures(server, {
      garbage: "CALL_TIMEOUT",
      html: "CALL_TIMEOUT",
      binary: "NOT_A_TOOL_SERVER",
      "no frame": "NOT_A_TOOL_SERVER",
      "half-closed": "CONNECTION_LOST",
      reset: "CONNECTION_LOST",
      "closed with a reason": "CONNECTION_LOST",
      "10 MB": "MESSAGE_TOO_LARGE",
      silence: "CALL_TIMEOUT",
    });
    expect(messages["closed with a reason"]).toContain("out of order");
    await until(() => expect(server.sockets.size).toBe(1));
  });

  test("fails only the one call over stdio, and the next succeeds", async () => {
    const server = serveHostileStdio(`
      function fault(name, reply) {
        const write = (text) => fs.writeSync(1, text);
        if (name === "garbage") write("\\u0001garbage\\n");
        else if (name === "html") write(${JSON.stringify(page)} + "\\n");
        else if (name === "closed output") fs.closeSync(1);
        else if (name === "exit") console.error("out of order"), process.exit(3);
        else if (name === "cut off") write(reply.slice(0, 10)), process.exit(0);
        else if (name === "10 MB") process.stdout.write("x".repeat(${megabytes}) + "\\n");
        else return name === "silence";
        return true;
      }`);
    const messages = await expectFailures(server, {
      garbage: "CALL_TIMEOUT",
      html: "CALL_TIMEOUT",
      "closed output": "CONNECTION_LOST",
      exit: "CHILD_EXITED",
      "cut off": "CHILD_EXITED",
      "10 MB": "MESSAGE_TOO_LARGE",
      silence: "CALL_TIMEOUT",
    });
    expect(messages.exit).toMatch(/exited with code 3.*out of order/);
  });

  test("waits for a response that arrives slowly, byte by byte", async () => {
    const drip = (write: (text: string) => unknown, text: string, done: () => unknown): void => {
      let at = 0;
      const timer = setInterval(() => {
        write(text.charAt(at));
        at += 1;
        if (at < text.length) return;
        clearInterval(timer);
        done();
      }, 1);
    };
    const http = await serveHostileHttp({
      slow(response, reply) {
        response.writeHead(200, { "content-type": "application/json" });
        drip(
          (text) => response.write(text),
          reply,
          () => response.end(),
        );
      },
    });
    const sse = await serveHostileSse({
      slow(stream, response, reply) {
        response.writeHead(202).end();
        drip(
          (text) => stream.write(text),
          `data: ${reply}\n\n`,
          () => {},
        );
      },
    });
    const stdio = serveHostileStdio(`
      function fault(name, reply) {
        let at = 0;
        const timer = setInterval(() => {
          process.stdout.write((reply + "\\n").charAt(at));
          if (at++ === reply.length) clearInterval(timer);
        }, 1);
        return true;
      }`);
    for (const { entry } of [http, sse, stdio]) {
      expect(await textOf(await openConnection(entry), "slow")).toBe("slow");
    }
  });
});

describe("[TS-D-CONN-1] calls that may have an effect", () => {
  test("repeats no call although the server forgot the session of another concurrent call", async () => {
    let isForgotten = false;
    const server = await serveHostileSse({
      long: (_, response) => response.writeHead(202).end(),
      forgotten(stream, response, reply) {
        if (!isForgotten) {
          isForgotten = true;
          return response.writeHead(404).end();
        }
        response.writeHead(202).end();
        return stream.write(`data: ${reply}\n\n`);
      },
    });
    const connection = await openConnection(server.entry);
    const long = failureOf(connection.callTool({ name: "long", arguments: {} }));
    await until(() => expect(server.runs("long")).toBe(1));
    expect(await textOf(connection, "forgotten")).toBe("forgotten");
    expect((await long).details.wasSent).toBe(true);
    expect([server.runs("long"), server.runs("forgotten"), server.runs("initialize")]).toEqual([1, 2, 2]);
  });

  test("repeats a call that changes nothing once if its connection broke", async () => {
    const broken = new Set<string>();
    const breakOnce = (response: { socket: { destroy(): void } | null }, name: string): boolean => {
      if (broken.has(name)) return false;
      broken.add(name);
      response.socket?.destroy();
      return true;
    };
    const json = { "content-type": "application/json" };
    const server = await serveHostileHttp({
      "tools/list": (response, reply) => breakOnce(response, "list") || response.writeHead(200, json).end(reply),
      write: (response, reply) => breakOnce(response, "write") || response.writeHead(200, json).end(reply),
    });
    const connection = await openConnection(server.entry);
    expect((await connection.listTools()).tools).toHaveLength(1);
    expect((await failureOf(textOf(connection, "write"))).code).toBe("CONNECTION_LOST");
    expect([server.runs("tools/list"), server.runs("write")]).toEqual([2, 1]);
  });

  test("[TS-D-HTTP-3] fails no call because of a pooled socket that died in between", async () => {
    const server = await serveHostileHttp({
      quick(response, reply) {
        response.writeHead(200, { "content-type": "application/json" }).end(reply);
        // Silently, as a middlebox does.
        response.once("finish", () => setImmediate(() => response.socket?.destroy()));
      },
    });
    const connection = await openConnection(server.entry);
    for (let index = 0; index < 50; index += 1) {
      expect(await textOf(connection, "quick")).toBe("quick");
      // With or without waiting for the end of the socket.
      for (let turn = 0; turn < index % 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.runs("quick")).toBe(50);
  });
});

describe("back-off", () => {
  test("[TS-D-CONN-3] pauses between attempts to connect to a server", async () => {
    const knocks: number[] = [];
    const server = createServer((socket) => {
      knocks.push(Date.now());
      socket.destroy();
    });
    const { entry } = await serve(server, "http", "/mcp");
    const connection = await openConnection(entry, { isEager: true, backOff: { firstMs: 20, maxMs: 160 } });
    await until(() => expect(knocks.length).toBeGreaterThanOrEqual(8));
    expect(connection.state).toMatch(/^(CONNECTING|TRANSIENT_FAILURE)$/);
    // At least half of each pause: 10, 20, 40, 80, 80, 80, 80.
    expect((knocks[7] ?? 0) - (knocks[0] ?? 0)).toBeGreaterThanOrEqual(380);
    const before = activeResources();
    await connection.close();
    const count = knocks.length;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(knocks.length).toBe(count);
    expect(activeResources().Timeout).toBeLessThanOrEqual(before.Timeout ?? 0);
  });
});
