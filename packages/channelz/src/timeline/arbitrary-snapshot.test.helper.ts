import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import type { CorrectionId } from "../correction-marks.js";
import {
  type Channel,
  ChannelSchema,
  type Server,
  ServerSchema,
  type Socket,
  SocketSchema,
  type Subchannel,
  SubchannelSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import {
  acceptedSocketsOf,
  createObject,
  createSnapshot,
  type ObjectParts,
  type Snapshot,
  type SnapshotObject,
} from "./snapshot.js";

const id = fc.bigInt({ min: 1n, max: 12n });
const origin = fc.constantFrom("", "a", "b|c");
const count = fc.oneof(fc.bigInt({ min: 0n, max: 5n }), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
const time = fc.option(
  fc.oneof(
    fc.integer({ min: 0, max: 2_000_000_000_000 }).map(timestampFromMs),
    fc.record({ seconds: count, nanos: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) }),
  ),
  { nil: undefined },
);
const text = fc.oneof(fc.constantFrom("", "dns:///example"), fc.string({ unit: "grapheme", maxLength: 8 }));
const event = fc.record({
  description: fc.constantFrom("created", "connected", "lost"),
  severity: fc.integer({ min: 0, max: 3 }),
  timestamp: time,
});
const trace = fc.record({ numEventsLogged: count, creationTimestamp: time, events: fc.array(event, { maxLength: 5 }) });
const calls = { callsStarted: count, callsSucceeded: count, callsFailed: count, lastCallStartedTimestamp: time };
const ids = fc.uniqueArray(id, { maxLength: 4 });
const refs = {
  channelRef: ids.map((all) => all.map((channelId) => ({ channelId, name: "" }))),
  subchannelRef: ids.map((all) => all.map((subchannelId) => ({ subchannelId, name: "" }))),
  socketRef: ids.map((all) => all.map((socketId) => ({ socketId, name: "" }))),
};
const channelData = fc.option(
  fc.record({
    state: fc.record({ state: fc.integer({ min: 0, max: 9 }) }),
    target: text,
    trace: fc.option(trace, { nil: undefined }),
    ...calls,
  }),
  { nil: undefined },
);

const channel = fc
  .record({ ref: fc.record({ channelId: id, name: text }), data: channelData, ...refs })
  .map((init): Channel => create(ChannelSchema, init as object));
const subchannel = fc
  .record({ ref: fc.record({ subchannelId: id, name: text }), data: channelData, ...refs })
  .map((init): Subchannel => create(SubchannelSchema, init as object));
const server = fc
  .record({
    ref: fc.record({ serverId: id, name: text }),
    data: fc.option(fc.record({ trace: fc.option(trace, { nil: undefined }), ...calls }), { nil: undefined }),
    listenSocket: refs.socketRef,
  })
  .map((init): Server => create(ServerSchema, init as object));
const window = fc.option(count, { nil: undefined });
const socket = fc
  .record({
    ref: fc.record({ socketId: id, name: text }),
    data: fc.record({
      streamsStarted: count,
      streamsSucceeded: count,
      streamsFailed: count,
      messagesSent: count,
      messagesReceived: count,
      keepAlivesSent: count,
      lastLocalStreamCreatedTimestamp: time,
      lastRemoteStreamCreatedTimestamp: time,
      lastMessageSentTimestamp: time,
      lastMessageReceivedTimestamp: time,
      localFlowControlWindow: window,
      remoteFlowControlWindow: window,
    }),
    remoteName: text,
  })
  .map((init): Socket => create(SocketSchema, init as object));

const corrections = fc.array(
  fc.record({
    id: fc.constantFrom<CorrectionId>("unset-times", "swapped-windows"),
    detail: fc.constantFrom("was 1", "was 2"),
  }),
  { maxLength: 2 },
);
const unreadable = fc.option(fc.constantFrom("refused", "too slow"), { nil: undefined });

const object: fc.Arbitrary<SnapshotObject> = fc
  .oneof(
    fc.record({
      origin,
      isTop: fc.boolean(),
      kind: fc.constant("channel" as const),
      message: channel,
      unreadable,
      corrections,
    }),
    fc.record({ origin, kind: fc.constant("subchannel" as const), message: subchannel, unreadable, corrections }),
    fc.record({
      origin,
      kind: fc.constant("server" as const),
      message: server,
      acceptedSockets: ids.map((all) => [...all].sort((a, b) => (a < b ? -1 : 1))),
      unreadable,
      corrections,
    }),
    fc.record({ origin, kind: fc.constant("socket" as const), message: socket, unreadable, corrections }),
    fc.record({
      origin,
      kind: fc.constantFrom("channel", "subchannel", "server", "socket"),
      id,
      name: text,
      isTop: fc.boolean(),
      unreadable: fc.constant("refused"),
    }),
  )
  .map((parts) => createObject(parts));

const origins = fc.constantFrom(
  [{ name: "", target: "" }],
  [
    { name: "a", target: "127.0.0.1:1" },
    { name: "b|c", target: "127.0.0.1:2", error: "refused" },
  ],
);

/** Snapshots of a few objects in which everything may occur that a peer may send, and each of which resembles the others. */
export const arbitrarySnapshot: fc.Arbitrary<Snapshot> = fc
  .record({
    timeMs: fc.integer({ min: 1, max: 2_000_000_000_000 }),
    origins,
    objects: fc.array(object, { maxLength: 12 }),
    stoppedBy: fc.option(fc.constant("limit reached"), { nil: undefined }),
  })
  .map(createSnapshot);

type Step = "stay" | "go" | "count" | "first use";

/** Two snapshots of one process, a moment apart: most objects stay, and most of those count further. */
export const arbitrarySuccession: fc.Arbitrary<[Snapshot, Snapshot]> = fc
  .tuple(
    arbitrarySnapshot,
    fc.array(object, { maxLength: 3 }),
    fc.infiniteStream(
      fc.record({
        step: fc.constantFrom<Step>("stay", "go", "count", "count", "first use"),
        by: fc.bigInt({ min: -3n, max: 1000n }),
        timeMs: fc.nat(10_000),
      }),
    ),
  )
  .map(([before, fresh, steps]) => {
    const kept = [...before.objects.values()].flatMap((each) => {
      const { step, by, timeMs } = steps.next().value as { step: Step; by: bigint; timeMs: number };
      if (step === "go") return [];
      return [step === "stay" ? each : advance(each, by, step === "first use", timeMs)];
    });
    const added = fresh.filter(({ key }) => !before.objects.has(key));
    return [before, createSnapshot({ ...before, timeMs: before.timeMs + 1000, objects: [...kept, ...added] })];
  });

function advance(each: SnapshotObject, by: bigint, isFirstUse: boolean, timeMs: number): SnapshotObject {
  if (each.message?.data === undefined) return each;
  const data: Record<string, unknown> = { ...each.message.data };
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === "bigint") data[name] = BigInt.asIntN(64, value + by);
    if (name.startsWith("last")) data[name] = timestampFromMs(timeMs);
  }
  if (isFirstUse && each.kind !== "socket") data.lastCallStartedTimestamp = timestampFromMs(timeMs);
  const { origin, isTop, unreadable, kind, corrections } = each;
  const message = { ...each.message, data };
  return createObject({
    origin,
    isTop,
    unreadable,
    kind,
    message,
    corrections,
    acceptedSockets: acceptedSocketsOf(each),
  } as unknown as ObjectParts);
}
