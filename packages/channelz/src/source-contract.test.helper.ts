import { describe, expect, test } from "vitest";
import { type OwnedSocketRef, walkAllChannels, walkServers, walkSocketRefs, walkTopChannels } from "./client/index.js";
import type { Registry } from "./registry/index.js";
import type { PageRequest, Source } from "./source.js";

/** Three channels (one nested), a subchannel with a socket, and two servers with 5 connections in all. */
export function fillRegistry(registry: Registry): unknown[] {
  const first = registry.addChannel({ target: "dns:///first.example", name: "first" });
  const nested = registry.addChannel({ parent: first, target: "dns:///nested.example", name: "nested" });
  const subchannel = registry.addSubchannel({ parent: nested, target: "192.0.2.1:443" });
  const socket = registry.addSocket({ parent: subchannel, local: { ip: "127.0.0.1", port: 5001 } });
  const second = registry.addChannel({ target: "dns:///second.example", name: "second" });
  const servers = [3, 2].map((count, index) => {
    const server = registry.addServer({ name: `server ${index}` });
    const listening = registry.addListenSocket({ server, local: { ip: "127.0.0.1", port: 8080 + index } });
    const accepted = Array.from({ length: count }, (_, n) =>
      registry.addSocket({ server, remote: { ip: "127.0.0.1", port: 7000 + n } }),
    );
    return [server, listening, accepted];
  });
  return [first, nested, subchannel, socket, second, servers];
}

/**
 * What every Source must do, whatever it reads. `open` gives a Source that shows one registry or several, each filled by
 * {@link fillRegistry}, and that is closed at the end of the test.
 */
export function testSourceContract(name: string, copies: number, open: () => Promise<Source>): void {
  describe(`${name} as a Source`, () => {
    test("lists top channels, servers and sockets ascending by id, in one page or in many", async () => {
      const source = await open();
      const idsBySize = await Promise.all(
        [0, 1, 2, 1000].map(async (pageSize) => {
          const channels = await toArray(walkTopChannels(source, { pageSize }));
          const servers = await toArray(walkServers(source, { pageSize }));
          const sockets = await toArray(walkSocketRefs(source, { pageSize }));
          return {
            channels: channels.map(({ ref }) => ref?.channelId),
            servers: servers.map(({ ref }) => ref?.serverId),
            sockets: sockets.map(({ ref }) => ref.socketId).sort(),
          };
        }),
      );
      const [first] = idsBySize;
      for (const each of idsBySize) expect(each).toEqual(first);
      expect(first?.channels).toHaveLength(2 * copies);
      expect(first?.servers).toHaveLength(2 * copies);
      expect(first?.sockets).toHaveLength(8 * copies);
    });

    test("caps a page at max_results, starts it at the start id, and ends with an empty page beyond the last item", async () => {
      const source = await open();
      for (const read of [channelIds, serverIds]) {
        const all = (await read(source)).ids;
        expect(all).toEqual(all.toSorted((a, b) => (a < b ? -1 : 1)));
        expect(await read(source, { maxResults: 1 })).toEqual({ ids: all.slice(0, 1), end: all.length === 1 });
        expect((await read(source, { startId: (all[0] ?? 0n) + 1n, maxResults: 1 })).ids).toEqual(all.slice(1, 2));
        expect(await read(source, { startId: -5n })).toMatchObject({ ids: all });
        expect(await read(source, { startId: (all.at(-1) ?? 0n) + 1n })).toEqual({ ids: [], end: true });
        expect(await read(source, { startId: 2n ** 63n - 1n })).toEqual({ ids: [], end: true });
      }
    });

    test("finds every object that a list or another object refers to, under its own id", async () => {
      const source = await open();
      const walked = await toArray(walkAllChannels(source));
      expect(walked.map(({ kind }) => kind).sort()).toEqual(
        Array.from({ length: copies }, () => ["channel", "channel", "channel", "subchannel"])
          .flat()
          .sort(),
      );
      for (const { kind, id, object } of walked) {
        expect(object).toBeDefined();
        const found =
          kind === "channel" ? (await source.getChannel(id)).channel : (await source.getSubchannel(id)).subchannel;
        expect(found?.ref).toEqual(object?.ref);
        for (const { childRef } of found?.data?.trace?.events ?? []) {
          if (childRef.case === "channelRef") await source.getChannel(childRef.value.channelId);
          if (childRef.case === "subchannelRef") await source.getSubchannel(childRef.value.subchannelId);
        }
      }
      for await (const { ref } of walkServers(source)) {
        expect((await source.getServer(ref?.serverId ?? 0n)).server?.ref).toEqual(ref);
      }
      for (const { ref } of await sockets(source)) {
        expect((await source.getSocket(ref.socketId, { summary: true })).socket?.ref).toEqual(ref);
      }
    });

    test("gives each server its own sockets, in pages", async () => {
      const source = await open();
      for await (const { ref } of walkServers(source)) {
        const serverId = ref?.serverId ?? 0n;
        const { socketRef, end } = await source.getServerSockets(serverId);
        const ids = socketRef.map(({ socketId }) => socketId);
        expect(end).toBe(true);
        expect([2, 3]).toContain(ids.length);
        const page = await source.getServerSockets(serverId, { startId: (ids[0] ?? 0n) + 1n, maxResults: 1 });
        expect(page.socketRef.map(({ socketId }) => socketId)).toEqual(ids.slice(1, 2));
        expect(page.end).toBe(ids.length === 2);
        const beyond = await source.getServerSockets(serverId, { startId: (ids.at(-1) ?? 0n) + 1n });
        expect(beyond).toMatchObject({ socketRef: [], end: true });
      }
    });

    test("rejects with NOT_FOUND for ids that are unknown, not positive or of another kind", async () => {
      const source = await open();
      const { ids } = await channelIds(source);
      const unknown = [0n, -1n, 999_999_999n, 2n ** 63n - 1n, (ids.at(-1) ?? 0n) + 900_000n];
      for (const id of unknown) {
        for (const reading of [
          source.getChannel(id),
          source.getSubchannel(id),
          source.getServer(id),
          source.getSocket(id),
          source.getServerSockets(id),
        ]) {
          await expect(reading).rejects.toMatchObject({ name: "ChannelzError", code: "NOT_FOUND" });
        }
      }
      await expect(source.getServer(ids[0] ?? 0n)).rejects.toMatchObject({ code: "NOT_FOUND" });
      await expect(source.getServerSockets(ids[0] ?? 0n)).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("rejects with INVALID_ARGUMENT for ids and page sizes that are not integers of 64 bits", async () => {
      const source = await open();
      const { ids } = await serverIds(source);
      for (const value of [1.5, 2 ** 53, Number.NaN, 2n ** 63n, "1" as unknown as number]) {
        for (const reading of [
          source.getChannel(value),
          source.getSubchannel(value),
          source.getServer(value),
          source.getSocket(value),
          source.getServerSockets(value),
          source.getTopChannels({ startId: value }),
          source.getServers({ maxResults: value }),
          source.getServerSockets(ids[0] ?? 0n, { startId: value }),
        ]) {
          await expect(reading).rejects.toMatchObject({ name: "ChannelzError", code: "INVALID_ARGUMENT" });
        }
      }
    });

    test("rejects with INVALID_ARGUMENT for a negative page size", async () => {
      const source = await open();
      const negative = { maxResults: -1 };
      const { ids } = await serverIds(source);
      for (const reading of [
        source.getTopChannels(negative),
        source.getServers(negative),
        source.getServerSockets(ids[0] ?? 0n, negative),
      ]) {
        await expect(reading).rejects.toMatchObject({ name: "ChannelzError", code: "INVALID_ARGUMENT" });
      }
    });
  });
}

async function channelIds(source: Source, request?: PageRequest): Promise<{ ids: bigint[]; end: boolean }> {
  const { channel, end } = await source.getTopChannels(request);
  return { ids: channel.map(({ ref }) => ref?.channelId ?? 0n), end };
}

async function serverIds(source: Source, request?: PageRequest): Promise<{ ids: bigint[]; end: boolean }> {
  const { server, end } = await source.getServers(request);
  return { ids: server.map(({ ref }) => ref?.serverId ?? 0n), end };
}

function sockets(source: Source): Promise<OwnedSocketRef[]> {
  return toArray(walkSocketRefs(source));
}

async function toArray<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
