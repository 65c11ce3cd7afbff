import { once } from "node:events";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { createRegistry } from "@wirescope/channelz";
import { expect, test, vi } from "vitest";
import { observeHttp2Module } from "./observe-module.js";

test("what the process makes is shown, leaves when observation stops, and comes back when it starts again", async () => {
  const registry = createRegistry();
  let stop = observeHttp2Module(registry);
  const server = createServer((_request, response) => response.end("hello"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const get = async (): Promise<void> => {
    const stream = session.request({ ":path": "/" });
    stream.resume();
    await once(stream, "close");
  };
  await get();
  await vi.waitFor(() => {
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 1, servers: 1, sockets: 3 });
  });
  const first = (await registry.getTopChannels()).channel[0]!;
  expect(first.data).toMatchObject({ callsStarted: 1n, callsSucceeded: 1n, target: expect.stringMatching(/^127/) });

  stop();
  expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, servers: 0, sockets: 0 });
  await get();
  expect(registry.size).toMatchObject({ channels: 0, servers: 0, sockets: 0 });

  stop = observeHttp2Module(registry);
  await get();
  await vi.waitFor(async () => {
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 1, servers: 1, sockets: 3 });
    const again = (await registry.getTopChannels()).channel[0]!;
    expect(again.ref).not.toEqual(first.ref);
    expect(again.data).toMatchObject({ callsStarted: 1n, callsSucceeded: 1n });
  });
  session.destroy();
  server.close();
  await once(server, "close");
  await vi.waitFor(() => expect(registry.size).toMatchObject({ channels: 0, servers: 0, sockets: 0 }));
  stop();
});
