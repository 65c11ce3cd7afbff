import { mkdtemp, realpath, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { freePort } from "../../free-port.test.helper.js";
import { prepareSandbox } from "../../process/sandbox.js";
import { isRunning } from "../../process/temporary-scripts.test.helper.js";
import { callTool, everything, filesystem, memory, runServer, supergateway } from "./published-server.test.helper.js";
import { createSseTransport } from "./sse-transport.js";
import { createStdioTransport, type StdioTransport } from "./stdio-transport.js";
import { createTestContext, listenTo, overNetwork } from "./transport-context.test.helper.js";
import { createWebSocketTransport } from "./websocket-transport.js";

const sandbox = await prepareSandbox({ hidden: [], cwd: "/" });

async function connectClient(transport: Transport, mode: "auto" | "legacy" = "auto"): Promise<Client> {
  const client = new Client({ name: "wirescope-test", version: "0.0.0" }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return client;
}

describe("over stdio", () => {
  function start(args: readonly string[]): StdioTransport {
    const context = createTestContext("stdio");
    return createStdioTransport({ ...context, command: process.execPath, args, environment: process.env });
  }

  test("gets responses from server-filesystem over stdio, and ends it on close", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "wirescope-files-")));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const transport = start([filesystem, folder]);
    const client = await connectClient(transport);
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
    const paths = Array.from({ length: 20 }, (_, index) => join(folder, `${index}.txt`));
    await Promise.all(paths.map((path) => callTool(client, "write_file", { path, content: `mark of ${path}` })));
    const texts = await Promise.all(paths.map((path) => callTool(client, "read_text_file", { path })));
    expect(texts).toEqual(paths.map((path) => `mark of ${path}`));
    const { pid } = transport;
    await client.close();
    await transport.close();
    expect(pid !== undefined && isRunning(pid)).toBe(false);
    expect(transport.failure).toBeUndefined();
  });

  test.skipIf("reason" in sandbox)(
    `[TS-D-STDIO-1] gets responses from server-everything in the sandbox, started by npx${"reason" in sandbox ? ` (skipped: ${sandbox.reason})` : ""}`,
    { timeout: 120_000 },
    async () => {
      const transport = createStdioTransport({
        ...createTestContext("stdio"),
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-everything"],
        cwd: fileURLToPath(new URL("../../../../../", import.meta.url)),
        environment: process.env,
        prepareSandbox: async () => ("reason" in sandbox ? undefined : sandbox),
      });
      const client = await connectClient(transport);
      expect(await callTool(client, "echo", { message: "from npx" })).toBe("Echo: from npx");
    },
  );

  test("lets the SDK treat a server that does not respond to the probe as one of the older era, as with its own transport", async () => {
    // Like a server that only knows initialize.
    const script = `
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "old", version: "1" } };
        if (method === "initialize") console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
      });
    `;
    const client = new Client(
      { name: "wirescope-test", version: "0.0.0" },
      { versionNegotiation: { mode: "auto", probe: { timeoutMs: 100 } } },
    );
    onTestFinished(() => client.close());
    await client.connect(start(["-e", script]));
    expect(client.getProtocolEra()).toBe("legacy");
  });
});

describe("over HTTP with SSE", () => {
  test("gets responses from server-everything over HTTP with SSE", async () => {
    const port = await freePort();
    await runServer([everything, "sse"], port);
    const context = overNetwork(createTestContext("sse"), `http://localhost:${port}/sse`);
    const published = listenTo(context.info);
    const transport = createSseTransport(context);
    const client = await connectClient(transport, "legacy");
    expect(client.getServerVersion()?.name).toContain("everything");
    const texts = await Promise.all(
      Array.from({ length: 50 }, (_, index) => callTool(client, "echo", { message: `mark ${index}` })),
    );
    expect(texts).toEqual(Array.from({ length: 50 }, (_, index) => `Echo: mark ${index}`));
    await client.close();
    await context.http.close();
    expect(transport.failure).toBeUndefined();
    const totals = published.totals();
    expect(totals.closed).toBe(totals.opened);
    expect(totals["stream-succeeded"] + totals["stream-failed"]).toBe(totals["stream-started"]);
  });
});

describe("over WebSocket", () => {
  test("gets responses from server-memory behind supergateway over WebSocket", async () => {
    const port = await freePort();
    const stdio = `${JSON.stringify(process.execPath)} ${JSON.stringify(memory)}`;
    const args = [supergateway, "--stdio", stdio, "--outputTransport", "ws", "--messagePath", "/message"];
    await runServer([...args, "--port", String(port)], port);
    const context = overNetwork(createTestContext("ws"), `ws://localhost:${port}/message`);
    const client = await connectClient(createWebSocketTransport(context), "legacy");
    expect(client.getServerVersion()?.name).toContain("memory");
    expect(await callTool(client, "read_graph", {})).toContain("entities");
  });

  test("gets responses from an SDK server over WebSocket, in both eras of the protocol", async () => {
    const server = createServer();
    new WebSocketServer({ server }).on("connection", (socket) => {
      serveStdio(createNotes, { transport: serverTransport(socket) });
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    for (const [mode, era] of [
      ["auto", "modern"],
      ["legacy", "legacy"],
    ] as const) {
      const client = await connectClient(createWebSocketTransport(overNetwork(createTestContext("ws"), url)), mode);
      expect(client.getProtocolEra()).toBe(era);
      expect(await callTool(client, "whoami", {})).toBe("you");
    }
  });
});

function createNotes(): McpServer {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  server.registerTool("whoami", { description: "Returns the caller." }, () => ({
    content: [{ type: "text", text: "you" }],
  }));
  return server;
}

/** The server's end of a WebSocket. */
function serverTransport(socket: WebSocket): Transport {
  const transport: Transport = {
    async start() {
      socket.on("message", (data) => transport.onmessage?.(JSON.parse(String(data)) as JSONRPCMessage));
      socket.on("close", () => transport.onclose?.());
    },
    async send(message) {
      socket.send(JSON.stringify(message));
    },
    async close() {
      socket.close();
    },
  };
  return transport;
}
