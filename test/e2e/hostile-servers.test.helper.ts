import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { join } from "node:path";
import { type WebSocket, WebSocketServer } from "ws";
import { defer, mark, temporaryFolder } from "./tool-server-world.test.helper.js";

/** A received JSON-RPC message. */
export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: Record<string, unknown> };
}

/** A legacy server in this process that misbehaves as requested. */
export interface HostileServer {
  readonly entry: Record<string, unknown>;
  readonly origin: string;
  /** How often a tool was called. */
  runs(tool: string): number;
  /** The connections that are open now. */
  readonly sockets: ReadonlySet<Socket>;
}

/** What a well-behaved server returns; undefined for a notification. */
export function replyTo({ id, method, params }: Message): string | undefined {
  if (id === undefined) return undefined;
  const encode = (result: object): string => JSON.stringify({ jsonrpc: "2.0", id, result });
  switch (method) {
    case "initialize": {
      const serverInfo = { name: "hostile", version: "1" };
      return encode({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo });
    }
    case "tools/list":
      return encode({ tools: [{ name: "echo", inputSchema: { type: "object" } }] });
    case "tools/call":
      return encode({ content: [{ type: "text", text: params?.name }] });
    case "ping":
      return encode({});
    default:
      return JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
  }
}

/** What a server does with a call of a tool, by the tool's name; tools without an entry get a valid response. */
export type HttpFaults = Record<string, (response: ServerResponse, reply: string, message: Message) => unknown>;

/** A Streamable HTTP server that responds with JSON. */
export async function serveHostileHttp(faults: HttpFaults): Promise<HostileServer> {
  const runs = new Runs();
  const listener: RequestListener = async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = await messageOf(request);
    if (message.method === "server/discover") return void response.writeHead(400).end();
    const reply = replyTo(message);
    if (reply === undefined) return void response.writeHead(202).end();
    const fault = runs.add(message, faults);
    if (fault !== undefined) return void fault(response, reply, message);
    response.writeHead(200, { "content-type": "application/json" }).end(reply);
  };
  return { ...(await serve(createServer(listener), "http", "/mcp")), ...runs.reader() };
}

export type SseFaults = Record<string, (stream: ServerResponse, response: ServerResponse, reply: string) => unknown>;

/** An HTTP with SSE server. `response` is that of the post, which a fault has to end. */
export async function serveHostileSse(faults: SseFaults): Promise<HostileServer> {
  const runs = new Runs();
  let stream: ServerResponse | undefined;
  const listener: RequestListener = async (request, response) => {
    if (request.method === "GET") {
      stream = response;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.write("event: endpoint\ndata: /messages\n\n");
    }
    const message = await messageOf(request);
    const reply = replyTo(message);
    const fault = runs.add(message, faults);
    if (fault !== undefined && reply !== undefined && stream !== undefined) {
      return void fault(stream, response, reply);
    }
    response.writeHead(202).end();
    if (reply !== undefined) stream?.write(`event: message\ndata: ${reply}\n\n`);
  };
  return { ...(await serve(createServer(listener), "sse", "/sse")), ...runs.reader() };
}

export type WebSocketFaults = Record<string, (socket: WebSocket, tcp: Socket, reply: string) => unknown>;

/** A WebSocket server. `tcp` is the underlying socket. */
export async function serveHostileWebSocket(faults: WebSocketFaults): Promise<HostileServer> {
  const runs = new Runs();
  const server = createServer();
  new WebSocketServer({ server, handleProtocols: () => "mcp" }).on("connection", (socket, request) => {
    socket.on("error", () => {});
    socket.on("message", (data) => {
      const message = JSON.parse(String(data)) as Message;
      const reply = replyTo(message);
      if (reply === undefined) return;
      const fault = runs.add(message, faults);
      if (fault === undefined) socket.send(reply);
      else fault(socket, request.socket, reply);
    });
  });
  return { ...(await serve(server, "ws", "/")), ...runs.reader() };
}

/** A stdio server; `program` is JavaScript that defines `fault(name, reply)`. */
export function serveHostileStdio(program: string): HostileServer {
  const log = join(temporaryFolder(), "runs");
  const script = `
    const fs = require("node:fs");
    const replyTo = ${replyTo.toString()};
    ${program}
    fs.writeFileSync(process.argv[1], "", { flag: "a" });
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const message = JSON.parse(line);
      const reply = replyTo(message);
      if (reply === undefined) return;
      if (message.method === "tools/call") fs.appendFileSync(process.argv[1], message.params.name + "\\n");
      if (message.method !== "tools/call" || !fault(message.params.name, reply)) process.stdout.write(reply + "\\n");
    });`;
  return {
    entry: { command: process.execPath, args: ["-e", script, log, mark] },
    origin: "",
    sockets: new Set(),
    runs: (tool) =>
      readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line === tool).length,
  };
}

class Runs {
  readonly #counts = new Map<string, number>();

  /** Counts a call of a tool, and returns its fault. */
  add<Fault>({ method, params }: Message, faults: Record<string, Fault>): Fault | undefined {
    const tool = method === "tools/call" ? (params?.name ?? "") : (method ?? "");
    this.#counts.set(tool, (this.#counts.get(tool) ?? 0) + 1);
    return Object.hasOwn(faults, tool) ? faults[tool] : undefined;
  }

  reader(): Pick<HostileServer, "runs"> {
    return { runs: (tool) => this.#counts.get(tool) ?? 0 };
  }
}

export interface GuardedServer {
  readonly url: string;
  /** The headers of each request to the server itself. */
  readonly requests: readonly IncomingHttpHeaders[];
  /** Other requests: for metadata, a registration. */
  readonly elsewhere: readonly string[];
}

/** A server that advertises OAuth, and accepts only requests that `accepts` accepts. */
export async function startGuardedServer(accepts: (headers: IncomingHttpHeaders) => boolean): Promise<GuardedServer> {
  const requests: IncomingHttpHeaders[] = [];
  const elsewhere: string[] = [];
  const server = createServer(async (request, response) => {
    if (request.url !== "/mcp") {
      elsewhere.push(`${request.method} ${request.url}`);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
      return;
    }
    requests.push(request.headers);
    const text = await textOf(request);
    if (!accepts(request.headers)) {
      const metadata = `http://${request.headers.host}/.well-known/oauth-protected-resource/mcp`;
      const challenge = `Bearer error="invalid_token", resource_metadata="${metadata}"`;
      response.writeHead(401, { "www-authenticate": challenge }).end();
      return;
    }
    const message = JSON.parse(text || "{}");
    const reply = message.method === "server/discover" ? undefined : replyTo(message);
    if (request.method !== "POST") response.writeHead(405).end();
    else if (message.method === "server/discover") response.writeHead(400).end();
    else if (reply === undefined) response.writeHead(202).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(reply);
  });
  const { entry } = await serve(server, "http", "/mcp");
  return { url: String(entry.url), requests, elsewhere };
}

async function messageOf(request: IncomingMessage): Promise<Message> {
  return JSON.parse(await textOf(request)) as Message;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Listens until the test ends. */
export async function serve(
  server: Server,
  type: "http" | "sse" | "ws",
  path: string,
): Promise<Pick<HostileServer, "entry" | "origin" | "sockets">> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const origin = `${type === "ws" ? "ws" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { entry: { type, url: `${origin}${path}` }, origin, sockets };
}
