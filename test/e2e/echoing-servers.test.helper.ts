import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { type Message, replyTo, serve } from "./hostile-servers.test.helper.js";

/** A server that echoes what it received in every part of a response that a client might show. */
export interface EchoingServer {
  /** Its origin, with http. */
  readonly origin: string;
  readonly port: number;
  /** Everything that it received. */
  allReceived(): string;
}

/** Everything that a request contained: its URL and its headers, also decoded. */
function receivedBy({ url = "", headers }: IncomingMessage): string {
  const basic = /^Basic (.*)$/.exec(headers.authorization ?? headers["proxy-authorization"] ?? "")?.[1] ?? "";
  const decoded = basic === "" ? "" : Buffer.from(basic, "base64").toString();
  const query = [...new URL(url, "http://localhost").searchParams.values()].join(" ");
  const all = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [url, query, ...all, decoded].join(" ");
}

/** As a response header can contain it. */
const headerOf = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?");
/** As it appears between the quotes of a challenge. */
const quotedOf = (text: string): string => headerOf(text).replace(/["\\]/g, "\\$&");

const handlers: Record<string, (received: string, response: ServerResponse, message: Message) => unknown> = {
  "/unauthorized": (received, response) =>
    response
      .writeHead(401, { "www-authenticate": `Bearer error="invalid_token", error_description="${quotedOf(received)}"` })
      .end(received),
  "/forbidden": (received, response) =>
    response.writeHead(403, { "x-why": headerOf(received) }).end(JSON.stringify({ received })),
  "/failing": (received, response) => response.writeHead(500, { "content-type": "text/plain" }).end(received),
  "/failing-json": (received, response) =>
    response
      .writeHead(400, { "content-type": "application/json" })
      .end(
        JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message: received, data: { received } } }),
      ),
  "/page": (received, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end(`<html><title>${received}</title>${received}`),
  "/type": (received, response) =>
    response.writeHead(200, { "content-type": `text/${headerOf(received).slice(0, 60)}` }).end(received),
  "/raw": (received, response) => response.socket?.end(`${received}\r\n\r\n${received}`),
  "/header": (received, response) => response.socket?.end(`HTTP/1.1 200 OK\r\nx y: ${received}\r\n\r\n`),
  "/elsewhere": (received, response) =>
    response.writeHead(307, { location: `https://elsewhere.example/?${encodeURIComponent(received)}` }).end(received),
  "/elsewhere-host": (received, response) => {
    const host = /bearer (\S+)/i.exec(received)?.[1]?.replace(/[^\w-]/g, "") ?? "x";
    response.writeHead(307, { location: `https://${host}.example/` }).end();
  },
  "/events": (received, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(
      `data: ${received}\n\nevent: endpoint\ndata: https://elsewhere.example/?${encodeURIComponent(received)}\n\n`,
    );
  },
  "/responses": respondBadly,
};

/** The handshake is valid; everything after it echoes. */
function respondBadly(received: string, response: ServerResponse, message: Message): void {
  const { id, method, params } = message;
  const json = (body: object): void => {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
  };
  const tool = method === "tools/call" ? params?.name : method;
  if (method === "server/discover") response.writeHead(400).end(received);
  else if (method === "initialize") {
    const serverInfo = { name: `echo ${received}`, version: received };
    json({
      result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo, instructions: received },
    });
  } else if (method === "tools/list") {
    const names = ["invalid", "refused", "progress", "cut", "well"];
    const tools = names.map((name) => ({ name, description: received, inputSchema: { type: "object" } }));
    json({ result: { tools: [...tools, { name: `tool ${received}`, inputSchema: { type: "object" } }] } });
  } else if (tool === "invalid") json({ result: { content: [{ type: received, text: { [received]: received } }] } });
  else if (tool === "refused")
    json({ error: { code: -32602, message: received, data: { [received]: [received, { received }] } } });
  else if (tool === "progress") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const progress = { progressToken: (params as { _meta?: { progressToken?: unknown } })._meta?.progressToken };
    const notify = (method: string, params: object): void => {
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", method, params })}\n\n`);
    };
    notify("notifications/progress", { ...progress, progress: 1, message: received });
    notify("notifications/message", { level: "error", data: received });
    notify(`notifications/${received}`, { received });
    response.end(
      `data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32603,"message":${JSON.stringify(received)}}}\n\n`,
    );
  } else if (tool === "cut") {
    response.writeHead(200, { "content-type": "application/json", "content-length": 100_000 }).write(received);
    setImmediate(() => response.socket?.destroy());
  } else {
    const reply = replyTo(message);
    if (reply === undefined) response.writeHead(202).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(reply);
  }
}

/** Starts it; it ends with the test. It is a proxy as well, which refuses. */
export async function startEchoingServer(): Promise<EchoingServer> {
  let allReceived = "";
  const server = createServer(async (request, response) => {
    const received = receivedBy(request);
    allReceived += `${received}\n`;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    if (request.method === "GET" && path === "/responses") response.writeHead(405).end();
    else handlers[path]?.(received, response, JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}"));
  });
  server.on("connect", (request: IncomingMessage, socket: Socket) => {
    const received = receivedBy(request);
    allReceived += `${received}\n`;
    socket.end(
      `HTTP/1.1 407 ${headerOf(received)}\r\nproxy-authenticate: Basic realm="${quotedOf(received)}"\r\n\r\n${received}`,
    );
  });
  const webSockets = new WebSocketServer({ noServer: true, handleProtocols: () => "mcp" });
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const received = receivedBy(request);
    allReceived += `${received}\n`;
    if (request.url?.startsWith("/refused")) {
      socket.end(
        `HTTP/1.1 401 ${headerOf(received)}\r\nwww-authenticate: Bearer realm="${quotedOf(received)}"\r\n\r\n${received}`,
      );
      return;
    }
    webSockets.handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
      webSocket.send(received);
      webSocket.close(1008, /authorization: .{0,80}/.exec(received)?.[0]);
    });
  });
  const { origin } = await serve(server, "http", "/");
  return { origin, port: Number(new URL(origin).port), allReceived: () => allReceived };
}
