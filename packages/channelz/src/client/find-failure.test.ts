import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  type Channel,
  ChannelSchema,
  ChannelTraceEvent_Severity as Severity,
  ChannelConnectivityState_State as State,
  type Subchannel,
  SubchannelSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { findFailure, isFailing, readFailure } from "./find-failure.js";
import { channel, peerWith } from "./fixed-peer.test.helper.js";

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

test("finds nothing in traces of connected or new channels, or without traces", () => {
  expect(
    findFailure([subchannel([1, "CONNECTING -> TRANSIENT_FAILURE: x"], [2, "TRANSIENT_FAILURE -> READY"])]),
  ).toBeUndefined();
  expect(findFailure([subchannel([1, "Subchannel created"])])).toBeUndefined();
  expect(findFailure([create(SubchannelSchema)])).toBeUndefined();
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

test("counts a channel as failing in TRANSIENT_FAILURE, and in CONNECTING after a failure", () => {
  const inState = (state: State): Channel => create(ChannelSchema, { data: { state: { state } } });
  expect(isFailing(inState(State.TRANSIENT_FAILURE), undefined)).toBe(true);
  expect(isFailing(inState(State.CONNECTING), { reason: "refused" })).toBe(true);
  expect(isFailing(inState(State.CONNECTING), undefined)).toBe(false);
  expect(isFailing(inState(State.READY), { reason: "refused" })).toBe(false);
  expect(isFailing(create(ChannelSchema), undefined)).toBe(false);
});
