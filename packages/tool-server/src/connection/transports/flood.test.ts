import type { ServerResponse } from "node:http";
import { createServer, type Socket } from "node:net";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test, vi } from "vitest";
import type { WebSocket } from "ws";
import { type HostileHandler, startHostileServer } from "../../http/hostile-http-server.test.helper.js";
import { waiting } from "../../waiting.test.helper.js";
import { createLineReader } from "../rpc/lines.js";
import {
  describeFloodContract,
  describeUnreadContract,
  type FloodServer,
  largeIdBytes,
  type OpenFlood,
} from "./flood-contract.test.helper.js";
import { createSseTransport } from "./sse-transport.js";
import { createStdioTransport } from "./stdio-transport.js";
import { createStreamableHttpTransport } from "./streamable-http-transport.js";
import { defaultLimits } from "./transport.js";
import { createNetworkContext, overNetwork } from "./transport-context.test.helper.js";
import { serveWebSockets } from "./websocket.test.helper.js";
import { createWebSocketTransport } from "./websocket-transport.js";

/** A child that connects its pipes with a socket, so that the server can be in the test. */
const pipes = `
  const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  process.stdin.pipe(socket).pipe(process.stdout);
  socket.on("error", () => process.exit(1));
`;

const openStdio: OpenFlood = async (context, take) => {
  let peer: Socket | undefined;
  const server = createServer((socket) => {
    peer = socket;
    const lines = createLineReader(
      defaultLimits.messageBytes,
      (line) => take(JSON.parse(line)),
      () => {},
    );
    socket.on("error", () => {}).on("data", (chunk) => lines.push(chunk));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const args = ["-e", pipes, String((server.address() as { port: number }).port)];
  const transport = createStdioTransport({ ...context, command: process.execPath, args, environment: process.env });
  const start = transport.start.bind(transport);
  transport.start = async () => {
    await start();
    await vi.waitFor(() => expect(peer).toBeDefined(), waiting);
  };
  return {
    transport,
    send: (message) => void peer?.write(`${JSON.stringify(message)}\n`),
    hold: () => void peer?.pause(),
    release: () => void peer?.resume(),
  };
};
describeFloodContract("stdio", openStdio, largeIdBytes);
describeUnreadContract("stdio", openStdio);

const openWebSocket: OpenFlood = async (context, take) => {
  let peer: WebSocket | undefined;
  const { url } = await serveWebSockets((socket) => {
    peer = socket.on("message", (data) => take(JSON.parse(String(data))));
  });
  return {
    transport: createWebSocketTransport(overNetwork(context, url)),
    send: (message) => peer?.send(JSON.stringify(message)),
    hold: () => peer?.pause(),
    release: () => peer?.resume(),
  };
};
describeFloodContract("WebSocket", openWebSocket, largeIdBytes);
describeUnreadContract("WebSocket", openWebSocket);

/** A server whose posts are handled by `take`, and delayed at times. */
async function servePosts(
  take: (message: JSONRPCMessage) => void,
  onGet: HostileHandler,
): Promise<Pick<FloodServer, "hold" | "release" | "connections"> & { readonly url: URL }> {
  let isHeld = false;
  const held: (() => void)[] = [];
  const server = await startHostileServer((request, response, index) => {
    if (request.method === "GET") {
      onGet(request, response, index);
      return;
    }
    const message = JSON.parse(request.body) as JSONRPCMessage;
    const respond = (): void => {
      if (!("method" in message)) take(message);
      response.writeHead(202).end();
    };
    if (isHeld) held.push(respond);
    else respond();
  });
  return {
    url: server.url,
    hold() {
      isHeld = true;
    },
    release() {
      isHeld = false;
      for (const response of held.splice(0)) response();
    },
    connections: () => server.sockets.size,
  };
}

/** The server holds the posts themselves, so that no buffer has to be full. */
const smallIdBytes = 16 * 1024;

const openSse: OpenFlood = async (context, take) => {
  let stream: ServerResponse | undefined;
  const server = await servePosts(take, (_, response) => {
    stream = response.writeHead(200, { "content-type": "text/event-stream" });
    stream.write("event: endpoint\ndata: /messages\n\n");
  });
  return {
    ...server,
    transport: createSseTransport(overNetwork(context, server.url)),
    send: (message) => void stream?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
  };
};
describeFloodContract("HTTP with SSE", openSse, smallIdBytes);

const openStreamableHttp: OpenFlood = async (context, take) => {
  let stream: ServerResponse | undefined;
  const server = await servePosts(take, (_, response) => {
    stream = response.writeHead(200, { "content-type": "text/event-stream" });
    stream.flushHeaders();
  });
  const transport = createStreamableHttpTransport(overNetwork(context, server.url));
  const start = transport.start.bind(transport);
  transport.start = async () => {
    await start();
    // The stream is opened after the handshake.
    await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    await vi.waitFor(() => expect(stream).toBeDefined(), waiting);
  };
  return {
    ...server,
    transport,
    send: (message) => void stream?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
  };
};
describeFloodContract("Streamable HTTP", openStreamableHttp, smallIdBytes);

test("does not pile up pongs for a WebSocket server that sends pings and does not read", async () => {
  let peer: WebSocket | undefined;
  const { url, sockets } = await serveWebSockets((socket) => {
    peer = socket;
  });
  const context = createNetworkContext("ws", url);
  const opened: { readonly writableLength: number }[] = [];
  const { openSocket } = context.http;
  const transport = createWebSocketTransport({
    ...context,
    http: {
      ...context.http,
      async openSocket(...args) {
        const info = await openSocket(...args);
        opened.push(info.socket);
        return info;
      },
    },
  });
  onTestFinished(() => transport.close());
  await transport.start();
  for (const socket of sockets) socket.pause();
  const data = "x".repeat(125);
  let most = 0;
  // About 6.5 MB of pongs, which is more than the buffers of the system hold.
  for (let round = 0; round < 100; round += 1) {
    for (let index = 0; index < 500; index += 1) peer?.ping(data);
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, opened[0]?.writableLength ?? 0);
  }
  await vi.waitFor(() => expect(peer?.bufferedAmount).toBe(0), waiting);
  most = Math.max(most, opened[0]?.writableLength ?? 0);
  expect(most).toBeLessThan(1024 * 1024);
  for (const socket of sockets) socket.resume();
  const message: JSONRPCMessage = { jsonrpc: "2.0", method: "notifications/noted" };
  const heard = new Promise((resolve) => peer?.once("message", (text) => resolve(JSON.parse(String(text)))));
  await transport.send(message);
  expect(await heard).toEqual(message);
});
