import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { Client } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { observeProcess } from "../process/observe-process.js";
import { closeAfterTest, listen, portOf } from "../sockets/connections.test.helper.js";
import { connectionInfo, networkSocketInfo, publish, readAll, transportInfo } from "./connection-info.test.helper.js";

/** A server that accepts any upgrade. */
async function upgradingServer(): Promise<number> {
  const server = createServer();
  server.on("upgrade", (_request, socket: Socket) => {
    closeAfterTest(socket);
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  });
  await listen(server, { host: "127.0.0.1", port: 0 });
  return portOf(server);
}

/** Upgrades an existing connection, like the ws library. */
async function upgrade(socket: Socket): Promise<void> {
  const clientRequest = request({
    createConnection: () => socket,
    headers: { connection: "Upgrade", upgrade: "websocket" },
  });
  clientRequest.end();
  const [response] = (await once(clientRequest, "upgrade")) as [IncomingMessage];
  expect(response.statusCode).toBe(101);
}

function observeWhole(): Registry {
  const registry = createRegistry();
  const observation = observeProcess(registry);
  onTestFinished(() => observation.stop());
  return registry;
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  closeAfterTest(socket);
  await once(socket, "connect");
  return socket;
}

test("[TS-D-SEEN-4] shows the tool servers of an observed process, and an upgrade to WebSocket only under them", async () => {
  const registry = observeWhole();
  const socket = await open(await upgradingServer());
  const connection = connectionInfo({ kind: "ws", target: "wss://api.example.com/mcp" });
  const socketInfo = networkSocketInfo(socket, transportInfo(connection, "wss://api.example.com"));
  publish("socket:opened", socketInfo);
  await upgrade(socket);
  publish("socket:message-sent", socketInfo);
  const { channels, sockets } = await readAll(registry);
  expect(channels.map(({ data }) => data?.target)).toEqual(["wss://api.example.com/mcp"]);
  expect(sockets.map(({ data }) => data?.messagesSent)).toEqual([1n]);
});

test("[TS-D-SEEN-4] shows a tunnel through a proxy only as the socket that it becomes", async () => {
  const registry = observeWhole();
  const proxy = createServer();
  proxy.on("connect", (_request, socket: Socket) => {
    closeAfterTest(socket);
    socket.write("HTTP/1.1 200 Connected\r\n\r\n");
  });
  await listen(proxy, { host: "127.0.0.1", port: 0 });
  const socket = await open(portOf(proxy));
  publish("proxy:tunnel-requested", socket);
  const clientRequest = request({ method: "CONNECT", path: "api.example.com:443", createConnection: () => socket });
  clientRequest.end();
  await once(clientRequest, "connect");
  expect((await readAll(registry)).channels).toEqual([]);
  publish("socket:opened", networkSocketInfo(socket));
  expect((await readAll(registry)).sockets).toHaveLength(1);
});

test("[TS-D-SEEN-4] shows the undici requests of a tool server only under that tool server", async () => {
  const registry = observeWhole();
  const server = createServer((_request, response) => response.end("{}"));
  await listen(server, { host: "127.0.0.1", port: 0 });
  const origin = `http://127.0.0.1:${portOf(server)}`;
  const socket = await open(portOf(server));
  publish("socket:opened", networkSocketInfo(socket, transportInfo(connectionInfo({ target: origin }), origin)));
  const before = registry.size;
  const client = new Client(origin, { connect: (_, callback) => queueMicrotask(() => callback(null, socket)) });
  onTestFinished(() => client.destroy());
  const names = new Set<string>();
  for (let n = 0; n < 3; n += 1) {
    const response = client.request({ path: "/", method: "POST", body: "{}" });
    for (const { ref } of (await readAll(registry)).channels) names.add(ref?.name ?? "");
    await (await response).body.text();
  }
  expect(registry.size).toEqual(before);
  expect(names).not.toContain("undici");
});

test("shows an upgrade that belongs to no tool server as a request", async () => {
  const registry = observeWhole();
  const port = await upgradingServer();
  await upgrade(await open(port));
  const { channels } = await readAll(registry);
  expect(channels).toHaveLength(1);
});

test("observes a process without its tool servers on request", async () => {
  const registry = createRegistry();
  const observation = observeProcess(registry, { toolServers: false });
  onTestFinished(() => observation.stop());
  publish("connection:opened", connectionInfo());
  expect(registry.size).toMatchObject({ channels: 0 });
});
