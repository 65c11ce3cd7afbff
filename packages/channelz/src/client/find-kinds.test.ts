import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import { findKinds } from "./find-kinds.js";
import { channel, type FixedPeer, peerWith, socketRefs, subchannel } from "./fixed-peer.test.helper.js";

/** One object of each kind and position, numbered in one sequence. */
const peerOfOneSequence = (): FixedPeer =>
  peerWith({
    top: [channel(1, { channelRef: [{ channelId: 2n }], subchannelRef: [{ subchannelId: 3n }] }), channel(20)],
    channels: [channel(2, { socketRef: socketRefs(4) })],
    subchannels: [subchannel(3, { socketRef: socketRefs(5) })],
    servers: [
      { id: 10n, listen: [11n], sockets: [12n, 13n] },
      { id: 14n, listen: [15n], sockets: [16n, 17n] },
    ],
  });

describe("findKinds", () => {
  test.each([
    [1, ["channel"]],
    [2, ["channel"]],
    [3, ["subchannel"]],
    [4, ["socket"]],
    [5, ["socket"]],
    [10, ["server"]],
    [11, ["socket"]],
    [12, ["socket"]],
    [13, ["socket"]],
    [14, ["server"]],
    [15, ["socket"]],
    [17, ["socket"]],
    [20, ["channel"]],
    [6, []],
    [9, []],
    [99, []],
  ])("finds the kind of the object %i without a read that fails at the peer", async (id, kinds) => {
    const peer = peerOfOneSequence();
    expect(await findKinds(peer, BigInt(id))).toEqual(kinds);
    expect(peer.failedReads).toBe(0);
  });

  test.each([1, 10])(
    "finds the top channel or server %i with one page of each list and the first server",
    async (id) => {
      const peer = peerOfOneSequence();
      await findKinds(peer, BigInt(id));
      expect(peer.reads).toBe(3);
    },
  );

  test("does not walk the channels for a socket of a server, and stops the walk at the ref that names the object", async () => {
    const peer = peerOfOneSequence();
    const read: bigint[] = [];
    const counting = {
      ...peer,
      getChannel: (id: bigint) => {
        read.push(id);
        return peer.getChannel(id);
      },
    };
    expect(await findKinds(counting as FixedPeer, 13n)).toEqual(["socket"]);
    expect(await findKinds(counting as FixedPeer, 3n)).toEqual(["subchannel"]);
    expect(read).toEqual([]);
  });

  test("[CZ-D-CLIENT-3] finds an object of each kind if a peer numbers each kind from 1", async () => {
    const peer = peerWith({
      top: [channel(1, { subchannelRef: [{ subchannelId: 1n }] })],
      subchannels: [subchannel(1, { socketRef: socketRefs(2) })],
      servers: [{ id: 1n, listen: [1n] }],
    });
    expect(await findKinds(peer, 1n)).toEqual(["channel", "subchannel", "server", "socket"]);
    expect(await findKinds(peer, 2n)).toEqual(["socket"]);
  });

  test("[CZ-D-CLIENT-3] looks for other kinds if the first server has the id of its listen socket, or if a channel and a server share the id", async () => {
    const children = { subchannelRef: [{ subchannelId: 5n }] };
    const subchannels = [subchannel(5)];
    const shared = peerWith({ top: [channel(5, children)], subchannels, servers: [{ id: 1n, listen: [2n, 1n] }] });
    expect(await findKinds(shared, 5n)).toEqual(["channel", "subchannel"]);
    const twice = peerWith({ top: [channel(5, children)], subchannels, servers: [{ id: 5n, listen: [6n] }] });
    expect(await findKinds(twice, 5n)).toEqual(["channel", "subchannel", "server"]);
    const single = peerWith({ top: [channel(5, children)], subchannels, servers: [{ id: 1n, listen: [2n] }] });
    expect(await findKinds(single, 5n)).toEqual(["channel"]);
  });

  test("finds the kind of a closed object while a trace names it, unless a living object has the id", async () => {
    const events = [
      { description: "Created" },
      { childRef: { case: "channelRef" as const, value: { channelId: 7n } } },
      { childRef: { case: "subchannelRef" as const, value: { subchannelId: 8n } } },
      { childRef: { case: "channelRef" as const, value: { channelId: 9n } } },
    ];
    const peer = peerWith({ top: [channel(1, { socketRef: socketRefs(9), data: { trace: { events } } })] });
    expect(await findKinds(peer, 7n)).toEqual(["channel"]);
    expect(await findKinds(peer, 8n)).toEqual(["subchannel"]);
    expect(await findKinds(peer, 9n)).toEqual(["socket"]);
    expect(await findKinds(peer, 0n)).toEqual([]);
  });

  test("[CZ-D-CLIENT-6] continues after a server whose connections the peer fails to read, or that closes", async () => {
    for (const code of ["PEER_FAILED", "NOT_FOUND"] as const) {
      const peer = peerOfOneSequence();
      const failing: FixedPeer = {
        ...peer,
        getServerSockets: async (id, ...rest) => {
          if (BigInt(id) === 10n) throw new ChannelzError(code, "No.");
          return await peer.getServerSockets(id, ...rest);
        },
      };
      expect(await findKinds(failing, 17n)).toEqual(["socket"]);
      expect(await findKinds(failing, 3n)).toEqual(["subchannel"]);
    }
  });

  test("passes the signal to every read", async () => {
    const signals: unknown[] = [];
    const peer = peerOfOneSequence();
    const { signal } = new AbortController();
    const source = new Proxy(peer, {
      get: (target, name: keyof FixedPeer) => {
        const read = target[name];
        if (typeof read !== "function") return read;
        return (...args: { signal?: unknown }[]) => {
          signals.push(args.at(-1)?.signal);
          return Reflect.apply(read, target, args);
        };
      },
    });
    expect(await findKinds(source, 99n, { signal })).toEqual([]);
    expect(signals.length).toBeGreaterThan(8);
    expect(new Set(signals)).toEqual(new Set([signal]));
  });
});
