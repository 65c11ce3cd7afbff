import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import {
  type Channel,
  ChannelSchema,
  GetChannelResponseSchema,
  GetSubchannelResponseSchema,
  ChannelTraceEvent_Severity as Severity,
  ChannelConnectivityState_State as State,
  type Subchannel,
  SubchannelSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { ReadOptions, Source } from "../source.js";
import { findFailure, isFailing, readFailure } from "./find-failure.js";
import { channel, subchannel as peerSubchannel, peerWith } from "./fixed-peer.test.helper.js";

type Event = readonly [seconds: number, description: string, severity?: Severity];

function data(events: readonly Event[]): NonNullable<MessageInitShape<typeof SubchannelSchema>["data"]> {
  return {
    trace: {
      events: events.map(([seconds, description, severity = Severity.CT_INFO]) => ({
        description,
        severity,
        ...(seconds === 0 ? {} : { timestamp: { seconds: BigInt(seconds) } }),
      })),
    },
  };
}
const subchannel = (...events: Event[]): Subchannel => create(SubchannelSchema, { data: data(events) });
const at = (seconds: number): Date => new Date(seconds * 1000);

test.each<[peer: string, events: Event[], reason: string | undefined]>([
  [
    "grpc-go",
    [
      [1, "Subchannel created"],
      [2, "Subchannel Connectivity change to CONNECTING"],
      [
        3,
        'Subchannel Connectivity change to TRANSIENT_FAILURE, last error: connection error: desc = "dial tcp 10.0.0.7:443: connect: connection refused"',
      ],
    ],
    'connection error: desc = "dial tcp 10.0.0.7:443: connect: connection refused"',
  ],
  [
    "our registry",
    [
      [2, "IDLE -> CONNECTING"],
      [3, "CONNECTING -> TRANSIENT_FAILURE: connect ECONNREFUSED 127.0.0.1:1", Severity.CT_WARNING],
    ],
    "connect ECONNREFUSED 127.0.0.1:1",
  ],
  [
    "our registry after a change that gRPC does not expect",
    [[3, "IDLE -> TRANSIENT_FAILURE (unexpected): connect ECONNREFUSED 127.0.0.1:1", Severity.CT_WARNING]],
    "connect ECONNREFUSED 127.0.0.1:1",
  ],
  [
    "our tool servers, which close the subchannel afterwards",
    [
      [3, "CONNECTING -> TRANSIENT_FAILURE: the token expired", Severity.CT_WARNING],
      [4, "Closed subchannel 24 (http://127.0.0.1:1): The transport closed."],
    ],
    "the token expired",
  ],
  [
    "C++",
    [[3, "state change to TRANSIENT_FAILURE: UNAVAILABLE: ipv4:10.0.0.7:443: Connection reset by peer"]],
    "UNAVAILABLE: ipv4:10.0.0.7:443: Connection reset by peer",
  ],
  [
    "grpc-js",
    [
      [2, "Connectivity state change to CONNECTING"],
      [3, "Connectivity state change to TRANSIENT_FAILURE"],
    ],
    undefined,
  ],
  [
    "our registry after the same failure several times",
    [[3, "CONNECTING -> TRANSIENT_FAILURE: connect (repeated 2 times) refused (repeated 12 times)"]],
    "connect (repeated 2 times) refused",
  ],
  [
    "our registry after an unexpected change without a reason",
    [[3, "IDLE -> TRANSIENT_FAILURE (unexpected) (repeated 12 times)", Severity.CT_WARNING]],
    undefined,
  ],
  ["a peer that only warns", [[3, "Picked no address", Severity.CT_WARNING]], "Picked no address"],
  [
    "a peer that has a target named ready",
    [[3, "change to TRANSIENT_FAILURE, Last error:cannot connect to ready.example\n"]],
    "cannot connect to ready.example",
  ],
])("[CZ-D-CLI-5] finds the reason in a trace of %s", (_, events, reason) => {
  expect(findFailure([subchannel(...events)])).toEqual({
    ...(reason === undefined ? {} : { reason, at: at(3) }),
    since: at(3),
  });
});

test("[CZ-D-CLI-5] takes the latest reason of all traces, and the beginning since the last connection", () => {
  const failure = findFailure([
    subchannel([10, "CONNECTING -> TRANSIENT_FAILURE"], [40, "TRANSIENT_FAILURE -> CONNECTING"]),
    subchannel(
      [1, "x -> TRANSIENT_FAILURE: old"],
      [5, "CONNECTING -> READY"],
      [12, "READY -> TRANSIENT_FAILURE: first"],
    ),
    subchannel([30, "CONNECTING -> TRANSIENT_FAILURE: second"], [31, "Subchannel picks a new address"]),
  ]);
  expect(failure).toEqual({ reason: "second", at: at(30), since: at(10) });
});

test("[CZ-D-CLI-5] compares reasons by their times, whatever the order of the traces", () => {
  const reasonOf = (...traces: Event[][]): unknown => {
    const failure = findFailure(traces.map((events) => subchannel(...events)));
    return [failure?.reason, failure?.at, failure?.since];
  };
  const old: Event = [10, "CONNECTING -> TRANSIENT_FAILURE: old"];
  const recent: Event = [20, "CONNECTING -> TRANSIENT_FAILURE: recent"];
  const timeless: Event = [0, "CONNECTING -> TRANSIENT_FAILURE: timeless"];
  expect(reasonOf([recent], [old])).toEqual(["recent", at(20), at(10)]);
  expect(reasonOf([recent], [timeless])).toEqual(["recent", at(20), at(20)]);
  expect(reasonOf([timeless], [old])).toEqual(["old", at(10), at(10)]);
  expect(reasonOf([timeless, recent])).toEqual(["recent", at(20), at(20)]);
  // Of two at the same time, or without times, the trace has the later one last.
  expect(reasonOf([timeless, [0, "CONNECTING -> TRANSIENT_FAILURE: next"]])).toEqual(["next", undefined, undefined]);
  expect(reasonOf([old, [10, "CONNECTING -> TRANSIENT_FAILURE: next"]])).toEqual(["next", at(10), at(10)]);
});

test("[CZ-D-CLI-5] takes the cause of a change of state before any other event, even if that is later", () => {
  const lost: Event = [20, "Connection lost"];
  const cause: Event = [10, "CONNECTING -> TRANSIENT_FAILURE: the token expired"];
  for (const traces of [
    [subchannel(lost), subchannel(cause)],
    [subchannel(cause), subchannel(lost)],
  ]) {
    expect(findFailure(traces)).toEqual({ reason: "the token expired", at: at(10), since: at(10) });
  }
  expect(findFailure([subchannel(lost)])).toEqual({ reason: "Connection lost", at: at(20) });
});

test("finds nothing in traces of connected or new channels, or without traces", () => {
  expect(
    findFailure([subchannel([1, "CONNECTING -> TRANSIENT_FAILURE: x"], [2, "TRANSIENT_FAILURE -> READY"])]),
  ).toBeUndefined();
  expect(findFailure([subchannel([1, "Subchannel created"])])).toBeUndefined();
  expect(findFailure([create(SubchannelSchema), create(SubchannelSchema, { data: {} })])).toBeUndefined();
  expect(findFailure([])).toBeUndefined();
});

test("accepts events without times, and bounds a huge reason", () => {
  const failure = findFailure([subchannel([0, `CONNECTING -> TRANSIENT_FAILURE: ${"x".repeat(1_000_000)}`])]);
  expect(failure?.reason).toBe("x".repeat(500));
  expect(failure?.since).toBeUndefined();
});

test("[CZ-D-CLI-5] reads the traces below a channel, a bounded number of them, and ignores cycles", async () => {
  const refs = (...ids: bigint[]) => ids.map((subchannelId) => ({ subchannelId }));
  const peer = peerWith({
    channels: [channel(1)],
    subchannels: Array.from({ length: 100 }, (_, n) => ({
      ref: { subchannelId: BigInt(n + 2) },
      // Each refers to itself and to the next.
      subchannelRef: refs(BigInt(n + 2), BigInt(n + 3)),
      data: data([[n + 1, `CONNECTING -> TRANSIENT_FAILURE: reason ${n}`]]),
    })),
  });
  let reads = 0;
  const source = {
    ...peer,
    getSubchannel: (...args: Parameters<typeof peer.getSubchannel>) => {
      reads += 1;
      return peer.getSubchannel(...args);
    },
  };
  const top: Channel = create(ChannelSchema, { ref: { channelId: 1n }, subchannelRef: refs(2n, 500n) });
  expect(await readFailure(source, top)).toMatchObject({ reason: "reason 2", since: at(1) });
  expect(reads).toBeLessThan(20);
});

/** A source that records what is read from it, and passes nothing on without the signal. */
function recorded(source: Source, signal: AbortSignal): { source: Source; reads: string[] } {
  const reads: string[] = [];
  const check = (read: string, options: ReadOptions | undefined): void => {
    reads.push(read);
    expect(options?.signal).toBe(signal);
  };
  return {
    reads,
    source: {
      ...source,
      getChannel: (id, options) => {
        check(`channel ${id}`, options);
        return source.getChannel(id, options);
      },
      getSubchannel: (id, options) => {
        check(`subchannel ${id}`, options);
        return source.getSubchannel(id, options);
      },
    },
  };
}

test("[CZ-D-CLI-5] reads channels and subchannels at all levels below a channel, each once and with the signal", async () => {
  const failing = (seconds: number, reason: string) => data([[seconds, `CONNECTING -> TRANSIENT_FAILURE: ${reason}`]]);
  const all = {
    channelRef: [1n, 2n, 2n, 3n].map((channelId) => ({ channelId })),
    subchannelRef: [{ subchannelId: 2n }],
  };
  const { signal } = new AbortController();
  const { source, reads } = recorded(
    peerWith({
      channels: [channel(2, all), channel(3, { ...all, data: failing(30, "a channel") })],
      subchannels: [peerSubchannel(2, { ...all, data: failing(20, "a subchannel") })],
    }),
    signal,
  );
  const top = create(ChannelSchema, channel(1, { ...all, data: failing(10, "the channel itself") }));
  expect(await readFailure(source, top, { signal })).toEqual({ reason: "a channel", at: at(30), since: at(10) });
  expect(reads).toEqual(["subchannel 2", "channel 2", "channel 3"]);
});

test.each(["channel", "subchannel"] as const)("reads at most 15 traces below a channel: %s", async (kind) => {
  const ids = Array.from({ length: 100 }, (_, n) => n + 2);
  const { signal } = new AbortController();
  const { source, reads } = recorded(
    peerWith({ channels: ids.map((id) => channel(id)), subchannels: ids.map((id) => peerSubchannel(id)) }),
    signal,
  );
  const refs =
    kind === "channel"
      ? { channelRef: ids.map((id) => ({ channelId: BigInt(id) })) }
      : { subchannelRef: ids.map((id) => ({ subchannelId: BigInt(id) })) };
  await readFailure(source, create(ChannelSchema, channel(1, refs)), { signal });
  expect(reads).toEqual(ids.slice(0, 15).map((id) => `${kind} ${id}`));
});

test("[CZ-D-CLI-5] ignores objects below a channel that have closed, cannot be read, or that the peer does not describe", async () => {
  const peer = peerWith({});
  const refs = [2n, 3n, 4n];
  const top = create(ChannelSchema, {
    channelRef: refs.map((channelId) => ({ channelId })),
    subchannelRef: refs.map((subchannelId) => ({ subchannelId })),
    data: data([[1, "CONNECTING -> TRANSIENT_FAILURE: its own reason"]]),
  });
  const failed = (): never => {
    throw new ChannelzError("PEER_FAILED", "internal");
  };
  const source: Source = {
    ...peer,
    getChannel: async (id) =>
      id === 2n ? create(GetChannelResponseSchema) : id === 3n ? failed() : peer.getChannel(id),
    getSubchannel: async (id) =>
      id === 2n ? create(GetSubchannelResponseSchema) : id === 3n ? failed() : peer.getSubchannel(id),
  };
  expect(await readFailure(source, top)).toMatchObject({ reason: "its own reason" });
  expect(peer.failedReads).toBe(2);
});

test("counts a channel as failing in TRANSIENT_FAILURE, and in CONNECTING after a failure", () => {
  const inState = (state: State): Channel => create(ChannelSchema, { data: { state: { state } } });
  expect(isFailing(inState(State.TRANSIENT_FAILURE), undefined)).toBe(true);
  expect(isFailing(inState(State.CONNECTING), { reason: "refused" })).toBe(true);
  expect(isFailing(inState(State.CONNECTING), undefined)).toBe(false);
  expect(isFailing(inState(State.READY), { reason: "refused" })).toBe(false);
  expect(isFailing(create(ChannelSchema), undefined)).toBe(false);
  expect(isFailing(create(ChannelSchema, { data: {} }), undefined)).toBe(false);
});
