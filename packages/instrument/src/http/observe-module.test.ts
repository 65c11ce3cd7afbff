import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createRawServer } from "node:net";
import { createRegistry } from "@wirescope/channelz";
import { describe, expect, onTestFinished, test } from "vitest";
import { stopObserving } from "../observation.js";
import { portOf, serverIdentity } from "../sockets/connections.test.helper.js";
import { callsOf, eventually } from "./both-ends.test.helper.js";
import { observeHttpModule } from "./observe-module.js";
import { observeHttpServer } from "./observe-server.js";

test("shows the servers and requests of the process, removes them when observation stops, and shows them again when it restarts", async () => {
  const registry = createRegistry();
  let stop = observeHttpModule(registry);
  const server = createServer((_request, response) => response.end("hello"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const agent = new Agent({ keepAlive: true });
  const visit = async (): Promise<void> => {
    const [response] = (await once(get({ host: "127.0.0.1", port: portOf(server), agent }), "response")) as [
      IncomingMessage,
    ];
    response.resume();
    await once(response, "close");
  };
  const shown = { channels: 1, subchannels: 1, servers: 1, sockets: 3 };
  const nothing = { channels: 0, subchannels: 0, servers: 0, sockets: 0 };
  await visit();
  await eventually(() => expect(registry.size).toMatchObject(shown));

  stop();
  expect(registry.size).toMatchObject(nothing);
  await visit();
  expect(registry.size).toMatchObject(nothing);

  stop = observeHttpModule(registry);
  await visit();
  await eventually(() => expect(registry.size).toMatchObject(shown));

  agent.destroy();
  server.close();
  await once(server, "close");
  expect(registry.size).toMatchObject({ servers: 0 });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  expect(registry.size).toMatchObject({ servers: 1 });
  server.close();
  await once(server, "close");
  stop();
  await eventually(() => expect(registry.size).toMatchObject(nothing));
});

describe("[CZ-D-LISTEN-5] a server that exists before the observation", () => {
  async function serve(server: Server): Promise<Server> {
    server.on("request", (_request, response) => response.end("hello"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return server;
  }

  async function visit(server: Server): Promise<void> {
    const [response] = (await once(get({ host: "127.0.0.1", port: portOf(server), agent: false }), "response")) as [
      IncomingMessage,
    ];
    response.resume();
    await once(response, "close");
  }

  test.each([
    ["http", () => createServer()],
    ["https", () => createHttpsServer(serverIdentity)],
  ])("shows a listening %s server at once", async (_, create) => {
    await serve(create());
    const registry = createRegistry();
    onTestFinished(observeHttpModule(registry));
    expect(registry.size).toMatchObject({ servers: 1, sockets: 1 });
  });

  test("shows a server that was not found with its next request, but not after it was hidden", async () => {
    const server = await serve(createServer());
    server.unref();
    const registry = createRegistry();
    onTestFinished(observeHttpModule(registry));
    expect(registry.size).toMatchObject({ servers: 0 });
    await visit(server);
    await eventually(async () => expect((await registry.getServers()).server.map(callsOf)).toEqual([[1, 1, 0]]));
    stopObserving(server);
    await visit(server);
    expect(registry.size).toMatchObject({ servers: 0 });
  });

  test("shows a server when it starts to listen, and ignores one that never does", async () => {
    const later = createServer();
    const fed = createServer((_request, response) => response.end("hello"));
    const registry = createRegistry();
    onTestFinished(observeHttpModule(registry));
    const front = createRawServer((socket) => void fed.emit("connection", socket));
    front.listen(0, "127.0.0.1");
    await once(front, "listening");
    await visit(front as Server);
    front.close();
    expect(registry.size).toMatchObject({ servers: 0 });
    await serve(later);
    expect(registry.size).toMatchObject({ servers: 1 });
  });
});

test("shares the observation with a second call for the same registry, and rejects one for another", async () => {
  const registry = createRegistry();
  const stops = [observeHttpModule(registry), observeHttpModule(registry)];
  expect(() => observeHttpModule(createRegistry())).toThrow(/^node:http servers are already observed in another/);
  const server = createServer();
  const own = createServer();
  for (const one of [server, own]) {
    one.listen(0, "127.0.0.1");
    await once(one, "listening");
    onTestFinished(() => void one.close());
  }
  expect(registry.size).toMatchObject({ servers: 2, sockets: 2 });
  stops[0]!();
  expect(registry.size).toMatchObject({ servers: 2, sockets: 2 });
  const handle = observeHttpServer(createRegistry(), own);
  stops[1]!();
  expect(registry.size).toMatchObject({ servers: 0, sockets: 0 });
  expect(handle.isClosed).toBe(false);
});
