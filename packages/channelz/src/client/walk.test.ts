import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import {
  GetChannelResponseSchema,
  GetServerResponseSchema,
  GetSocketResponseSchema,
  GetSubchannelResponseSchema,
  GetTopChannelsResponseSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Source } from "../source.js";
import { channel, peerWith, socketRefs, subchannel, type World } from "./fixed-peer.test.helper.js";
import { mapBounded } from "./map-bounded.js";
import { readTree } from "./read-tree.js";
import type { TreeNode } from "./tree.js";
import { deepestLevel, walkAllChannels, walkServerSockets, walkServers, walkTopChannels } from "./walk.js";
import { walkAllSockets, walkSocketRefs } from "./walk-sockets.js";

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const ids = async (walk: AsyncIterable<{ ref?: { channelId: bigint } | undefined }>): Promise<number[]> =>
  (await collect(walk)).map((item) => Number(item.ref?.channelId));

/** A peer whose pages of top channels are scripted; it says no end of itself. */
function peerOfPages(...pages: { ids: number[]; end?: boolean }[]): Source & { asked: bigint[] } {
  const asked: bigint[] = [];
  return {
    ...peerWith({}),
    asked,
    async getTopChannels({ startId = 0 } = {}) {
      asked.push(BigInt(startId));
      const page = pages[Math.min(asked.length, pages.length) - 1];
      const top = (page?.ids ?? []).map((id) => (id === 0 ? {} : channel(id)));
      return create(GetTopChannelsResponseSchema, { channel: top, end: page?.end ?? false });
    },
  };
}

describe("walking a list", () => {
  test("[CZ-PAGE-2] requests each page from the highest id of the previous page plus 1", async () => {
    const peer = peerOfPages({ ids: [3, 7] }, { ids: [9] }, { ids: [20], end: true });
    expect(await ids(walkTopChannels(peer))).toEqual([3, 7, 9, 20]);
    expect(peer.asked).toEqual([0n, 8n, 10n]);
  });

  test("[CZ-PAGE-5] ends a walk at the page that sets end", async () => {
    const peer = peerOfPages({ ids: [1], end: true }, { ids: [2] });
    expect(await ids(walkTopChannels(peer))).toEqual([1]);
  });

  test("[CZ-D-CLIENT-2] ends a walk at an empty page, even if the peer leaves end false", async () => {
    const peer = peerOfPages({ ids: [1, 2] }, { ids: [] });
    expect(await ids(walkTopChannels(peer))).toEqual([1, 2]);
    expect(peer.asked).toHaveLength(2);
  });

  test("ends a walk if the peer repeats its pages", async () => {
    const peer = peerOfPages({ ids: [1, 2, 3] });
    expect(await ids(walkTopChannels(peer))).toEqual([1, 2, 3]);
    expect(peer.asked).toHaveLength(2);
  });

  test("ends a walk if the peer goes back, and drops objects that it has already returned", async () => {
    const peer = peerOfPages({ ids: [5, 6] }, { ids: [5, 6, 7] }, { ids: [1, 2] });
    expect(await ids(walkTopChannels(peer))).toEqual([5, 6, 7]);
  });

  test("yields each object once and in ascending order if a page is out of order and has duplicates", async () => {
    const peer = peerOfPages({ ids: [4, 2, 4, 3], end: true });
    expect(await ids(walkTopChannels(peer))).toEqual([2, 3, 4]);
  });

  test("drops objects without an id, and ends at a page that has no others", async () => {
    const peer = peerOfPages({ ids: [0, 1] }, { ids: [0, 0] });
    expect(await ids(walkTopChannels(peer))).toEqual([1]);
  });

  test("ends a walk at the highest possible id", async () => {
    const top = [{ ref: { channelId: 2n ** 63n - 1n } }];
    let reads = 0;
    const peer = {
      ...peerWith({}),
      getTopChannels: async () => {
        reads += 1;
        return create(GetTopChannelsResponseSchema, { channel: top });
      },
    };
    expect(await collect(walkTopChannels(peer))).toHaveLength(1);
    expect(reads).toBe(1);
  });

  test("uses the given page size and start id", async () => {
    const peer = peerWith({ servers: [1n, 2n, 3n, 4n].map((id) => ({ id })) });
    const servers = await collect(walkServers(peer, { pageSize: 1, startId: 2 }));
    expect(servers.map((server) => server.ref?.serverId)).toEqual([2n, 3n, 4n]);
    expect(peer.reads).toBe(3);
  });

  test("[CZ-PAGE-2] starts at the given id, and at 0 if that is negative", async () => {
    const peer = peerOfPages({ ids: [5], end: true });
    await collect(walkTopChannels(peer, { startId: 5 }));
    await collect(walkTopChannels(peer, { startId: -5 }));
    expect(peer.asked).toEqual([5n, 0n]);
  });

  test("reports NOT_FOUND if the server is unknown at the first page, and ends the walk if it closes later", async () => {
    const world: World = { servers: [{ id: 1n, sockets: [10n, 11n, 12n] }] };
    const peer = peerWith(world);
    await expect(collect(walkServerSockets(peer, 9))).rejects.toMatchObject({ code: "NOT_FOUND" });
    const seen: bigint[] = [];
    for await (const ref of walkServerSockets(peer, 1)) {
      seen.push(ref.socketId);
      world.servers = [];
    }
    expect(seen).toEqual([10n, 11n]);
  });
});

const outline = (nodes: readonly TreeNode[]): unknown[] =>
  nodes.map((node) => [
    `${node.kind} ${node.id}${node.cut ? ` ${node.cut}` : ""}`,
    ...(node.children.length > 0 ? [outline(node.children)] : []),
  ]);

describe("walking the graph", () => {
  test("[CZ-CHANNEL-3] finds every channel and subchannel below the top once, whatever the order of the refs", async () => {
    const peer = peerWith({
      top: [
        channel(1, { channelRef: [{ channelId: 3n }, { channelId: 2n }] }),
        channel(4, { subchannelRef: [{ subchannelId: 5n }] }),
      ],
      channels: [channel(2, { subchannelRef: [{ subchannelId: 5n }] }), channel(3)],
      subchannels: [subchannel(5, { socketRef: socketRefs(6) })],
    });
    const walked = await collect(walkAllChannels(peer));
    expect(walked.map(({ kind, id, depth }) => `${kind} ${id} at ${depth}`)).toEqual([
      "channel 1 at 0",
      "channel 4 at 0",
      "channel 3 at 1",
      "channel 2 at 1",
      "subchannel 5 at 1",
    ]);
  });

  test("[CZ-SUBCHANNEL-2] [CZ-CHANNEL-3] finds channels and subchannels under a subchannel, with a walk and with a tree", async () => {
    const peer = peerWith({
      top: [channel(1, { subchannelRef: [{ subchannelId: 2n }] })],
      channels: [channel(3, { subchannelRef: [{ subchannelId: 5n }] })],
      subchannels: [
        subchannel(2, { channelRef: [{ channelId: 3n }], subchannelRef: [{ subchannelId: 4n }] }),
        subchannel(4, { socketRef: socketRefs(6) }),
        subchannel(5),
      ],
    });
    const walked = await collect(walkAllChannels(peer));
    expect(walked.map(({ kind, id, depth }) => `${kind} ${id} at ${depth}`)).toEqual([
      "channel 1 at 0",
      "subchannel 2 at 1",
      "channel 3 at 2",
      "subchannel 4 at 2",
      "subchannel 5 at 3",
    ]);
    const outline = ({ kind, id, children }: TreeNode): string =>
      `${kind} ${id}${children.length === 0 ? "" : `(${children.map(outline).join(" ")})`}`;
    expect((await readTree(peer)).channels.map(outline)).toEqual([
      "channel 1(subchannel 2(channel 3(subchannel 5) subchannel 4(socket 6)))",
    ]);
  });

  test("[CZ-SERVER-7] finds every socket that a server listens on, whatever the order of the list", async () => {
    const peer = peerWith({ servers: [{ id: 1n, listen: [9n, 3n, 7n], sockets: [4n] }] });
    const [server] = (await readTree(peer)).servers;
    expect(server?.children.map(({ id }) => id).sort()).toEqual([3n, 4n, 7n, 9n]);
    const refs = await collect(walkSocketRefs(peer));
    expect(refs.map(({ ref }) => ref.socketId).sort()).toEqual([3n, 4n, 7n, 9n]);
  });

  test("ends a walk over refs that form a cycle", async () => {
    const peer = peerWith({
      top: [channel(1, { channelRef: [{ channelId: 2n }] })],
      channels: [channel(2, { channelRef: [{ channelId: 1n }, { channelId: 2n }] })],
    });
    expect(await collect(walkAllChannels(peer))).toHaveLength(2);
  });

  test("stops at a bounded depth in an endless chain of channels", async () => {
    const peer: Source = {
      ...peerWith({ top: [channel(1, { channelRef: [{ channelId: 2n }] })] }),
      getChannel: async (id) =>
        create(GetChannelResponseSchema, {
          channel: channel(Number(id), { channelRef: [{ channelId: BigInt(id) + 1n }] }),
        }),
    };
    expect(await collect(walkAllChannels(peer))).toHaveLength(deepestLevel + 1);
    const tree = await readTree(peer);
    let node = tree.channels[0];
    while (node?.children[0] !== undefined) node = node.children[0];
    expect(node).toMatchObject({ cut: "depth" });
  });

  test("[CZ-D-CLIENT-3] distinguishes ids by kind if a peer numbers each kind from 1", async () => {
    const peer = peerWith({
      top: [
        channel(1, { channelRef: [{ channelId: 2n }], subchannelRef: [{ subchannelId: 1n }, { subchannelId: 2n }] }),
      ],
      channels: [channel(2)],
      subchannels: [subchannel(1), subchannel(2, { socketRef: socketRefs(1) })],
    });
    const walked = await collect(walkAllChannels(peer));
    expect(walked.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      "channel 1",
      "channel 2",
      "subchannel 1",
      "subchannel 2",
    ]);
    expect(await collect(walkSocketRefs(peer))).toHaveLength(1);
  });

  test("yields each socket once: listening, accepted and below channels", async () => {
    const peer = peerWith({
      servers: [{ id: 1n, listen: [10n], sockets: [11n, 12n, 13n] }],
      top: [channel(2, { subchannelRef: [{ subchannelId: 3n }] }), channel(4, { socketRef: socketRefs(20, 11) })],
      subchannels: [subchannel(3, { socketRef: socketRefs(21) })],
    });
    const sockets = await collect(walkAllSockets(peer, { concurrency: 2 }));
    expect(sockets.map(({ ref, owner }) => `${owner.role} ${ref.socketId} of ${owner.kind} ${owner.id}`)).toEqual([
      "listen 10 of server 1",
      "server 11 of server 1",
      "server 12 of server 1",
      "server 13 of server 1",
      "client 20 of channel 4",
      "client 21 of subchannel 3",
    ]);
  });

  test("names the owner of each socket, also if the peer gives it no name", async () => {
    const peer: Source = {
      ...peerWith({ top: [channel(1, { channelRef: [{ channelId: 2n }], socketRef: socketRefs(10) })] }),
      getChannel: async () => create(GetChannelResponseSchema, { channel: { socketRef: socketRefs(11) } }),
    };
    expect((await collect(walkSocketRefs(peer))).map(({ owner }) => owner)).toEqual([
      { role: "client", kind: "channel", id: 1n, name: "channel 1" },
      { role: "client", kind: "channel", id: 2n, name: "" },
    ]);
  });

  test("leaves out a server and a socket that the peer returns without a description", async () => {
    const peer: Source = {
      ...peerWith({ servers: [{ id: 1n, sockets: [11n] }] }),
      getServer: async () => create(GetServerResponseSchema),
      getSocket: async () => create(GetSocketResponseSchema),
    };
    expect(await collect(walkAllSockets(peer, { serverId: 1 }))).toEqual([]);
    expect(await collect(walkAllSockets(peer))).toEqual([]);
    expect((await readTree(peer)).servers[0]?.children).toEqual([]);
  });

  test("yields only the sockets of the given server, and NOT_FOUND for an unknown server", async () => {
    const peer = peerWith({
      servers: [
        { id: 1n, sockets: [11n] },
        { id: 2n, listen: [5n], sockets: [12n] },
      ],
    });
    const sockets = await collect(walkAllSockets(peer, { serverId: 2 }));
    expect(sockets.map(({ ref }) => ref.socketId)).toEqual([5n, 12n]);
    await expect(collect(walkAllSockets(peer, { serverId: 3 }))).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("leaves out objects that vanish between their ref and their lookup", async () => {
    const peer = peerWith({
      servers: [{ id: 1n, sockets: [11n, 12n] }],
      top: [channel(2, { channelRef: [{ channelId: 90n }], subchannelRef: [{ subchannelId: 91n }] })],
      vanished: [11n],
    });
    expect((await collect(walkAllSockets(peer))).map(({ ref }) => ref.socketId)).toEqual([12n]);
    const tree = await readTree(peer);
    expect(tree.channels[0]?.children).toEqual([]);
    expect(tree.servers[0]?.children.map(({ id }) => id)).toEqual([12n]);
    expect(tree.isComplete).toBe(true);
  });

  test("ends a walk if the peer can no longer be reached, and returns the part of a tree that was read before", async () => {
    const peer: Source = {
      ...peerWith({ servers: [{ id: 1n, sockets: [11n, 12n] }] }),
      getSocket: async () => {
        throw new ChannelzError("PEER_UNAVAILABLE", "gone");
      },
    };
    await expect(collect(walkAllSockets(peer))).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
    const tree = await readTree(peer);
    expect(tree).toMatchObject({ isComplete: false, stoppedBy: { code: "PEER_UNAVAILABLE" } });
    expect(outline(tree.servers)).toEqual([["server 1", [["socket 11 limit"], ["socket 12 limit"]]]]);
  });

  test("[CZ-D-CLIENT-6] yields an object that the peer fails to read with the reason, and continues the walk", async () => {
    const peer: Source = {
      ...peerWith({
        top: [channel(1, { subchannelRef: [{ subchannelId: 2n }, { subchannelId: 3n }] })],
        subchannels: [subchannel(3, { socketRef: socketRefs(4) })],
        servers: [{ id: 5n, sockets: [6n] }],
      }),
      getSubchannel: async (id) => {
        if (id === 2n) throw new ChannelzError("PEER_FAILED", "internal");
        return create(GetSubchannelResponseSchema, { subchannel: subchannel(3, { socketRef: socketRefs(4) }) });
      },
    };
    const walked = await collect(walkAllChannels(peer));
    expect(walked.map(({ id, unreadable }) => [id, unreadable?.message])).toEqual([
      [1n, undefined],
      [2n, "internal"],
      [3n, undefined],
    ]);
    // The sockets of all other owners come before the failure.
    const found: bigint[] = [];
    const reading = (async () => {
      for await (const { ref } of walkSocketRefs(peer)) found.push(ref.socketId);
    })();
    await expect(reading).rejects.toMatchObject({ code: "PEER_FAILED" });
    expect(found).toEqual([6n, 4n]);
  });

  test("[CZ-D-CLIENT-6] leaves out the sockets of a server that closes during the walk, and reports a failure for one server after all others", async () => {
    const world: World = {
      servers: [
        { id: 1n, listen: [10n], sockets: [11n] },
        { id: 2n, listen: [20n], sockets: [21n] },
      ],
      top: [channel(3, { socketRef: socketRefs(30) })],
    };
    const failingWith = (code: "NOT_FOUND" | "PEER_FAILED" | "PEER_UNAVAILABLE"): Source => {
      const peer = peerWith(world);
      return {
        ...peer,
        getServerSockets: async (id, request) => {
          if (id === 1n) throw new ChannelzError(code, "the first server");
          return peer.getServerSockets(id, request);
        },
      };
    };
    const walk = async (peer: Source): Promise<unknown[]> => {
      const found: unknown[] = [];
      try {
        for await (const { ref } of walkSocketRefs(peer)) found.push(Number(ref.socketId));
      } catch (error) {
        found.push(ChannelzError.is(error) ? error.code : error);
      }
      return found;
    };
    expect(await walk(failingWith("NOT_FOUND"))).toEqual([10, 20, 21, 30]);
    expect(await walk(failingWith("PEER_FAILED"))).toEqual([10, 20, 21, 30, "PEER_FAILED"]);
    expect(await walk(failingWith("PEER_UNAVAILABLE"))).toEqual([10, "PEER_UNAVAILABLE"]);
  });

  test("yields a socket that the peer fails to read with its owner and the reason", async () => {
    const peer: Source = {
      ...peerWith({ servers: [{ id: 1n, sockets: [11n] }] }),
      getSocket: async () => {
        throw new ChannelzError("PEER_FAILED", "internal");
      },
    };
    expect(await collect(walkAllSockets(peer))).toMatchObject([
      { ref: { socketId: 11n }, owner: { role: "server", id: 1n }, unreadable: { message: "internal" } },
    ]);
  });

  test("[CZ-D-SUMMARY-1] reads sockets in full unless a summary is requested, and passes the signal to every read", async () => {
    const peer = peerWith({ servers: [{ id: 1n, sockets: [11n] }], top: [channel(2)] });
    const { signal } = new AbortController();
    const reads: [string, AbortSignal | undefined, boolean | undefined][] = [];
    const recording = new Proxy<Source>(peer, {
      get: (target, name: keyof Source) => {
        return (...args: unknown[]) => {
          const options = args.at(-1) as { signal?: AbortSignal; summary?: boolean };
          reads.push([name, options.signal, options.summary]);
          return Reflect.apply(target[name] as (...all: unknown[]) => unknown, target, args);
        };
      },
    });
    await collect(walkAllSockets(recording, { signal }));
    await collect(walkAllSockets(recording, { signal, summary: true, serverId: 1n }));
    // In which order they overlap does not matter.
    const expected = [
      ["getServers", signal, undefined],
      ["getServerSockets", signal, undefined],
      ["getTopChannels", signal, undefined],
      ["getSocket", signal, false],
      ["getServer", signal, undefined],
      ["getServerSockets", signal, undefined],
      ["getSocket", signal, true],
    ];
    expect(reads).toHaveLength(expected.length);
    expect(reads).toEqual(expect.arrayContaining(expected));
  });

  test("[CZ-D-CLIENT-7] reads as many objects as the limit allows, and fails with LIMIT_REACHED at the next one", async () => {
    const peer = peerWith({ top: [channel(1), channel(2)], servers: [{ id: 3n, listen: [4n], sockets: [5n] }] });
    const tooMany = { code: "LIMIT_REACHED" };
    expect(await collect(walkTopChannels(peer, { maxObjects: 2 }))).toHaveLength(2);
    await expect(collect(walkTopChannels(peer, { maxObjects: 1 }))).rejects.toMatchObject(tooMany);
    const one = peerWith({ servers: [{ id: 3n, listen: [4n], sockets: [5n] }] });
    expect(await collect(walkSocketRefs(one, { maxObjects: 2 }))).toHaveLength(2);
    await expect(collect(walkSocketRefs(one, { maxObjects: 1 }))).rejects.toMatchObject(tooMany);
  });

  test("does not look up a ref of a channel or subchannel without an id", async () => {
    const peer = peerWith({ top: [channel(1, { channelRef: [{ name: "a" }], subchannelRef: [{ name: "b" }] })] });
    expect((await collect(walkAllChannels(peer))).map(({ id }) => id)).toEqual([1n]);
    expect(peer.failedReads).toBe(0);
  });

  test("ignores a socket ref without an id", async () => {
    const peer = peerWith({ top: [channel(1, { socketRef: socketRefs(0, 7) })] });
    expect((await collect(walkSocketRefs(peer))).map(({ ref }) => ref.socketId)).toEqual([7n]);
  });

  test("[CZ-D-CLIENT-7] stops an endless list at the limit", async () => {
    const peer: Source = {
      ...peerWith({}),
      getTopChannels: async ({ startId = 0n } = {}) =>
        create(GetTopChannelsResponseSchema, {
          channel: Array.from({ length: 1000 }, (_, index) => channel(Number(startId) + index + 1)),
        }),
    };
    await expect(collect(walkTopChannels(peer))).rejects.toMatchObject({ code: "LIMIT_REACHED" });
    await expect(collect(walkTopChannels(peer, { maxObjects: 5 }))).rejects.toMatchObject({ code: "LIMIT_REACHED" });
  });
});

describe("mapBounded", () => {
  test("runs at most the given number of tasks at a time, and keeps the order of the results", async () => {
    let atWork = 0;
    let most = 0;
    const results = await collect(
      mapBounded([5, 1, 3, 2, 4], 2, async (n) => {
        atWork += 1;
        most = Math.max(most, atWork);
        for (let turn = 0; turn < n; turn += 1) await Promise.resolve();
        atWork -= 1;
        return n * 10;
      }),
    );
    expect(results).toEqual([50, 10, 30, 20, 40]);
    expect(most).toBe(2);
  });

  test("starts no further task until one has ended", async () => {
    const begun: number[] = [];
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const results = mapBounded([1, 2, 3, 4], 2, async (n) => {
      begun.push(n);
      await released;
      return n;
    });
    const next = results.next();
    // By then all that can happen without the release has happened.
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual([1, 2]);
    release();
    expect(await next).toEqual({ value: 1, done: false });
    expect(await collect(results)).toEqual([2, 3, 4]);
  });

  test("closes the source if the caller stops early", async () => {
    let isClosed = false;
    async function* endless(): AsyncGenerator<number> {
      try {
        for (let n = 0; ; n += 1) yield n;
      } finally {
        isClosed = true;
      }
    }
    for await (const n of mapBounded(endless(), 2, async (one) => one)) if (n === 3) break;
    expect(isClosed).toBe(true);
  });
});
