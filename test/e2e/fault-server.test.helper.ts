/**
 * A tool server as a separate process, which a test can kill, stop and start again. It is built with the SDK, supports every
 * transport and both eras, and logs events to a file, so that the counts outlive it.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import {
  type NodeIncomingMessageLike,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  fromJsonSchema,
  type JSONRPCMessage,
  McpServer,
  type Transport,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { WebSocketServer } from "ws";

export interface FaultServerSettings {
  readonly kind: "http" | "sse" | "ws" | "stdio";
  readonly era: "modern" | "legacy";
  /** The file to which it logs events, one per line. */
  readonly log: string;
  /** A string in its arguments, by which its processes are found. */
  readonly mark: string;
  /** Not for stdio. */
  readonly port?: number | undefined;
  /** Uses TLS, and requires a client certificate signed by this CA. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string } | undefined;
}

const settings = JSON.parse(process.argv[2] ?? "{}") as FaultServerSettings;
const isModern = settings.era === "modern";

function note(text: string): void {
  appendFileSync(settings.log, `${text}\n`);
}

const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
const servers = new Set<McpServer>();

const inputSchema = fromJsonSchema<{ text?: string; count?: number; pauseMs?: number }>({
  type: "object",
  properties: { text: { type: "string" }, count: { type: "number" }, pauseMs: { type: "number" } },
});

function createTools(): McpServer {
  const server = new McpServer(
    { name: "faults", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true } } },
  );
  servers.add(server);
  const textOf = (text: string) => ({ content: [{ type: "text" as const, text }] });
  server.registerTool("echo", { inputSchema }, ({ text = "" }) => {
    note(`run echo ${text}`);
    return textOf(text);
  });
  server.registerTool("size", { inputSchema }, ({ text = "" }) => textOf(String(text.length)));
  server.registerTool("big", { inputSchema }, ({ count = 0 }) => textOf("x".repeat(count)));
  server.registerTool("hang", { inputSchema }, ({ text = "" }, { mcpReq }) => {
    note(`run hang ${text}`);
    mcpReq.signal.addEventListener("abort", () => note(`cancelled hang ${text}`));
    return new Promise(() => {});
  });
  server.registerTool("steps", { inputSchema }, async ({ count = 0, pauseMs = 0 }, { mcpReq }) => {
    note("run steps");
    const progressToken = mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= count; progress += 1) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      if (progressToken === undefined) continue;
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress } });
    }
    return textOf("done");
  });
  server.registerTool("change", { inputSchema }, () => {
    // After the response, so that the change is a separate notification.
    setTimeout(notifyOfChange, 20);
    return textOf("changed");
  });
  server.registerTool("exit", { inputSchema }, ({ text = "" }) => {
    note("run exit");
    process.stderr.write(`${text}\n`);
    process.exit(7);
  });
  server.registerTool("die", { inputSchema }, () => {
    note("run die");
    process.kill(process.pid, "SIGKILL");
    return new Promise(() => {});
  });
  return server;
}

const handler = createMcpHandler(() => createTools());
const handleModern = toNodeHandler(handler);

function notifyOfChange(): void {
  if (settings.kind === "http" && isModern) handler.notify.toolsChanged();
  else for (const server of servers) server.sendToolListChanged();
}

async function serveSessions(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const id = request.headers["mcp-session-id"];
  const known = typeof id === "string" ? sessions.get(id) : undefined;
  if (known !== undefined) return known.handleRequest(request, response);
  if (id !== undefined) return response.writeHead(404).end();
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => `session-${randomUUID()}`,
    onsessioninitialized: (begun) => {
      note("session");
      sessions.set(begun, transport);
    },
  });
  await createTools().connect(transport);
  return transport.handleRequest(request, response);
}

/** HTTP with SSE, the predecessor of Streamable HTTP: one event stream, and separate posts. */
const streams = new Map<string, Transport>();
async function serveEvents(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === "GET") {
    const id = randomUUID();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`event: endpoint\ndata: /messages?id=${id}\n\n`);
    const transport: Transport = {
      start: async () => {},
      send: async (message) => void response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
      close: async () => void response.end(),
    };
    streams.set(id, transport);
    response.once("close", () => {
      streams.delete(id);
      transport.onclose?.();
    });
    note("session");
    await createTools().connect(transport);
    return;
  }
  const body: Buffer[] = [];
  for await (const chunk of request) body.push(chunk as Buffer);
  const transport = streams.get(new URL(request.url ?? "/", "http://localhost").searchParams.get("id") ?? "");
  response.writeHead(transport === undefined ? 404 : 202).end();
  transport?.onmessage?.(JSON.parse(Buffer.concat(body).toString("utf8")) as JSONRPCMessage);
}

function serveWebSockets(server: Server): void {
  new WebSocketServer({ server, handleProtocols: () => "mcp" }).on("connection", (socket) => {
    const transport: Transport = {
      async start() {
        socket.on("message", (data) => transport.onmessage?.(JSON.parse(String(data)) as JSONRPCMessage));
        socket.on("close", () => transport.onclose?.());
      },
      send: async (message) => socket.send(JSON.stringify(message)),
      close: async () => socket.close(),
    };
    note("session");
    if (isModern) serveStdio(() => createTools(), { transport });
    else void createTools().connect(transport);
  });
}

if (settings.kind === "stdio") {
  note("session");
  if (isModern) serveStdio(() => createTools());
  else void createTools().connect(new StdioServerTransport());
} else {
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const { method, url, headers } = request;
    for (const name of ["authorization", "x-tenant"]) if (headers[name]) note(`header ${name} ${headers[name]}`);
    response.once("close", () => {
      if (!response.writableFinished) note(`broken ${method}`);
    });
    if (url === "/forget") {
      sessions.clear();
      response.end();
    } else if (settings.kind === "sse") void serveEvents(request, response);
    else if (isModern) void handleModern(request as NodeIncomingMessageLike, response);
    else void serveSessions(request, response);
  };
  const { tls } = settings;
  const server: Server =
    tls === undefined
      ? createServer(onRequest)
      : createSecureServer({ ...tls, requestCert: true, rejectUnauthorized: true }, onRequest);
  if (settings.kind === "ws") serveWebSockets(server);
  server.listen(settings.port, "127.0.0.1", () => void process.stdout.write("[[listening]]\n"));
}
