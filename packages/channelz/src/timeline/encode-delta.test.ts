import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChannelSchema, SocketSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { DeltaSchema, SnapshotSchema } from "../gen/wirescope/v1/timeline_pb.js";
import { arbitrarySnapshot, arbitrarySuccession } from "./arbitrary-snapshot.test.helper.js";
import { diffSnapshots } from "./delta.js";
import { applyEncodedDelta, encodeDelta } from "./encode-delta.js";
import { decodeSnapshot, encodeSnapshot } from "./encode-snapshot.js";
import { createObject, createSnapshot, type Snapshot } from "./snapshot.js";

const overTheWire = (snapshot: Snapshot): Snapshot =>
  decodeSnapshot(fromBinary(SnapshotSchema, toBinary(SnapshotSchema, encodeSnapshot(snapshot))));

describe("snapshots and deltas as messages", () => {
  test("decodes a snapshot as it was", () => {
    fc.assert(
      fc.property(arbitrarySnapshot, (snapshot) => {
        expect(overTheWire(snapshot)).toEqual(snapshot);
      }),
    );
  });

  test("[CZ-D-HISTORY-1] gives the later snapshot from the earlier and an encoded delta, whatever changed", () => {
    fc.assert(
      fc.property(fc.oneof(fc.tuple(arbitrarySnapshot, arbitrarySnapshot), arbitrarySuccession), ([a, b]) => {
        const bytes = toBinary(DeltaSchema, encodeDelta(a, diffSnapshots(a, b)));
        const applied = applyEncodedDelta(overTheWire(a), fromBinary(DeltaSchema, bytes));
        expect(applied).toEqual(b);
        expect([...applied.objects.keys()]).toEqual([...b.objects.keys()]);
      }),
      { numRuns: 100 },
    );
  });

  test("[CZ-D-HISTORY-1] keeps equal events of a trace apart", () => {
    const trace = { events: [{ description: "again" }, { description: "again" }] };
    const at = (timeMs: number, name: string) =>
      createSnapshot({
        timeMs,
        origins: [{ name: "", target: "" }],
        objects: [
          createObject({
            origin: "",
            kind: "channel",
            message: create(ChannelSchema, { ref: { channelId: 1n, name }, data: { trace } }),
          }),
        ],
      });
    const [a, b] = [at(1000, "a"), at(2000, "b")];
    const bytes = toBinary(DeltaSchema, encodeDelta(a, diffSnapshots(a, b)));
    expect(applyEncodedDelta(a, fromBinary(DeltaSchema, bytes))).toEqual(b);
  });

  test("encodes counters and times of calls that ended with three bytes for each object, before compression", () => {
    const at = (timeMs: number, count: bigint) =>
      createSnapshot({
        timeMs,
        origins: [{ name: "", target: "" }],
        objects: Array.from({ length: 100 }, (_, index) =>
          createObject({
            origin: "",
            kind: "socket",
            message: create(SocketSchema, {
              ref: { socketId: BigInt(index + 1), name: "127.0.0.1:50051" },
              data: {
                streamsStarted: count,
                streamsSucceeded: count - 1n,
                streamsFailed: 1n,
                messagesSent: count,
                messagesReceived: count,
                lastMessageReceivedTimestamp: timestampFromMs(timeMs),
              },
            }),
          }),
        ),
      });
    const [a, b] = [at(1000, 5n), at(2000, 9n)];
    const message = encodeDelta(a, diffSnapshots(a, b));
    expect(message.changed).toEqual([]);
    expect(message.streams?.timeUnitNs).toBe(1_000_000_000n);
    expect(toBinary(DeltaSchema, message).length).toBeLessThan(350);
  });

  test.each([
    ["they change", 5n, "was 2"],
    ["they and the counters change", 9n, "was 2"],
    ["just the counters change", 9n, "was 1"],
  ])("[CZ-D-CORRECT-8] keeps the corrections of an object if %s", (_, count, detail) => {
    const at = (timeMs: number, streamsStarted: bigint, text: string) =>
      createSnapshot({
        timeMs,
        origins: [{ name: "", target: "" }],
        objects: [
          createObject({
            origin: "",
            kind: "socket",
            message: create(SocketSchema, { ref: { socketId: 1n }, data: { streamsStarted } }),
            corrections: [{ id: "swapped-windows", detail: text }],
          }),
        ],
      });
    const [a, b] = [at(1000, 5n, "was 1"), at(2000, count, detail)];
    const bytes = toBinary(DeltaSchema, encodeDelta(a, diffSnapshots(a, b)));
    expect(applyEncodedDelta(overTheWire(a), fromBinary(DeltaSchema, bytes))).toEqual(b);
  });

  test.each([
    ["an object that does not exist", { disappeared: [99] }],
    ["counters of an object that does not exist", { calls: { position: [99], started: [1n] } }],
    [
      "a trace event that does not exist",
      { changed: [{ object: { object: { case: "channel" as const, value: {} } }, events: [9] }] },
    ],
    ["an origin that does not exist", { appeared: [{ origin: 9, object: { case: "channel" as const, value: {} } }] }],
  ])("rejects a delta that names %s", (_, init) => {
    const from = createSnapshot({
      timeMs: 1,
      origins: [{ name: "", target: "" }],
      objects: [createObject({ origin: "", kind: "channel", id: 1n, name: "" })],
    });
    expect(() => applyEncodedDelta(from, create(DeltaSchema, init))).toThrow(TypeError);
  });
});
