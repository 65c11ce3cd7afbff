import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { answerTo, type Message, serve } from "./hostile-servers.test.helper.js";

/** A server that repeats to everybody what it was told, in every way that a client might repeat it too. */
export interface EchoingServer {
  /** Its origin, with http. */
  readonly origin: string;
  readonly port: number;
  /** All that it was told. */
  heard(): string;
}

/** All that a request told: its url, its headers, also decoded. */
function toldBy({ url = "", headers }: IncomingMessage): string {
  const basic = /^Basic (.*)$/.exec(headers.authorization ?? headers["proxy-authorization"] ?? "")?.[1] ?? "";
  const decoded = basic === "" ? "" : Buffer.from(basic, "base64").toString();
  const query = [...new URL(url, "http://localhost").searchParams.values()].join(" ");
  const all = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [url, query, ...all, decoded].join(" ");
}

/** As a header of an answer can hold it. */
const headerOf = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?");
/** As it stands between the quotes of a challenge. */
const quotedOf = (text: string): string => headerOf(text).replace(/["\\]/g, "\\$&");

const handlers: Record<string, (told: string, response: ServerResponse, message: Message) => unknown> = {
  "/unauthorized": (told, response) =>
    response
      .writeHead(401, { "www-authenticate": `Bearer error="invalid_token", error_description="${quotedOf(told)}"` })
      .end(told),
  "/forbidden": (told, response) => response.writeHead(403, { "x-why": headerOf(told) }).end(JSON.stringify({ told })),
  "/failing": (told, response) => response.writeHead(500, { "content-type": "text/plain" }).end(told),
  "/failing-json": (told, response) =>
    response
      .writeHead(400, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message: told, data: { told } } })),
  "/page": (told, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end(`<html><title>${told}</title>${told}`),
  "/type": (told, response) =>
    response.writeHead(200, { "content-type": `text/${headerOf(told).slice(0, 60)}` }).end(told),
  "/raw": (told, response) => response.socket?.end(`${told}\r\n\r\n${told}`),
  "/header": (told, response) => response.socket?.end(`HTTP/1.1 200 OK\r\nx y: ${told}\r\n\r\n`),
  "/elsewhere": (told, response) =>
    response.writeHead(307, { location: `https://elsewhere.example/?${encodeURIComponent(told)}` }).end(told),
  "/elsewhere-host": (told, response) => {
    const host = /bearer (\S+)/i.exec(told)?.[1]?.replace(/[^\w-]/g, "") ?? "x";
    response.writeHead(307, { location: `https://${host}.example/` }).end();
  },
  "/events": (told, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${told}\n\nevent: endpoint\ndata: https://elsewhere.example/?${encodeURIComponent(told)}\n\n`);
  },
  "/answers": answerBadly,
};

/** The handshake is well; what follows tells all. */
function answerBadly(told: string, response: ServerResponse, message: Message): void {
  const { id, method, params } = message;
  const json = (body: object): void => {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
  };
  const tool = method === "tools/call" ? params?.name : method;
  if (method === "server/discover") response.writeHead(400).end(told);
  else if (method === "initialize") {
    const serverInfo = { name: `echo ${told}`, version: told };
    json({ result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo, instructions: told } });
  } else if (method === "tools/list") {
    const names = ["invalid", "refused", "progress", "cut", "well"];
    const tools = names.map((name) => ({ name, description: told, inputSchema: { type: "object" } }));
    json({ result: { tools: [...tools, { name: `tool ${told}`, inputSchema: { type: "object" } }] } });
  } else if (tool === "invalid") json({ result: { content: [{ type: told, text: { [told]: told } }] } });
  else if (tool === "refused") json({ error: { code: -32602, message: told, data: { [told]: [told, { told }] } } });
  else if (tool === "progress") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const progress = { progressToken: (params as { _meta?: { progressToken?: unknown } })._meta?.progressToken };
    const notify = (method: string, params: object): void => {
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", method, params })}\n\n`);
    };
    notify("notifications/progress", { ...progress, progress: 1, message: told });
    notify("notifications/message", { level: "error", data: told });
    notify(`notifications/${told}`, { told });
    response.end(
      `data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32603,"message":${JSON.stringify(told)}}}\n\n`,
    );
  } else if (tool === "cut") {
    response.writeHead(200, { "content-type": "application/json", "content-length": 100_000 }).write(told);
    setImmediate(() => response.socket?.destroy());
  } else {
    const answer = answerTo(message);
    if (answer === undefined) response.writeHead(202).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(answer);
  }
}

/** Starts it; it ends with the test. It is a proxy as well, which refuses. */
export async function startEchoingServer(): Promise<EchoingServer> {
  let heard = "";
  const server = createServer(async (request, response) => {
    const told = toldBy(request);
    heard += `${told}\n`;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    if (request.method === "GET" && path === "/answers") response.writeHead(405).end();
    else handlers[path]?.(told, response, JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}"));
  });
  server.on("connect", (request: IncomingMessage, socket: Socket) => {
    const told = toldBy(request);
    heard += `${told}\n`;
    socket.end(`HTTP/1.1 407 ${headerOf(told)}\r\nproxy-authenticate: Basic realm="${quotedOf(told)}"\r\n\r\n${told}`);
  });
  const webSockets = new WebSocketServer({ noServer: true, handleProtocols: () => "mcp" });
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const told = toldBy(request);
    heard += `${told}\n`;
    if (request.url?.startsWith("/refused")) {
      socket.end(`HTTP/1.1 401 ${headerOf(told)}\r\nwww-authenticate: Bearer realm="${quotedOf(told)}"\r\n\r\n${told}`);
      return;
    }
    webSockets.handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
      webSocket.send(told);
      webSocket.close(1008, /authorization: .{0,80}/.exec(told)?.[0]);
    });
  });
  const { origin } = await serve(server, "http", "/");
  return { origin, port: Number(new URL(origin).port), heard: () => heard };
}
