import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ChannelConnectivityState_State, ChannelSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { arbitrarySnapshot, arbitrarySuccession } from "./arbitrary-snapshot.test.helper.js";
import { readSeries } from "./series.js";
import { createObject, createSnapshot, type Snapshot } from "./snapshot.js";
import { createTimeline } from "./timeline.js";

const history: fc.Arbitrary<Snapshot[]> = fc
  .array(fc.oneof(arbitrarySnapshot, arbitrarySuccession), { minLength: 1, maxLength: 6 })
  .map((steps) => steps.flat().map((snapshot, index) => ({ ...snapshot, timeMs: 1000 + index * 10 })));

function snapshotAt(
  timeMs: number,
  objects: Record<number, { state?: ChannelConnectivityState_State; calls?: number; text?: string }>,
): Snapshot {
  return createSnapshot({
    timeMs,
    origins: [{ name: "", target: "" }],
    objects: Object.entries(objects).map(([id, { state = 3, calls = 0, text = "" }]) =>
      createObject({
        origin: "",
        kind: "channel",
        isTop: true,
        message: create(ChannelSchema, {
          ref: { channelId: BigInt(id), name: `channel ${id}` },
          data: {
            state: { state },
            callsStarted: BigInt(calls),
            ...(text === "" ? {} : { trace: { events: [{ description: text }] } }),
          },
        }),
      }),
    ),
  });
}

describe("a timeline", () => {
  test("[CZ-D-HISTORY-6] gives at any time the snapshot that was appended last until then", () => {
    fc.assert(
      fc.property(
        history,
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.nat(150), { maxLength: 5 }),
        (snapshots, keyframeEvery, jumps) => {
          const timeline = createTimeline({ keyframeEvery });
          for (const snapshot of snapshots) expect(timeline.append(snapshot)).toEqual(snapshot);
          expect(timeline.range()).toEqual({ firstMs: 1000, lastMs: snapshots.at(-1)?.timeMs });
          for (const jump of [...jumps, 0, 9999]) {
            const expected = snapshots.findLast(({ timeMs }) => timeMs <= 999 + jump);
            expect(timeline.at(999 + jump)).toEqual(expected);
          }
          expect([...timeline.snapshots()]).toEqual(snapshots);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("[CZ-D-HISTORY-7] keeps at most its bytes, drops the oldest first, and always has the newest", () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 20_000 }), (snapshots, maxBytes) => {
        const timeline = createTimeline({ maxBytes, keyframeEvery: 3 });
        for (const snapshot of snapshots) {
          timeline.append(snapshot);
          expect(timeline.bytes()).toBeLessThanOrEqual(maxBytes);
          expect(timeline.newest()).toEqual(snapshot);
          expect(timeline.at(snapshot.timeMs)).toEqual(snapshot);
        }
        const { firstMs } = timeline.range() ?? { firstMs: 0 };
        const kept = snapshots.filter(({ timeMs }) => timeMs >= firstMs);
        for (const snapshot of kept) expect(timeline.at(snapshot.timeMs)).toEqual(snapshot);
        expect(timeline.at(firstMs - 1)).toBeUndefined();
      }),
      { numRuns: 40 },
    );
  });

  test("lists what appeared, disappeared, changed its state or its trace, and restarted, with the time", () => {
    const timeline = createTimeline();
    timeline.append(snapshotAt(1000, { 1: { state: 2, calls: 9 }, 2: {} }));
    timeline.append(snapshotAt(2000, { 1: { state: 4, calls: 9, text: "refused" }, 3: {} }));
    timeline.append(snapshotAt(3000, { 1: { state: 4, calls: 2, text: "refused" }, 3: { calls: 5 } }));
    expect(timeline.changes().map(({ timeMs, kind, key, text }) => [timeMs, kind, key, text])).toEqual([
      [2000, "appeared", "|channel|3", "channel 3 (channel 3)"],
      [2000, "disappeared", "|channel|2", "channel 2 (channel 2)"],
      [2000, "state", "|channel|1", "CONNECTING → TRANSIENT_FAILURE"],
      [2000, "trace", "|channel|1", "refused"],
      [3000, "restarted", "|channel|1", "Its counters went backwards."],
    ]);
    expect(timeline.changes({ firstMs: 2500 })).toHaveLength(1);
  });

  test("bounds the text and the number of changes that a peer can cause", () => {
    const many = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [index + 1, {}]));
    const timeline = createTimeline();
    timeline.append(snapshotAt(1000, { 1: {} }));
    timeline.append(snapshotAt(2000, { 1: { text: "x".repeat(100_000) } }));
    timeline.append(snapshotAt(3000, many));
    expect(timeline.changes().length).toBeLessThanOrEqual(1001);
    expect(Math.max(...timeline.changes().map(({ text }) => text.length))).toBeLessThanOrEqual(300);
  });

  test("gives each subscriber the snapshot and its delta, until the subscription ends", () => {
    const timeline = createTimeline();
    const seen: [number, number | undefined][] = [];
    const unsubscribe = timeline.subscribe((snapshot, delta) => seen.push([snapshot.timeMs, delta?.changed.length]));
    timeline.append(snapshotAt(1000, { 1: {} }));
    timeline.append(snapshotAt(2000, { 1: { calls: 2 } }));
    unsubscribe();
    timeline.append(snapshotAt(3000, { 1: { calls: 3 } }));
    expect(seen).toEqual([
      [1000, undefined],
      [2000, 1],
    ]);
  });

  test("counts a snapshot that is not later than the newest as one millisecond later", () => {
    const timeline = createTimeline();
    timeline.append(snapshotAt(1000, {}));
    expect(timeline.append(snapshotAt(400, { 1: {} })).timeMs).toBe(1001);
    expect(timeline.at(1000)?.objects.size).toBe(0);
    expect(timeline.at(1001)?.objects.size).toBe(1);
  });
});

describe("series of a timeline", () => {
  const timeline = createTimeline({ keyframeEvery: 7 });
  for (let second = 0; second < 100; second += 1) {
    timeline.append(
      snapshotAt(1000 + second * 1000, { 1: { calls: second }, ...(second < 50 ? { 2: { calls: 3 } } : {}) }),
    );
  }

  test("reads the counter of an object while it existed", async () => {
    const [one, two] = await readSeries(timeline, [
      { key: "|channel|1", field: "started" },
      { key: "|channel|2", field: "started" },
    ]);
    expect(one?.points.map(({ value }) => value)).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(two?.points).toHaveLength(50);
  });

  test("spreads a bounded number of points over the range, up to its end", async () => {
    const [series] = await readSeries(timeline, [{ key: "", field: "started" }], { maxPoints: 10, lastMs: 91_000 });
    expect(series?.points.length).toBeLessThanOrEqual(10);
    expect(series?.points.length).toBeGreaterThan(7);
    expect(series?.points.at(-1)).toEqual({ timeMs: 91_000, value: 90 });
  });
});
