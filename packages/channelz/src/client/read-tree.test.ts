import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import {
  GetChannelResponseSchema,
  GetServerSocketsResponseSchema,
  GetServersResponseSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Source } from "../source.js";
import { channel, peerWith, socketRefs, subchannel, type World } from "./fixed-peer.test.helper.js";
import { readTree } from "./read-tree.js";
import type { TreeNode } from "./tree.js";
import { deepestLevel } from "./walk.js";

const outline = (nodes: readonly TreeNode[]): unknown[] =>
  nodes.map((node) => [
    `${node.kind} ${node.id}${node.cut ? ` ${node.cut}` : ""}`,
    ...(node.children.length > 0 ? [outline(node.children)] : []),
  ]);

describe("readTree", () => {
  test("shows channels down to their sockets, and servers with theirs", async () => {
    const peer = peerWith({
      top: [channel(1, { subchannelRef: [{ subchannelId: 2n }] })],
      subchannels: [subchannel(2, { socketRef: socketRefs(3) })],
      servers: [{ id: 4n, listen: [5n], sockets: [6n] }],
    });
    const tree = await readTree(peer);
    expect(outline(tree.channels)).toEqual([["channel 1", [["subchannel 2", [["socket 3"]]]]]]);
    expect(outline(tree.servers)).toEqual([["server 4", [["socket 5"], ["socket 6"]]]]);
    expect(tree.servers[0]?.children).toMatchObject([{ role: "listen" }, { role: "server" }]);
    expect(tree.servers[0]?.children[1]?.object).toMatchObject({ ref: { name: "socket 6" } });
  });

  test("[CZ-CHANNEL-5] shows a child under each of its parents, but expands it under only one", async () => {
    const shared = { subchannelRef: [{ subchannelId: 3n }] };
    const peer = peerWith({
      top: [channel(1, shared), channel(2, shared)],
      subchannels: [subchannel(3, { socketRef: socketRefs(4) })],
    });
    expect(outline((await readTree(peer)).channels)).toEqual([
      ["channel 1", [["subchannel 3", [["socket 4"]]]]],
      ["channel 2", [["subchannel 3 repeated"]]],
    ]);
  });

  test("expands a child below its parent nearest to the top, even if a deeper one comes first", async () => {
    const peer = peerWith({
      top: [channel(1, { channelRef: [{ channelId: 3n }] }), channel(2, { channelRef: [{ channelId: 4n }] })],
      channels: [channel(3, { channelRef: [{ channelId: 4n }] }), channel(4, { socketRef: socketRefs(5) })],
    });
    expect(outline((await readTree(peer)).channels)).toEqual([
      ["channel 1", [["channel 3", [["channel 4 repeated"]]]]],
      ["channel 2", [["channel 4", [["socket 5"]]]]],
    ]);
  });

  test("builds a tree no larger than the graph for a lattice of channels", async () => {
    const levels = 40;
    const lattice = Array.from({ length: levels }, (_, level) =>
      [2, 3].map((n) => {
        const below = [2, 3].map((m) => ({ channelId: BigInt((level + 1) * 2 + m) }));
        return channel(level * 2 + n, { channelRef: level < levels - 1 ? below : [] });
      }),
    ).flat();
    const peer = peerWith({
      top: [channel(1, { channelRef: [{ channelId: 2n }, { channelId: 3n }] })],
      channels: lattice,
    });
    const count = (nodes: readonly TreeNode[]): number =>
      nodes.reduce((sum, node) => sum + 1 + count(node.children), 0);
    expect(count((await readTree(peer)).channels)).toBe(1 + 2 + 4 * (levels - 1));
  });

  test("shows where a cycle closes", async () => {
    const peer = peerWith({
      top: [channel(1, { channelRef: [{ channelId: 2n }] })],
      channels: [channel(2, { channelRef: [{ channelId: 1n }] })],
    });
    expect(outline((await readTree(peer)).channels)).toEqual([
      ["channel 1", [["channel 2", [["channel 1 repeated"]]]]],
    ]);
  });

  test("cuts off more objects than allowed, and says so", async () => {
    const peer = peerWith({
      top: [channel(1, { subchannelRef: [{ subchannelId: 2n }, { subchannelId: 3n }] })],
      subchannels: [subchannel(2), subchannel(3)],
    });
    const tree = await readTree(peer, { maxObjects: 2 });
    expect(tree.isComplete).toBe(false);
    expect(outline(tree.channels)).toEqual([["channel 1", [["subchannel 2"], ["subchannel 3 limit"]]]]);
  });

  test("reads no socket if only refs are requested", async () => {
    const peer: Source = {
      ...peerWith({ servers: [{ id: 1n, sockets: [2n] }] }),
      getSocket: () => Promise.reject(new Error("read a socket")),
    };
    const tree = await readTree(peer, { sockets: "refs" });
    expect(outline(tree.servers)).toEqual([["server 1", [["socket 2"]]]]);
  });

  test("reads each socket once and as a summary, and passes the signal to every read", async () => {
    const peer = peerWith({
      top: [channel(1, { subchannelRef: [{ subchannelId: 2n }], socketRef: socketRefs(0, 5) })],
      subchannels: [subchannel(2, { channelRef: [{ channelId: 3n }], socketRef: socketRefs(5) })],
      channels: [channel(3)],
      servers: [{ id: 4n, sockets: [5n, 6n] }],
    });
    const { signal } = new AbortController();
    const reads: unknown[] = [];
    const recording = new Proxy<Source>(peer, {
      get: (target, name: keyof Source) => {
        return (...args: unknown[]) => {
          const options = args.at(-1) as { signal?: AbortSignal; summary?: boolean };
          reads.push([name, options.signal === signal, options.summary]);
          return Reflect.apply(target[name] as (...all: unknown[]) => unknown, target, args);
        };
      },
    });
    const tree = await readTree(recording, { signal });
    expect(reads).toEqual([
      ["getTopChannels", true, undefined],
      ["getSubchannel", true, undefined],
      ["getChannel", true, undefined],
      ["getServers", true, undefined],
      ["getServerSockets", true, undefined],
      ["getSocket", true, true],
      ["getSocket", true, true],
    ]);
    expect(tree).toMatchObject({ isComplete: true, stoppedBy: undefined });
    expect(outline(tree.channels)).toEqual([
      ["channel 1", [["subchannel 2", [["channel 3"], ["socket 5"]]], ["socket 5 repeated"]]],
    ]);
    expect(outline(tree.servers)).toEqual([["server 4", [["socket 5 repeated"], ["socket 6"]]]]);
  });

  test("gives each node its kind, id, name, object and role", async () => {
    const peer = peerWith({
      top: [channel(1, { channelRef: [{ channelId: 1n, name: "again" }], socketRef: [{ socketId: 2n, name: "s" }] })],
    });
    const servers = [{ ref: { serverId: 3n, name: "api" } }, {}];
    const { channels, servers: ofServers } = await readTree({
      ...peer,
      getServers: async () => create(GetServersResponseSchema, { server: servers, end: true }),
      getServerSockets: async () => create(GetServerSocketsResponseSchema, { end: true }),
    });
    expect(channels).toEqual([
      {
        kind: "channel",
        id: 1n,
        name: "channel 1",
        object: expect.objectContaining({ $typeName: "rpc.channelz.v1.Channel" }),
        children: [
          { kind: "channel", id: 1n, name: "again", cut: "repeated", children: [] },
          {
            kind: "socket",
            id: 2n,
            name: "s",
            role: "client",
            object: expect.objectContaining({ $typeName: "rpc.channelz.v1.Socket" }),
            children: [],
          },
        ],
      },
    ]);
    expect(ofServers).toEqual([
      {
        kind: "server",
        id: 3n,
        name: "api",
        object: expect.objectContaining({ $typeName: "rpc.channelz.v1.Server" }),
        children: [],
      },
    ]);
  });

  test("[CZ-D-CLIENT-6] shows what the peer fails to read with the reason, and everything else in full", async () => {
    const world: World = {
      top: [
        channel(1, {
          channelRef: [{ channelId: 3n, name: "billing" }],
          subchannelRef: [{ subchannelId: 2n, name: "orders" }],
          socketRef: socketRefs(4, 5),
        }),
      ],
      servers: [
        { id: 6n, listen: [7n], sockets: [8n] },
        { id: 9n, sockets: [10n] },
      ],
    };
    const peer = peerWith(world);
    const fail = async (): Promise<never> => {
      throw new ChannelzError("PEER_FAILED", "internal");
    };
    const tree = await readTree({
      ...peer,
      getChannel: fail,
      getSubchannel: fail,
      getSocket: (id) => (id === 4n ? fail() : peer.getSocket(id)),
      getServerSockets: (id, request) => (id === 6n ? fail() : peer.getServerSockets(id, request)),
    });
    expect(tree).toMatchObject({ isComplete: true, stoppedBy: undefined });
    const unreadable = expect.objectContaining({ code: "PEER_FAILED" });
    expect(tree.channels[0]?.children).toEqual([
      { kind: "channel", id: 3n, name: "billing", unreadable, children: [] },
      { kind: "subchannel", id: 2n, name: "orders", unreadable, children: [] },
      { kind: "socket", id: 4n, name: "", role: "client", unreadable, children: [] },
      expect.objectContaining({ id: 5n, object: expect.objectContaining({ ref: expect.anything() }) }),
    ]);
    expect(tree.servers).toMatchObject([
      { id: 6n, unreadable: { code: "PEER_FAILED" }, object: {}, children: [{ id: 7n, role: "listen" }] },
      { id: 9n, children: [{ id: 10n, role: "server" }] },
    ]);
    expect(tree.servers[1]).not.toHaveProperty("unreadable");
  });

  test("leaves out what closed since it was listed", async () => {
    const peer = peerWith({
      top: [
        channel(1, {
          channelRef: [{ channelId: 2n }],
          subchannelRef: [{ subchannelId: 3n }],
          socketRef: socketRefs(4),
        }),
      ],
      vanished: [4n],
    });
    const tree = await readTree(peer);
    expect(outline(tree.channels)).toEqual([["channel 1"]]);
    expect(tree.isComplete).toBe(true);
  });

  test("marks where an endless chain of channels exceeds the deepest level", async () => {
    const peer: Source = {
      ...peerWith({ top: [channel(1, { channelRef: [{ channelId: 2n }] })] }),
      getChannel: async (id) =>
        create(GetChannelResponseSchema, {
          channel: channel(Number(id), { channelRef: [{ channelId: BigInt(id) + 1n }] }),
        }),
    };
    let node = (await readTree(peer)).channels[0];
    for (let depth = 0; depth <= deepestLevel; depth += 1) {
      expect(node).toMatchObject({ id: BigInt(depth + 1), object: {} });
      expect(node?.children).toHaveLength(1);
      node = node?.children[0];
    }
    expect(node).toMatchObject({ id: BigInt(deepestLevel + 2), cut: "depth", children: [] });
  });

  test("[CZ-D-CLIENT-7] reads as many channels, servers and sockets as the limit allows, each counted separately", async () => {
    const peer = peerWith({
      top: [channel(1, { subchannelRef: [{ subchannelId: 2n }], socketRef: socketRefs(5) })],
      subchannels: [subchannel(2)],
      servers: [{ id: 3n, listen: [6n] }, { id: 4n }],
    });
    expect(await readTree(peer, { maxObjects: 2 })).toMatchObject({ isComplete: true });
    const cut = await readTree(peer, { maxObjects: 1 });
    expect(cut).toMatchObject({ isComplete: false, stoppedBy: { code: "LIMIT_REACHED" } });
    expect(outline(cut.channels)).toEqual([["channel 1", [["subchannel 2 limit"], ["socket 5"]]]]);
    expect(outline(cut.servers)).toEqual([["server 3"]]);
  });

  test("[CZ-D-CLIENT-7] marks the sockets beyond the limit", async () => {
    const peer = peerWith({ top: [channel(1, { socketRef: socketRefs(2, 3) }), channel(4)] });
    const tree = await readTree(peer, { maxObjects: 2 });
    expect(tree.isComplete).toBe(true);
    const three = peerWith({ top: [channel(1, { socketRef: socketRefs(2, 3, 2, 5) })] });
    expect(outline((await readTree(three, { maxObjects: 2 })).channels)).toEqual([
      ["channel 1", [["socket 2"], ["socket 3"], ["socket 2 repeated"], ["socket 5 limit"]]],
    ]);
  });

  test("[CZ-D-CLIENT-7] stops at a server whose sockets cannot be read because the peer cannot be reached", async () => {
    const peer: Source = {
      ...peerWith({ servers: [{ id: 1n, listen: [2n] }, { id: 3n }] }),
      getServerSockets: () => Promise.reject(new ChannelzError("PEER_UNAVAILABLE", "gone")),
    };
    const tree = await readTree(peer);
    expect(tree).toMatchObject({ isComplete: false, stoppedBy: { code: "PEER_UNAVAILABLE" } });
    expect(outline(tree.servers)).toEqual([["server 1", [["socket 2"]]]]);
    expect(tree.servers[0]).not.toHaveProperty("unreadable");
  });

  test("returns an empty tree for a process without objects, and the channels of one whose servers cannot be read", async () => {
    expect(await readTree(peerWith({}))).toEqual({ channels: [], servers: [], isComplete: true, stoppedBy: undefined });
    const stoppedBy = new ChannelzError("PEER_FAILED", "internal");
    const peer = { ...peerWith({ top: [channel(1)] }), getServers: () => Promise.reject(stoppedBy) };
    const tree = await readTree(peer);
    expect(tree).toMatchObject({ isComplete: false, stoppedBy, servers: [] });
    expect(outline(tree.channels)).toEqual([["channel 1"]]);
  });

  test("rejects if nothing could be read, and with any failure that is not the peer's", async () => {
    const failing = (reason: Error): Source => ({
      ...peerWith({ servers: [{ id: 1n }] }),
      getTopChannels: () => Promise.reject(reason),
    });
    const unavailable = new ChannelzError("PEER_UNAVAILABLE", "gone");
    const tree = await readTree(failing(unavailable));
    expect(tree).toMatchObject({ isComplete: false, stoppedBy: unavailable });
    expect(outline(tree.servers)).toEqual([["server 1"]]);
    const nothing = {
      ...failing(unavailable),
      getServers: () => Promise.reject(new ChannelzError("PEER_FAILED", "b")),
    };
    await expect(readTree(nothing)).rejects.toBe(unavailable);
    const defect = new RangeError("a defect");
    await expect(readTree(failing(defect))).rejects.toBe(defect);
  });

  test("reads at most as many sockets at a time as the given concurrency", async () => {
    let underway = 0;
    let peak = 0;
    const peer = peerWith({ servers: [{ id: 1n, sockets: [2n, 3n, 4n, 5n, 6n] }] });
    const slow: Source = {
      ...peer,
      getSocket: async (id) => {
        underway += 1;
        peak = Math.max(peak, underway);
        await new Promise((resolve) => setImmediate(resolve));
        underway -= 1;
        return await peer.getSocket(id);
      },
    };
    await readTree(slow, { concurrency: 2 });
    expect(peak).toBe(2);
    await readTree(slow);
    expect(peak).toBe(5);
  });
});
