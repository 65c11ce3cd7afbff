import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";

const require = createRequire(import.meta.url);

/** The reference server, as a program. */
export const everything: string = require.resolve("@modelcontextprotocol/server-everything/dist/index.js");

/** A stdio server with the tools `echo` and `get-sum` of the reference server, which starts in a tenth of its time. */
export const small: { readonly command: string; readonly args: readonly string[] } = {
  command: process.execPath,
  args: [fileURLToPath(new URL("../../../test/e2e/small-server.mjs", import.meta.url))],
};

/** Serves until the test ends; resolves with the port. */
export async function serve(handler: RequestListener): Promise<number> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Creates SDK servers. */
export type MakeServer = (era: "legacy" | "modern") => McpServer;

/** A request handler for a modern SDK server. */
export function modernListener(make: MakeServer): RequestListener {
  const handler = createMcpHandler(() => make("modern"), { legacy: "reject" });
  onTestFinished(() => handler.close());
  return toNodeHandler(handler) as unknown as RequestListener;
}

/** A modern SDK server. */
export async function serveModern(make: MakeServer): Promise<string> {
  return `http://127.0.0.1:${await serve(modernListener(make))}/mcp`;
}

/** A request handler for a legacy SDK server, with sessions. */
export function legacyListener(make: MakeServer): RequestListener {
  const transports = new Map<string, NodeStreamableHTTPServerTransport>();
  const open = new Set<McpServer>();
  onTestFinished(async () => {
    await Promise.all([...open].map((server) => server.close()));
  });
  const begin = async (): Promise<NodeStreamableHTTPServerTransport> => {
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    const server = make("legacy");
    open.add(server);
    await server.connect(transport);
    return transport;
  };
  return async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const id = request.headers["mcp-session-id"];
    const isFirst = (body as { method?: string } | undefined)?.method === "initialize";
    const transport = typeof id === "string" ? transports.get(id) : isFirst ? await begin() : undefined;
    if (transport === undefined) response.writeHead(400).end("Bad Request: no session");
    else await transport.handleRequest(request, response, body);
  };
}

/** A legacy SDK server, with sessions. */
export async function serveLegacy(make: MakeServer): Promise<string> {
  return `http://127.0.0.1:${await serve(legacyListener(make))}/mcp`;
}

/** An SDK server that supports both eras at one URL. */
export async function serveBoth(make: MakeServer): Promise<string> {
  const [modern, legacy] = [modernListener(make), legacyListener(make)];
  const isModern = ({ headers }: IncomingMessage): boolean => headers["mcp-method"] !== undefined;
  const port = await serve((request, response) => (isModern(request) ? modern : legacy)(request, response));
  return `http://127.0.0.1:${port}/mcp`;
}

/** A server with an echo tool that includes the server's name. */
export function makeEcho(mark: string): MakeServer {
  return () => {
    const server = new McpServer({ name: mark, version: "1.0.0" }, { capabilities: { tools: { listChanged: true } } });
    server.registerTool(
      "echo",
      { description: `Echoes, by ${mark}`, inputSchema: z.object({ text: z.string() }) },
      ({ text }) => ({ content: [{ type: "text", text: `${mark}: ${text}` }] }),
    );
    return server;
  };
}

/** Writes the port of a server to standard error, because these servers do not report it. */
const printPort = `data:text/javascript,${encodeURIComponent(`
import { subscribe } from "node:diagnostics_channel";
subscribe("tracing:net.server.listen:asyncEnd", ({ server }) => {
  process.stderr.write("[[port " + server.address()?.port + "]]");
});`)}`;

/** Starts the reference server behind HTTP, until the test ends; resolves with its port. */
export function startEverything(behind: "streamableHttp" | "sse"): Promise<number> {
  const child = spawn(process.execPath, ["--import", printPort, everything, behind], {
    env: { ...process.env, PORT: "0" },
    stdio: ["pipe", "ignore", "pipe"],
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  return new Promise((resolve, reject) => {
    let output = "";
    child.stderr.on("data", (chunk) => {
      output += chunk;
      const port = /\[\[port (\d+)\]\]/.exec(output)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
    child.once("close", (code) => reject(new Error(`The server ended with code ${code}: ${output}`)));
  });
}
