import { once } from "node:events";
import { createServer as createHttpServer, get, type Server as HttpServer } from "node:http";
import { createServer as createHttp2Server, createSecureServer, type Http2SecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { connect as connectRaw, type Server } from "node:net";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { eventually, traceOf } from "./http/both-ends.test.helper.js";
import { observeHttpServer } from "./http/observe-server.js";
import { observeHttp2Server } from "./http2/observe-server.js";
import { closeAfterTest, portOf, serverIdentity } from "./sockets/connections.test.helper.js";

let registry: Registry;

beforeEach(() => {
  registry = createRegistry();
});

async function listens(): Promise<number> {
  return (await registry.getServers()).server[0]!.listenSocket.length;
}

const kinds: readonly (readonly [string, () => Server, (server: Server) => void])[] = [
  ["http", () => createHttpServer(), (server) => observeHttpServer(registry, server as HttpServer)],
  ["https", () => createHttpsServer(serverIdentity), (server) => observeHttpServer(registry, server as HttpServer)],
  ["http2", () => createHttp2Server(), (server) => observeHttp2Server(registry, server as Http2SecureServer)],
  [
    "http2 with TLS",
    () => createSecureServer({ ...serverIdentity, allowHTTP1: true }),
    (server) => observeHttp2Server(registry, server as Http2SecureServer),
  ],
];

describe.each(kinds)("a server of %s", (_, create, observe) => {
  test("[CZ-SERVER-2] removes the listen socket of a server that closes, although a connection keeps it open", async () => {
    const server = create();
    observe(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const accepted = once(server, "connection");
    const connection = connectRaw(portOf(server), "127.0.0.1");
    closeAfterTest(connection);
    await accepted;
    expect(await listens()).toBe(1);
    const closed = once(server, "close");
    server.close();
    expect(await listens()).toBe(0);
    expect(traceOf((await registry.getServers()).server[0]!).slice(-2)).toEqual(["Listening", "Stopped listening"]);
    connection.destroy();
    await closed;
    expect(registry.size).toMatchObject({ servers: 0, sockets: 0 });
  });

  test("shows a server once that has just called listen()", async () => {
    const server = create();
    server.listen(0);
    onTestFinished(() => void server.close());
    observe(server);
    await once(server, "listening");
    expect(await listens()).toBe(1);
  });
});

test("shows the address of a server that listens again while it still has connections", async () => {
  const server = createHttpServer();
  observeHttpServer(registry, server);
  for (const round of [1, 2]) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    expect([round, await listens()]).toEqual([round, 1]);
    const requested = once(server, "request");
    const hanging = get({ host: "127.0.0.1", port: portOf(server), agent: false });
    hanging.on("error", () => {});
    onTestFinished(() => void hanging.destroy());
    await requested;
    server.close();
    expect([round, await listens()]).toEqual([round, 0]);
  }
  server.closeAllConnections();
  await eventually(() => expect(registry.size).toMatchObject({ servers: 0, sockets: 0 }));
});

test("leaves the methods of a server that does not listen unchanged", async () => {
  const server = createHttp2Server();
  observeHttp2Server(registry, server);
  const error = await new Promise<Error | undefined>((resolve) => void server.close(resolve));
  expect(error).toMatchObject({ code: "ERR_SERVER_NOT_RUNNING" });
});
