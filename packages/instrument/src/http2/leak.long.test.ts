import { once } from "node:events";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { createRegistry } from "@wirescope/channelz";
import { expect, test } from "vitest";
import { bytesInUse } from "../heap.test.helper.js";
import { eventually } from "../http/both-ends.test.helper.js";
import { observeHttp2Session } from "./observe-client.js";
import { observeHttp2Server } from "./observe-server.js";

test("leaves the registry and its memory as they were after 10,000 connections were opened and closed", async () => {
  const registry = createRegistry({ maxClosed: 100 });
  const server = createServer((_request, response) => response.end("hello"));
  observeHttp2Server(registry, server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const visit = async (): Promise<void> => {
    const session = connect(`http://127.0.0.1:${port}`);
    observeHttp2Session(registry, session);
    const stream = session.request({ ":path": "/" });
    stream.resume();
    await once(stream, "close");
    session.close();
    await once(session, "close");
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
  const { callsStarted, callsSucceeded } = (await registry.getServers()).server[0]!.data!;
  expect([callsStarted, callsSucceeded]).toEqual([10_000n, 10_000n]);
  server.close();
  await once(server, "close");
  expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, servers: 0, sockets: 0 });
}, 180_000);
