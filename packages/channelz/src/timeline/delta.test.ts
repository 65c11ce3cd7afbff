import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChannelSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { arbitrarySnapshot } from "./arbitrary-snapshot.test.helper.js";
import { inFlight, ratesBetween } from "./counters.js";
import { applyDelta, diffSnapshots } from "./delta.js";
import { createObject, createSnapshot, type Snapshot } from "./snapshot.js";

function channelAt(timeMs: number, started: bigint, events: string[] = []): Snapshot {
  const message = create(ChannelSchema, {
    ref: { channelId: 7n, name: "orders" },
    data: {
      state: { state: 3 },
      target: "dns:///orders",
      callsStarted: started,
      callsSucceeded: started / 2n,
      trace: { events: events.map((description, index) => ({ description, timestamp: timestampFromMs(index) })) },
    },
  });
  const object = createObject({ origin: "", kind: "channel", isTop: true, message });
  return createSnapshot({ timeMs, origins: [{ name: "", target: "" }], objects: [object] });
}

describe("differences between snapshots", () => {
  test("[CZ-D-HISTORY-1] gives the later snapshot when the difference of two is applied to the earlier", () => {
    fc.assert(
      fc.property(arbitrarySnapshot, arbitrarySnapshot, (a, b) => {
        const applied = applyDelta(a, diffSnapshots(a, b));
        expect(applied).toEqual(b);
        expect([...applied.objects.keys()]).toEqual([...b.objects.keys()]);
      }),
    );
  });

  test("finds no difference between equal snapshots", () => {
    fc.assert(
      fc.property(arbitrarySnapshot, (a) => {
        const copy = structuredClone(a);
        const { appeared, disappeared, changed, restarted } = diffSnapshots(a, copy);
        expect([appeared, disappeared, changed, restarted]).toEqual([[], [], [], []]);
      }),
    );
  });

  test("keeps objects that did not change identical, so that a page redraws the others only", () => {
    const a = createSnapshot({ ...channelAt(1, 1n), objects: [...channelAt(1, 1n).objects.values()] });
    const b = channelAt(2, 1n);
    const applied = applyDelta(a, diffSnapshots(a, b));
    expect(applied.timeMs).toBe(2);
    expect(applied.objects.get("|channel|7")).toBe(a.objects.get("|channel|7"));
  });

  test("reports new trace events and how far the counters advanced", () => {
    const delta = diffSnapshots(channelAt(0, 10n, ["created"]), channelAt(2000, 30n, ["created", "connected"]));
    expect(delta.changed).toHaveLength(1);
    expect(delta.changed[0]).toMatchObject({
      key: "|channel|7",
      counters: { started: 20, succeeded: 10 },
      newEvents: [{ description: "connected" }],
      isRestarted: false,
    });
  });

  test("[CZ-D-HISTORY-2] marks an object whose counters went backwards, and counts it from zero", () => {
    const before = channelAt(0, 1000n);
    const after = channelAt(1000, 4n);
    const delta = diffSnapshots(before, after);
    expect(delta.restarted).toEqual(["|channel|7"]);
    expect(delta.changed[0]).toMatchObject({ isRestarted: true, counters: { started: 4, succeeded: 2 } });
  });
});

describe("rates", () => {
  const at = (started: number) => ({
    counters: { started, succeeded: 0, failed: 0, messagesSent: 0, messagesReceived: 0, keepAlivesSent: 0 },
  });

  test("divides the difference of the counters by the elapsed time", () => {
    expect(ratesBetween(at(10), at(30), 2000).started).toBe(10);
  });

  test("counts from zero after a restart, and is zero if no time elapsed", () => {
    expect(ratesBetween(at(1000), at(30), 1000).started).toBe(30);
    expect(ratesBetween(at(10), at(30), 0).started).toBe(0);
  });

  test("never reports a negative number of calls in flight", () => {
    expect(inFlight({ ...at(3).counters, succeeded: 4 })).toBe(0);
    expect(inFlight({ ...at(3).counters, failed: 1 })).toBe(2);
  });
});
