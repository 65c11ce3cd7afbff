import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, onTestFinished, vi } from "vitest";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import type { ToolServerError } from "../../errors.js";
import { waiting } from "../../waiting.test.helper.js";
import type { ToolTransport } from "./transport.js";
import { createNetworkContext, type NetworkChanges } from "./transport-context.test.helper.js";
import { failedStart, type WatchedTransport, watchTransport } from "./watched-transport.test.helper.js";
import { createWebSocketTransport } from "./websocket-transport.js";

/** A test server, and the requests that it received. */
interface WebSocketTestServer {
  readonly url: string;
  readonly sockets: ReadonlySet<Socket>;
  readonly requests: readonly IncomingMessage[];
}

/** Listens, and ends with the test. */
export async function listen(server: Server, scheme: "ws" | "wss" = "ws"): Promise<WebSocketTestServer> {
  const sockets = new Set<Socket>();
  const requests: IncomingMessage[] = [];
  server.on(scheme === "ws" ? "connection" : "secureConnection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  server.prependListener("request", (request) => requests.push(request));
  // With a separate listener, the server would leave upgrades to it.
  if (server.listenerCount("upgrade") > 0) server.prependListener("upgrade", (request) => requests.push(request));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?v=1#part`, sockets, requests };
}

/** A WebSocket server. */
export function serveWebSockets(
  onSocket: (socket: WebSocket) => void,
  options: ServerOptions = {},
): Promise<WebSocketTestServer> {
  const server = createServer();
  new WebSocketServer({ server, ...options }).on("connection", (socket) => onSocket(socket.on("error", () => {})));
  return listen(server);
}

/** A server that responds to the upgrade like an HTTP server. */
export function serveHttp(response: RequestListener): Promise<WebSocketTestServer> {
  // Without a listener for upgrades, they are requests like any other.
  return listen(createServer(response));
}

/** A server that handles the raw socket of the upgrade request. */
export function serveRaw(onUpgrade: (request: IncomingMessage, socket: Socket) => void): Promise<WebSocketTestServer> {
  const server = createServer();
  server.on("upgrade", (request, socket: Socket) => {
    // A socket that is not read does not notice its end, and these may be half open.
    onUpgrade(
      request,
      socket.resume().on("end", () => socket.end()),
    );
  });
  return listen(server);
}

/** The headers of a response that accepts the upgrade. */
export function granted(request: IncomingMessage, ...more: string[]): string {
  const accept = createHash("sha1")
    .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  return [...head, `Sec-WebSocket-Accept: ${accept}`, ...more, "", ""].join("\r\n");
}

/** A transport to a WebSocket, not yet started. */
export function prepareWebSocket(
  { url }: { readonly url: string },
  changes: NetworkChanges = {},
): WatchedTransport & { readonly refusals: readonly number[] } {
  const context = createNetworkContext("ws", url, changes);
  return { ...watchTransport(createWebSocketTransport(context), context), refusals: context.refusals };
}

/** Why the upgrade failed; nothing is left of its connections by then. */
export async function failedUpgrade(subject: WatchedTransport): Promise<ToolServerError> {
  const error = await failedStart(subject);
  await vi.waitFor(() => {
    const { opened, closed } = subject.published.totals();
    expect(closed).toBe(opened);
  }, waiting);
  return error;
}

/** Starts it; it may end as soon as it is open, and then the start fails. */
export async function startAnyhow(transport: ToolTransport): Promise<void> {
  await transport.start().catch((error: unknown) => expect(error).toBe(transport.failure));
}
