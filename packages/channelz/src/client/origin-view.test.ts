import { create } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test } from "vitest";
import { connectChannelz } from "../dial/connect.js";
import {
  GetServerSocketsResponseSchema,
  GetServersResponseSchema,
  GetTopChannelsResponseSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { listenChannelz } from "../listener/index.js";
import { createRegistry } from "../registry/index.js";
import type { PageRequest, Source } from "../source.js";
import { channel, peerWith } from "./fixed-peer.test.helper.js";
import { createOriginIds } from "./origin-ids.js";
import { createOriginView } from "./origin-view.js";

const ids = createOriginIds(["a", "b"]);
const merged = (id: bigint, origin = "a"): bigint => (ids.encode(origin, 1n) ?? 0n) - 1n + id;
const viewOf = (source: Source): Source => createOriginView({ origin: "a", target: "a:1", source }, ids);

describe("a page of one process among several", () => {
  const top = [1, 2, 3].map((id) => channel(id));
  const servers = [{ id: 1n, sockets: [4n, 5n, 6n] }, { id: 2n }, { id: 3n }];
  const view = viewOf(peerWith({ top, servers }));
  const lists = {
    channels: async (startId?: bigint) =>
      (await view.getTopChannels(startId === undefined ? undefined : { startId, maxResults: 9 })).channel.map(
        ({ ref }) => ref?.channelId,
      ),
    servers: async (startId?: bigint) =>
      (await view.getServers(startId === undefined ? undefined : { startId, maxResults: 9 })).server.map(
        ({ ref }) => ref?.serverId,
      ),
  };

  test.each(["channels", "servers"] as const)("begins at the merged id of its start: %s", async (list) => {
    const all = [merged(1n), merged(2n), merged(3n)];
    for (const startId of [-5n, 0n, 1n, merged(0n), merged(1n)]) expect(await lists[list](startId)).toEqual(all);
    expect(await lists[list](merged(2n))).toEqual(all.slice(1));
    expect(await lists[list](merged(4n))).toEqual([]);
    expect(await lists[list](2n ** 63n - 1n)).toEqual([]);
    // The peer has pages of two.
    expect(await lists[list]()).toEqual(all.slice(0, 2));
  });

  test("contains as many sockets of a server as the caller asks for, from its start", async () => {
    const read = async (page?: PageRequest) => {
      const { socketRef, end } = await view.getServerSockets(merged(1n), page);
      return { ids: socketRef.map(({ socketId }) => socketId), end };
    };
    expect(await read()).toEqual({ ids: [merged(4n), merged(5n)], end: false });
    expect(await read({ startId: merged(5n) })).toEqual({ ids: [merged(5n), merged(6n)], end: true });
    expect(await read({ maxResults: 1 })).toEqual({ ids: [merged(4n)], end: false });
    expect(await read({ startId: 2n ** 63n - 1n })).toEqual({ ids: [], end: true });
  });

  test("accepts the lowest start id, although the id there does not fit into 64 bits", async () => {
    const registry = createRegistry();
    const server = registry.addServer();
    const socket = registry.addSocket({ server });
    const listener = await listenChannelz(registry);
    const connection = connectChannelz(listener.address);
    onTestFinished(async () => {
      await connection.close();
      await listener.close();
    });
    // This name has the highest number of all.
    const origin = "host-23991619";
    const highest = createOriginIds([origin]);
    const { getServerSockets } = createOriginView({ origin, target: "a:1", source: connection }, highest);
    const { socketRef } = await getServerSockets(highest.encode(origin, BigInt(server.id)) ?? 0n, {
      startId: -(2n ** 63n),
    });
    expect(socketRef.map(({ socketId }) => socketId)).toEqual([highest.encode(origin, BigInt(socket.id))]);
  });

  test("ends the list if none of its objects has an id that can be merged, and only then", async () => {
    const tooLarge = 2n ** 62n;
    const page = (id: bigint): Source => ({
      ...peerWith({}),
      getTopChannels: async () => create(GetTopChannelsResponseSchema, { channel: [{ ref: { channelId: id } }] }),
      getServers: async () => create(GetServersResponseSchema, { server: [{ ref: { serverId: id } }] }),
      getServerSockets: async () => create(GetServerSocketsResponseSchema, { socketRef: [{ socketId: id }] }),
    });
    const endless = viewOf(page(7n));
    expect(await endless.getTopChannels()).toMatchObject({ channel: [{ ref: { channelId: merged(7n) } }], end: false });
    expect(await endless.getServers()).toMatchObject({ server: [{ ref: { serverId: merged(7n) } }], end: false });
    expect(await endless.getServerSockets(merged(1n))).toMatchObject({ socketRef: [{ name: "[a]" }], end: false });
    const ended = viewOf(page(tooLarge));
    expect(await ended.getTopChannels()).toMatchObject({ channel: [], end: true });
    expect(await ended.getServers()).toMatchObject({ server: [], end: true });
    expect(await ended.getServerSockets(merged(1n))).toMatchObject({ socketRef: [], end: true });
  });
});

test("finds no object of another process, and none with the number 0", async () => {
  const registry = createRegistry();
  const held = registry.addChannel({ name: "api" });
  const own = BigInt(held.id);
  const view = viewOf(registry);
  expect((await view.getChannel(merged(own))).channel?.ref?.name).toBe("[a] api");
  for (const id of [merged(own, "b"), merged(0n), own, 0n]) {
    for (const [kind, reading] of [
      ["channel", view.getChannel(id)],
      ["subchannel", view.getSubchannel(id)],
      ["server", view.getServer(id)],
      ["server", view.getServerSockets(id)],
      ["socket", view.getSocket(id)],
    ] as const) {
      await expect(reading).rejects.toMatchObject({ code: "NOT_FOUND", message: `a:1 has no ${kind} ${id}.` });
    }
  }
});

test("passes the options of the caller to every read", async () => {
  const options = { signal: new AbortController().signal, summary: true };
  const seen: unknown[] = [];
  const source = new Proxy(
    peerWith({ top: [channel(1)], servers: [{ id: 1n }], subchannels: [{ ref: { subchannelId: 1n } }] }),
    {
      get:
        (peer, name: keyof Source) =>
        async (...args: unknown[]) => {
          seen.push(args.at(-1));
          return await (peer[name] as (...all: unknown[]) => Promise<unknown>)(...args);
        },
    },
  );
  const view = viewOf(source);
  await view.getTopChannels({}, options);
  await view.getServers({}, options);
  await view.getServerSockets(merged(1n), {}, options);
  await view.getServer(merged(1n), options);
  await view.getChannel(merged(1n), options);
  await view.getSubchannel(merged(1n), options);
  await view.getSocket(merged(1n), options);
  expect(seen).toEqual(Array.from({ length: 7 }, () => options));
});
