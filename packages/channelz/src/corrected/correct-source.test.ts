import { create, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { channel, type FixedPeer, peerWith, socketRefs, subchannel } from "../client/fixed-peer.test.helper.js";
import { mergeSources } from "../client/merge-sources.js";
import { walkTopChannels } from "../client/walk.js";
import { type CorrectionId, carryCorrections, correctionsOf, markCorrected } from "../correction-marks.js";
import { ChannelzError } from "../errors.js";
import {
  GetChannelResponseSchema,
  GetServerSocketsResponseSchema,
  GetServersResponseSchema,
  GetSocketResponseSchema,
  GetSubchannelResponseSchema,
  GetTopChannelsResponseSchema,
  type SocketDataSchema,
  SocketSchema,
  ChannelConnectivityState_State as State,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { grantedWindow } from "../own-connection.js";
import { createRegistry } from "../registry/registry.js";
import type { ReadOptions, Source } from "../source.js";
import { createSocketCorrector } from "./correct-socket.js";
import { correctSource } from "./correct-source.js";
import { corrections } from "./correction-table.js";

const year1 = { seconds: -62135596800n };
const epoch = { seconds: 0n };
const now = { seconds: 1_800_000_000n };
const own = () => ({ localPort: 4000, grantedWindow, requests: 5 });

const idsOf = (message: object): CorrectionId[] => correctionsOf(message).map(({ id }) => id);

/** A peer with one server, whose only socket is the peer's end of our own connection, and a client socket 2. */
function peerWithSockets(
  windows: (id: bigint) => MessageInitShape<typeof SocketDataSchema>,
  remotePort = 4000,
): FixedPeer {
  return {
    ...peerWith({ servers: [{ id: 9n, sockets: [1n] }] }),
    async getSocket(id) {
      const remote = {
        address: { case: "tcpipAddress", value: { ipAddress: new Uint8Array(4), port: remotePort } },
      } as const;
      return create(GetSocketResponseSchema, {
        socket: { ref: { socketId: BigInt(id) }, data: windows(BigInt(id)), ...(id === 1n ? { remote } : {}) },
      });
    },
  };
}

describe("times that were never set", () => {
  test("[CZ-D-CORRECT-1] leaves them out, with a mark of what the peer sent", async () => {
    const data = { lastCallStartedTimestamp: epoch, trace: { creationTimestamp: now, events: [{ timestamp: year1 }] } };
    const peer = peerWith({ top: [channel(1, { data })] });
    const { channel: corrected } = await correctSource(peer).getChannel(1);
    expect(corrected?.data?.lastCallStartedTimestamp).toBeUndefined();
    expect(corrected?.data?.trace?.creationTimestamp?.seconds).toBe(now.seconds);
    expect(corrected?.data?.trace?.events[0]?.timestamp).toBeUndefined();
    expect(correctionsOf(corrected ?? {})).toEqual([
      { id: "unset-times", detail: "last_call_started_timestamp was 1970-01-01T00:00:00.000Z" },
      { id: "unset-times", detail: "the timestamp of a trace event was 0001-01-01T00:00:00.000Z" },
    ]);
  });

  test("leaves them out of lists, subchannels, servers and sockets as well, and does not change the peer's messages", async () => {
    const data = { lastCallStartedTimestamp: epoch };
    const server = create(GetServersResponseSchema, { server: [{ ref: { serverId: 3n }, data }], end: true });
    const peer: Source = {
      ...peerWithSockets(() => ({ lastMessageSentTimestamp: { seconds: 5n }, lastMessageReceivedTimestamp: now })),
      getTopChannels: async () => create(GetTopChannelsResponseSchema, { channel: [channel(1, { data })], end: true }),
      getServers: async () => server,
      getSubchannel: async () => create(GetSubchannelResponseSchema, { subchannel: subchannel(2, { data }) }),
    };
    const source = correctSource(peer);
    const found = [
      (await source.getTopChannels()).channel[0],
      (await source.getServers()).server[0],
      (await source.getSubchannel(2)).subchannel,
      (await source.getSocket(4)).socket,
    ];
    for (const object of found) expect(idsOf(object ?? {})).toEqual(["unset-times"]);
    expect(found[3]?.data).toMatchObject({ lastMessageReceivedTimestamp: { seconds: now.seconds } });
    expect(server.server[0]?.data?.lastCallStartedTimestamp).toBeDefined();
  });
});

test("returns a socket as it is if the peer takes too long for what would prove a deviation", async () => {
  const silent = (_: unknown, { signal }: ReadOptions = {}) =>
    new Promise<never>((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  const data = {
    streamsStarted: 5n,
    lastLocalStreamCreatedTimestamp: now,
    localFlowControlWindow: 10n,
    remoteFlowControlWindow: 20n,
  };
  const peer: Source = { ...peerWithSockets(() => data), getServers: silent, getTopChannels: silent };
  const socket = create(SocketSchema, { ref: { socketId: 2n }, data });
  expect(await createSocketCorrector(peer, own, 10).correct(socket, {})).toEqual({ socket, applied: [] });
});

describe("flow-control windows", () => {
  const swapped = (id: bigint) =>
    id === 1n
      ? { localFlowControlWindow: 65_535n, remoteFlowControlWindow: BigInt(grantedWindow) - 100n }
      : { localFlowControlWindow: 10n, remoteFlowControlWindow: 20n };

  test("[CZ-D-CORRECT-2] exchanges them if the peer reports what our connection granted as its remote window", async () => {
    const { socket } = await correctSource(peerWithSockets(swapped), { ownConnection: own }).getSocket(2);
    expect(socket?.data).toMatchObject({ localFlowControlWindow: 20n, remoteFlowControlWindow: 10n });
    expect(correctionsOf(socket ?? {})).toEqual([
      {
        id: "swapped-windows",
        detail: "the remote window as local_flow_control_window, and the local one as remote_flow_control_window",
      },
    ]);
  });

  test("describes the same correction with the same text when the windows change, so that recordings stay small", async () => {
    let window = 0n;
    const moving = (id: bigint) => ({ ...swapped(id), ...(id === 1n ? {} : { localFlowControlWindow: ++window }) });
    const source = correctSource(peerWithSockets(moving), { ownConnection: own });
    const [first, second] = [(await source.getSocket(2)).socket, (await source.getSocket(2)).socket];
    expect(first?.data?.remoteFlowControlWindow).not.toBe(second?.data?.remoteFlowControlWindow);
    expect(correctionsOf(second ?? {})).toEqual(correctionsOf(first ?? {}));
  });

  test("exchanges them also if one of them is absent", async () => {
    const peer = peerWithSockets((id) => (id === 1n ? swapped(1n) : { localFlowControlWindow: 10n }));
    const { socket } = await correctSource(peer, { ownConnection: own }).getSocket(2);
    expect(socket?.data?.localFlowControlWindow).toBeUndefined();
    expect(socket?.data?.remoteFlowControlWindow).toBe(10n);
  });

  test.each([
    [
      "the peer reports them right",
      () => ({ localFlowControlWindow: BigInt(grantedWindow), remoteFlowControlWindow: 20n }),
      own,
      4000,
    ],
    [
      "both could be ours",
      () => ({ localFlowControlWindow: BigInt(grantedWindow), remoteFlowControlWindow: BigInt(grantedWindow) - 1n }),
      own,
      4000,
    ],
    ["neither is ours", () => ({ localFlowControlWindow: 10n, remoteFlowControlWindow: 20n }), own, 4000],
    ["our connection is not among its sockets", swapped, own, 4001],
    ["our connection is unknown", swapped, undefined, 4000],
    ["our connection is closed", swapped, () => undefined, 4000],
  ])("leaves them as they are if %s", async (_, windows, ownConnection, port) => {
    const { socket } = await correctSource(peerWithSockets(windows, port), { ownConnection }).getSocket(2);
    expect(socket?.data).toMatchObject(windows(2n));
    expect(correctionsOf(socket ?? {})).toEqual([]);
  });
});

describe("pages", () => {
  /** As gRPC's C++ core does, it ignores max_results. */
  const unbounded = (ids: readonly number[]): Source => ({
    ...peerWith({}),
    async getTopChannels({ startId = 0 } = {}) {
      const rest = ids.filter((id) => id >= Number(startId)).map((id) => channel(id));
      return create(GetTopChannelsResponseSchema, { channel: rest, end: true });
    },
  });

  test("[CZ-D-CORRECT-3] walks all channels once at every page size of a peer that ignores max_results", async () => {
    const setOfIds = fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(setOfIds, fc.integer({ min: 1, max: 10 }), async (ids, pageSize) => {
        const source = correctSource(unbounded(ids));
        const first = await source.getTopChannels({ maxResults: pageSize });
        expect(first.channel.length).toBe(Math.min(ids.length, pageSize));
        expect(idsOf(first)).toEqual(ids.length > pageSize ? ["page-size"] : []);
        const walked: number[] = [];
        for await (const { ref } of walkTopChannels(source, { pageSize })) walked.push(Number(ref?.channelId));
        expect(walked).toEqual([...ids].sort((a, b) => a - b));
      }),
      { numRuns: 50 },
    );
  });

  test("[CZ-D-CORRECT-3] ends a list at an empty page that does not set end", async () => {
    const peer: Source = { ...peerWith({}), getServerSockets: async () => create(GetServerSocketsResponseSchema, {}) };
    const page = await correctSource(peer).getServerSockets(1);
    expect(page.end).toBe(true);
    expect(idsOf(page)).toEqual(["missing-end"]);
  });
});

describe("failed lookups", () => {
  const failing = async (): Promise<never> => {
    throw new ChannelzError("PEER_FAILED", "internal");
  };

  test("[CZ-D-CORRECT-4] reports NOT_FOUND if the peer's lists lack the server or have the id as another kind", async () => {
    const applied: string[] = [];
    const peer = {
      ...peerWith({ top: [channel(1)], servers: [{ id: 5n }] }),
      getServer: failing,
      getServerSockets: failing,
      getSubchannel: failing,
    };
    const source = correctSource(peer, { onCorrection: ({ id, detail }) => applied.push(`${id}: ${detail}`) });
    await expect(source.getServer(7)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(source.getServerSockets(7)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(source.getSubchannel(1)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(applied).toEqual([
      "not-found: server 7: its list of servers lacks it",
      "not-found: server 7: its list of servers lacks it",
      "not-found: subchannel 1: that id is a channel",
    ]);
  });

  test("reports the failure itself if the object exists, nothing is proven, or the lists fail too", async () => {
    const peer = { ...peerWith({ servers: [{ id: 5n }] }), getServer: failing, getSubchannel: failing };
    const source = correctSource(peer);
    await expect(source.getServer(5)).rejects.toMatchObject({ code: "PEER_FAILED" });
    await expect(source.getSubchannel(77)).rejects.toMatchObject({ code: "PEER_FAILED" });
    const silent = correctSource({ ...peer, getServers: failing });
    await expect(silent.getServer(7)).rejects.toMatchObject({ code: "PEER_FAILED", message: "internal" });
  });
});

describe("streams that a peer lost", () => {
  const counters = { streamsStarted: 3n, streamsSucceeded: 1n, lastLocalStreamCreatedTimestamp: now };
  const parent = (calls: { callsStarted: bigint; callsSucceeded: bigint; callsFailed: bigint }) =>
    create(GetSubchannelResponseSchema, {
      subchannel: subchannel(6, { socketRef: socketRefs(2), data: calls }),
    });

  test("[CZ-D-CORRECT-5] counts them as failed if the subchannel of the socket has no call in progress", async () => {
    const top = [channel(5, { subchannelRef: [{ subchannelId: 6n }] })];
    const peer: Source = {
      ...peerWith({ top }),
      getSocket: peerWithSockets(() => counters).getSocket,
      getSubchannel: async () => parent({ callsStarted: 3n, callsSucceeded: 1n, callsFailed: 2n }),
    };
    const source = correctSource(peer);
    const { socket } = await source.getSocket(2);
    expect(socket?.data?.streamsFailed).toBe(2n);
    expect(correctionsOf(socket ?? {})).toEqual([
      {
        id: "lost-cancels",
        detail: "streams_failed without 2 streams that have ended: subchannel 6 has no call in progress",
      },
    ]);
  });

  test("[CZ-D-CORRECT-5] leaves the long-lived streams of our own process alone, whose subchannel has no call in progress", async () => {
    const registry = createRegistry();
    const subchannel = registry.addSubchannel({ parent: registry.addChannel({ target: "t" }), target: "t" });
    const socket = registry.addSocket({ parent: subchannel });
    socket.localStreamStarted();
    subchannel.callStarted();
    subchannel.callSucceeded();
    const source = correctSource(registry);
    const [channel] = (await source.getTopChannels()).channel;
    await source.getSubchannel(channel?.subchannelRef[0]?.subchannelId ?? 0n);
    expect((await source.getSocket(3)).socket?.data).toMatchObject({ streamsStarted: 1n, streamsFailed: 0n });
  });

  test("counts none while a call is in progress, if one began meanwhile, or if the parent is unknown", async () => {
    const busy = { callsStarted: 3n, callsSucceeded: 1n, callsFailed: 1n };
    let calls = 2n;
    const growing = () => {
      calls += 1n;
      return { callsStarted: calls, callsSucceeded: calls, callsFailed: 0n };
    };
    for (const data of [() => busy, growing]) {
      const peer: Source = { ...peerWithSockets(() => counters), getSubchannel: async () => parent(data()) };
      const source = correctSource(peer);
      expect((await source.getSocket(2)).socket?.data?.streamsFailed).toBe(0n);
      await source.getSubchannel(6);
      expect((await source.getSocket(2)).socket?.data?.streamsFailed).toBe(0n);
    }
  });
});

describe("nested channels", () => {
  const event = (id: bigint) => ({ childRef: { case: "channelRef", value: { channelId: id } } as const });

  test("[CZ-D-CORRECT-6] adds those that the trace names, that are open, and that the refs lack", async () => {
    const trace = { events: [event(2n), event(3n), event(4n), event(5n)] };
    const peer: Source = {
      ...peerWith({}),
      async getChannel(id) {
        if (id === 1) {
          const data = { trace };
          return create(GetChannelResponseSchema, { channel: channel(1, { channelRef: [{ channelId: 2n }], data }) });
        }
        if (id === 5n) throw new ChannelzError("NOT_FOUND", "gone");
        const state = { state: id === 4n ? State.SHUTDOWN : State.READY };
        return create(GetChannelResponseSchema, { channel: channel(Number(id), { data: { state } }) });
      },
    };
    const { channel: corrected } = await correctSource(peer).getChannel(1);
    expect(corrected?.channelRef.map(({ channelId }) => channelId)).toEqual([2n, 3n]);
    expect(correctionsOf(corrected ?? {})).toEqual([
      { id: "nested-channels", detail: "only the trace names channel 3" },
    ]);
  });
});

test("[CZ-D-CORRECT-7] changes nothing that a right peer sends, and marks nothing", async () => {
  const data = { callsStarted: 1n, lastCallStartedTimestamp: now };
  const peer = peerWith({
    top: [channel(1, { subchannelRef: [{ subchannelId: 2n }], data })],
    subchannels: [subchannel(2, { socketRef: socketRefs(3) })],
    servers: [{ id: 4n, listen: [5n], sockets: [6n] }],
  });
  const applied: unknown[] = [];
  const source = correctSource(peer, { ownConnection: own, onCorrection: (each) => applied.push(each) });
  expect(await source.getTopChannels({ maxResults: 1 })).toEqual(await peer.getTopChannels({ maxResults: 1 }));
  expect(await source.getServers()).toEqual(await peer.getServers());
  expect(await source.getServer(4)).toEqual(await peer.getServer(4));
  expect(await source.getServerSockets(4)).toEqual(await peer.getServerSockets(4));
  expect(await source.getChannel(1)).toEqual(await peer.getChannel(1));
  expect(await source.getSubchannel(2)).toEqual(await peer.getSubchannel(2));
  expect(await source.getSocket(3)).toEqual(await peer.getSocket(3));
  expect(applied).toEqual([]);
});

test("carries the marks of a message to a message that is made from it", () => {
  const [from, to] = [{}, {}];
  markCorrected(from, [{ id: "unset-times", detail: "it was 1970" }]);
  carryCorrections(from, to);
  carryCorrections(from, from);
  expect(idsOf(from)).toEqual(["unset-times"]);
  expect(correctionsOf(to)).toEqual(correctionsOf(from));
});

test("describes each correction with the rules that a peer breaks and with what proves it", () => {
  expect(new Set(corrections.map(({ id }) => id)).size).toBe(corrections.length);
  for (const { rules, peers, evidence, title } of corrections) {
    expect(rules.length).toBeGreaterThan(0);
    for (const text of [peers, evidence, title]) expect(text).not.toBe("");
  }
});

test("[CZ-D-CORRECT-7] keeps the marks of an object when several sources are merged", async () => {
  const peer = peerWith({ top: [channel(1, { data: { lastCallStartedTimestamp: epoch } })] });
  const merged = mergeSources([{ origin: "a", target: "a:1", source: correctSource(peer) }]);
  const [listed] = (await merged.getTopChannels()).channel;
  const { channel: read } = await merged.getChannel(listed?.ref?.channelId ?? 0n);
  expect(idsOf(listed ?? {})).toEqual(["unset-times"]);
  expect(idsOf(read ?? {})).toEqual(["unset-times"]);
});

describe("a hostile peer", () => {
  test("does not multiply the reads by lookups that fail, or by pages of sockets that never end", async () => {
    let reads = 0;
    const peer: Source = {
      ...peerWithSockets((id) => ({ localFlowControlWindow: id, remoteFlowControlWindow: 0n }), 1),
      async getServers() {
        reads += 1;
        return create(GetServersResponseSchema, { server: [{ ref: { serverId: 9n } }], end: true });
      },
      async getServerSockets(_, { startId = 0 } = {}) {
        reads += 1;
        return create(GetServerSocketsResponseSchema, { socketRef: [{ socketId: BigInt(startId) + 1n }] });
      },
      getServer: async () => {
        throw new ChannelzError("PEER_FAILED", "internal");
      },
    };
    const source = correctSource(peer, { ownConnection: own });
    for (let id = 1; id <= 100; id += 1) {
      await expect(source.getServer(id)).rejects.toBeInstanceOf(ChannelzError);
      await source.getSocket(id);
    }
    expect(reads).toBeLessThan(250);
  });

  test("does not multiply the reads by children that only its traces name", async () => {
    let reads = 0;
    const events = Array.from({ length: 50 }, (_, at) => ({
      childRef: { case: "channelRef", value: { channelId: BigInt(at + 5000) } } as const,
    }));
    const top = Array.from({ length: 100 }, (_, at) => channel(at + 1, { data: { trace: { events } } }));
    const peer: Source = {
      ...peerWith({ top }, 100),
      getChannel: async () => {
        reads += 1;
        throw new ChannelzError("NOT_FOUND", "gone");
      },
    };
    expect((await correctSource(peer).getTopChannels()).channel).toHaveLength(100);
    expect(reads).toBeLessThanOrEqual(256);
  });
});
