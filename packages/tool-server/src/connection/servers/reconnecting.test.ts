import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startHostileServer } from "../../http/hostile-http-server.test.helper.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { serveWebSockets } from "../transports/websocket.test.helper.js";
import { openEagerConnection } from "./eager-connection.test.helper.js";

/** A server that accepts every handshake, and ends the connection at `tools/list`. */
interface ShortLivedServer {
  readonly entry: object;
  /** How many connections, sessions or processes there were. */
  attempts(): number;
}

interface Request {
  readonly id?: number;
  readonly method: string;
}

/** The response to a request: `server/discover` is unknown, so that the older handshake follows. */
function respond({ id, method }: Request): string {
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "short-lived", version: "1" },
    },
    "tools/list": { tools: [] },
  };
  const result = results[method];
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    ...(result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result }),
  });
}

const shortLivedServers: Readonly<Record<string, () => Promise<ShortLivedServer>>> = {
  async "stdio server that exits after it listed its tools"() {
    const folder = await createScriptFolder();
    const starts = join(folder.path, "starts");
    const command = await folder.node(`
      const respond = ${respond.toString()};
      require("node:fs").appendFileSync(${JSON.stringify(starts)}, "x");
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const request = JSON.parse(line);
        if (request.id === undefined) return;
        process.stdout.write(respond(request) + "\\n", () => {
          if (request.method === "tools/list") process.exit(0);
        });
      });`);
    return { entry: { command }, attempts: () => (existsSync(starts) ? readFileSync(starts, "utf8").length : 0) };
  },
  async "WebSocket server that closes after it listed its tools"() {
    let attempts = 0;
    const { url } = await serveWebSockets((socket) => {
      attempts += 1;
      socket.on("message", (data) => {
        const request: Request = JSON.parse(String(data));
        if (request.id === undefined) return;
        socket.send(respond(request));
        if (request.method === "tools/list") socket.close();
      });
    });
    return { entry: { type: "ws", url }, attempts: () => attempts };
  },
  async "SSE server that ends its stream after it listed its tools"() {
    const streams: { write(text: string): void; end(): void }[] = [];
    const { url } = await startHostileServer(({ method, body }, response) => {
      if (method === "GET") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("event: endpoint\ndata: /messages\n\n");
        streams.push(response);
        return;
      }
      response.writeHead(202).end();
      const request: Request = JSON.parse(body);
      if (request.id === undefined) return;
      streams.at(-1)?.write(`event: message\ndata: ${respond(request)}\n\n`);
      if (request.method === "tools/list") streams.at(-1)?.end();
    });
    return { entry: { type: "sse", url: String(url) }, attempts: () => streams.length };
  },
  async "Streamable HTTP server that forgets its session at tools/list"() {
    let attempts = 0;
    const { url } = await startHostileServer(({ method, body }, response) => {
      if (method !== "POST") return response.writeHead(405).end();
      const request: Request = JSON.parse(body);
      if (["tools/list", "ping"].includes(request.method)) return response.writeHead(404).end();
      if (request.id === undefined) return response.writeHead(202).end();
      if (request.method === "initialize") attempts += 1;
      const headers = { "content-type": "application/json", "mcp-session-id": `session-${attempts}` };
      return response.writeHead(200, headers).end(respond(request));
    });
    return { entry: { type: "http", url: String(url) }, attempts: () => attempts };
  },
};

describe("[TS-D-CONN-3] backoff after a short success", () => {
  test.each(Object.entries(shortLivedServers))("keeps backing off from a %s", async (_, start) => {
    const server = await start();
    const { connection, clock } = await openEagerConnection(server.entry);
    for (const [round, delayMs] of [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].entries()) {
      // It may wait for the connection, and be repeated over the next one: all that counts here is what it makes the server do.
      void connection.listTools().catch(() => {});
      await expect.poll(() => connection.state, waiting).toBe("TRANSIENT_FAILURE");
      // Jitter takes off up to half of a delay.
      clock.advance(delayMs / 2 - 1);
      expect([connection.state, server.attempts()]).toEqual(["TRANSIENT_FAILURE", round + 1]);
      clock.advance(delayMs / 2 + 1);
      await expect.poll(server.attempts, waiting).toBe(round + 2);
    }
  });
});
