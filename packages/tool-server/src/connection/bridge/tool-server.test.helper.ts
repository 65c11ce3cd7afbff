import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import {
  certificate,
  type HostileServer,
  type SeenRequest,
  serverTls,
  startHostileServer,
} from "../../http/hostile-http-server.test.helper.js";
import type { Line } from "./bridge.test.helper.js";

/** TLS options of a server that accepts only client certificates signed by the test CA. */
const mutualTls = (): ServerOptions => ({
  ...serverTls(),
  ca: certificate("ca"),
  requestCert: true,
  rejectUnauthorized: true,
});

export interface ToolServer extends HostileServer {
  /** The methods of the received JSON-RPC requests. */
  asked(method: string): readonly Line[];
  /** Forgets all sessions. */
  forget(): void;
  /** Continues the calls of `wait` that hang. */
  readonly waiting: readonly ServerResponse[];
}

/**
 * A server of the older era with sessions, which also accepts requests of the newer; `over` handles a request if it returns true, and
 * `onGet` handles each GET, which is rejected by default.
 */
export async function startToolServer(
  over: (message: Line, response: ServerResponse, request: SeenRequest) => boolean = () => false,
  tls: ServerOptions = mutualTls(),
  onGet: (response: ServerResponse) => void = (response) => response.writeHead(405).end(),
): Promise<ToolServer> {
  const asked: Line[] = [];
  const held: ServerResponse[] = [];
  const sessions = new Set<string>();
  const server = await startHostileServer(
    (request, response) => {
      const session = request.headers["mcp-session-id"];
      if (request.method === "GET") return onGet(response);
      if (request.method === "DELETE") return response.writeHead(200).end();
      const message = JSON.parse(request.body) as Line;
      asked.push(message);
      if (over(message, response, request)) return;
      if (typeof session === "string" && !sessions.has(session)) return response.writeHead(404).end();
      if (message.id === undefined) return response.writeHead(202).end();
      const respond = (result: object, headers: Record<string, string> = {}): void => {
        response.writeHead(200, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
      };
      if (message.method === "initialize") {
        const id = `session-${sessions.size}-${Math.random()}`;
        sessions.add(id);
        const result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "t", version: "1" } };
        return respond(result, { "mcp-session-id": id });
      }
      if (message.params?.name === "wait") return held.push(response);
      return respond({ content: [], got: message.params });
    },
    { tls },
  );
  return Object.assign(server, {
    asked: (method: string) => asked.filter((each) => each.method === method),
    forget: () => sessions.clear(),
    waiting: held,
  });
}

/** The parameters of a request of the newer era. */
export const modern = (params: object = {}): Record<string, unknown> => ({
  ...params,
  _meta: { [PROTOCOL_VERSION_META_KEY]: "2026-07-28" },
});

export interface WebSocketToolServer {
  readonly url: URL;
  /** The connections that are open. */
  readonly sockets: ReadonlySet<WebSocket>;
  seen(method: string): readonly Line[];
  /** The responses to its own requests. */
  readonly responses: readonly unknown[];
}

/** A server of the older era over WebSocket, which never responds to a call of `wait`. Ends with the test. */
export async function startWebSocketServer(): Promise<WebSocketToolServer> {
  const seen: Line[] = [];
  const responses: unknown[] = [];
  const https = createServer(mutualTls());
  const server = new WebSocketServer({ server: https, handleProtocols: () => "mcp" });
  server.on("connection", (socket) => {
    socket.on("message", (data) => {
      const message = JSON.parse(String(data)) as Line;
      seen.push(message);
      if (message.method === undefined) responses.push(message.result);
      else if (message.id !== undefined && message.params?.name !== "wait") {
        const result = message.method === "initialize" ? { protocolVersion: "2025-06-18" } : {};
        socket.send(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
      }
    });
  });
  https.listen(0, "localhost");
  await once(https, "listening");
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    https.close();
  });
  return {
    url: new URL(`wss://localhost:${(https.address() as AddressInfo).port}/`),
    sockets: server.clients,
    responses,
    seen: (method) => seen.filter((each) => each.method === method),
  };
}
