import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ChangedList } from "@wirescope/tool-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FaultServer, startAllFaultServers, startFaultServer, withEach } from "./fault-servers.test.helper.js";
import {
  defer,
  expectNothingLeft,
  failureOf,
  mark,
  openConnection,
  textOf,
  until,
} from "./tool-server-world.test.helper.js";

describe("calls over every transport, in both eras", () => {
  const later: (() => unknown)[] = [];
  let servers: readonly FaultServer[] = [];
  beforeAll(async () => {
    servers = await startAllFaultServers(undefined, (cleanup) => void later.push(cleanup));
  });
  afterAll(async () => {
    for (const cleanup of later.reverse()) await cleanup();
  });
  expectNothingLeft();

  const hang = (text: string) => ({ name: "hang", arguments: { text } });
  /** Checks that the server knows that a call ended, and that its exchange is over. */
  const expectEnd = (server: FaultServer, text: string, brokenBefore: number): Promise<void> =>
    until(() => {
      expect(server.count(`cancelled hang ${text}`)).toBe(1);
      if (server.kind === "http") expect(server.count("broken POST")).toBeGreaterThan(brokenBefore);
    });

  test("[TS-D-CONN-2] ends a cancelled call at once, and notifies the server", async () => {
    await withEach(servers, async (server) => {
      const connection = await openConnection(server.entry);
      const broken = server.count("broken POST");
      const controller = new AbortController();
      const call = failureOf(connection.callTool(hang("a"), { signal: controller.signal }));
      await until(() => expect(server.count("run hang a")).toBe(1));
      controller.abort();
      expect((await call).code).toBe("CALL_CANCELLED");
      await expectEnd(server, "a", broken);
      expect(connection.state).toBe("READY");
    });
  });

  test("[TS-D-CONN-2] ends a call without a response at its timeout, and notifies the server", async () => {
    await withEach(servers, async (server) => {
      const connection = await openConnection(server.entry);
      await connection.connect();
      const broken = server.count("broken POST");
      const { code, message } = await failureOf(connection.callTool(hang("b"), { idleTimeoutMs: 3000 }));
      expect([code, message]).toEqual(["CALL_TIMEOUT", expect.stringContaining("for 3 s")]);
      await expectEnd(server, "b", broken);
    });
  });

  test("[TS-D-CONN-2] limits the total time of a call, with or without progress", async () => {
    await withEach(servers, async (server) => {
      const connection = await openConnection(server.entry);
      await connection.connect();
      const broken = server.count("broken POST");
      const silent = await failureOf(connection.callTool(hang("c"), { totalTimeoutMs: 3000 }));
      expect([silent.code, silent.message]).toEqual(["CALL_TIMEOUT", expect.stringContaining("3 s in total")]);
      await expectEnd(server, "c", broken);
      const steps = { name: "steps", arguments: { count: 100, pauseMs: 100 } };
      const busy = await failureOf(connection.callTool(steps, { totalTimeoutMs: 3000, onProgress: () => {} }));
      expect([busy.code, busy.message]).toEqual(["CALL_TIMEOUT", expect.stringContaining("3 s in total")]);
    });
  });

  test("[TS-D-CONN-2] restarts the timeout at progress", async () => {
    await withEach(servers, async (server) => {
      const connection = await openConnection(server.entry);
      await connection.connect();
      const progress: number[] = [];
      const start = Date.now();
      const { content } = await connection.callTool(
        { name: "steps", arguments: { count: 6, pauseMs: 1000 } },
        { idleTimeoutMs: 5000, onProgress: (step) => progress.push(step.progress) },
      );
      expect(Date.now() - start).toBeGreaterThan(5000);
      expect([content, progress]).toEqual([[{ type: "text", text: "done" }], [1, 2, 3, 4, 5, 6]]);
    });
  });

  test("[TS-D-CONN-4] notices a changed list", async () => {
    await withEach(servers, async (server) => {
      const connection = await openConnection(server.entry);
      const changes = new Set<ChangedList>();
      connection.onListChanged((list) => changes.add(list));
      await until(async () => {
        // For legacy HTTP servers, the event stream is opened only after the handshake.
        await textOf(connection, "change");
        await until(() => expect([...changes]).toEqual(["tools"]), 500);
      });
    });
  });

  test("reads a response of 10 MB in one line", async () => {
    await withEach(servers, async (server) => {
      const connection = await openConnection(server.entry);
      const size = 10 * 1024 * 1024;
      expect(await textOf(connection, "big", { count: size })).toHaveLength(size);
    });
  });
});

describe("a session that the server has forgotten", () => {
  expectNothingLeft();

  test("[TS-D-CONN-3] initializes a forgotten session again once for all calls that notice, and loses or repeats none", async () => {
    const server = await startFaultServer({ kind: "http", era: "legacy" });
    const connection = await openConnection(server.entry);
    await connection.connect();
    const sessions = server.count("session");
    await fetch(`${server.origin}/forget`);
    const texts = Array.from({ length: 20 }, (_, index) => `call ${index}`);
    expect(await Promise.all(texts.map((text) => textOf(connection, "echo", { text })))).toEqual(texts);
    expect(server.count("session") - sessions).toBe(1);
    expect(server.lines().filter((line) => line.startsWith("run echo"))).toHaveLength(20);
  });
});

describe("handshakes", () => {
  expectNothingLeft();

  test("fails a handshake that never ends in time, even if only a notification is not accepted", async () => {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}");
      const result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "slow", version: "1" } };
      if (method === "server/discover") response.writeHead(400).end();
      if (method !== "initialize") return;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    defer(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const connection = await openConnection({ type: "http", url }, { connectTimeoutMs: 700 });
    const { code, message } = await failureOf(connection.connect());
    expect([code, message]).toEqual(["CALL_TIMEOUT", expect.stringContaining("the handshake within 700 ms")]);
    expect(connection.state).toBe("TRANSIENT_FAILURE");
  });

  test("completes a modern handshake with a slow server that speaks no other era", async () => {
    // A silent server is treated as a legacy server, but not forever: npx may download a server first. This one starts to respond
    // after the first probe has ended, at half of the limit, and before the second does, at 90 %.
    const script = `
      setTimeout(() => require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const result = { supportedVersions: ["2026-07-28"], capabilities: {} };
        const error = { code: -32601, message: "Method not found" };
        const outcome = method === "server/discover" ? { result } : { error };
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
      }), 5100)`;
    const entry = { command: process.execPath, args: ["-e", script, mark] };
    const connection = await openConnection(entry, { connectTimeoutMs: 10_000 });
    expect((await connection.connect()).era).toBe("modern");
  });
});
