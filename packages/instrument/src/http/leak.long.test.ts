import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage } from "node:http";
import { createRegistry } from "@wirescope/channelz";
import { expect, test } from "vitest";
import { bytesInUse } from "../heap.test.helper.js";
import { portOf } from "../sockets/connections.test.helper.js";
import { eventually } from "./both-ends.test.helper.js";
import { observeHttpClients } from "./observe-clients.js";
import { observeHttpServer } from "./observe-server.js";

test("leaves the registry and its memory as they were after 10,000 connections were opened and closed", async () => {
  const registry = createRegistry({ maxClosed: 100 });
  const clients = observeHttpClients(registry);
  const server = createServer((_request, response) => response.end("hello"));
  observeHttpServer(registry, server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const visit = async (): Promise<void> => {
    const clientRequest = get({
      host: "127.0.0.1",
      port: portOf(server),
      agent: false,
      headers: { connection: "close" },
    });
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    response.resume();
    await new Promise((resolve) => clientRequest.on("close", resolve));
  };
  const visits = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 100) await Promise.all(Array.from({ length: 100 }, visit));
    // The server's end of the last ones may close a moment later.
    await eventually(() => expect(registry.size.sockets).toBe(1));
  };

  await visits(1000);
  const before = registry.size;
  const base = await bytesInUse();
  await visits(9000);
  const { channels, subchannels, servers, sockets, closed } = before;
  expect(registry.size).toMatchObject({ channels, subchannels, servers, sockets, closed });
  // A leak of a few hundred bytes per connection would be megabytes.
  expect((await bytesInUse()) - base).toBeLessThan(2_000_000);
  for (const { data } of [(await registry.getServers()).server[0]!, (await registry.getTopChannels()).channel[0]!]) {
    expect([data?.callsStarted, data?.callsSucceeded]).toEqual([10_000n, 10_000n]);
  }
  clients.stop();
  server.close();
  await once(server, "close");
  expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, servers: 0, sockets: 0 });
}, 180_000);

test("leaves nothing of 2,000 agents that are dropped, not destroyed, after their connections end", async () => {
  const dropped: unknown[] = [];
  const registry = createRegistry({ maxClosed: 100, onDropped: (one) => dropped.push(one) });
  const clients = observeHttpClients(registry);
  // The server closes idle connections soon.
  const server = createServer({ keepAliveTimeout: 50 }, (_request, response) => response.end("hello"));
  observeHttpServer(registry, server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const visit = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true });
    const [response] = (await once(get({ host: "127.0.0.1", port: portOf(server), agent }), "response")) as [
      IncomingMessage,
    ];
    response.resume();
    await once(response, "close");
  };
  for (let done = 0; done < 2000; done += 100) await Promise.all(Array.from({ length: 100 }, visit));
  await eventually(() => expect(registry.size).toMatchObject({ channels: 1, subchannels: 1, sockets: 1 }));
  clients.stop();
  server.close();
  await once(server, "close");
  globalThis.gc?.();
  expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, servers: 0, sockets: 0 });
  expect(dropped).toEqual([]);
}, 180_000);
