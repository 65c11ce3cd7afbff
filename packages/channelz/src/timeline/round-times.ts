import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import type { Snapshot, SnapshotObject } from "./snapshot.js";

/** The times in the data of an object that advance with each call, stream or message. */
const advancingTimes = [
  "lastCallStartedTimestamp",
  "lastLocalStreamCreatedTimestamp",
  "lastRemoteStreamCreatedTimestamp",
  "lastMessageSentTimestamp",
  "lastMessageReceivedTimestamp",
] as const;

/**
 * Creates a function that rounds the times of last calls, streams and messages down to a multiple of `precisionMs`. They contain
 * more bits than all counters together, and need not be more precise than the sampling interval. Times in traces stay exact.
 */
export function createTimeRounder(precisionMs: number): (snapshot: Snapshot) => Snapshot {
  if (precisionMs <= 1) return (snapshot) => snapshot;
  // Snapshots share unchanged objects, which must stay identical for the comparison to be fast.
  const rounded = new WeakMap<SnapshotObject, SnapshotObject>();
  const round = (object: SnapshotObject): SnapshotObject => {
    const known = rounded.get(object);
    if (known !== undefined) return known;
    const result = roundTimes(object, BigInt(Math.round(precisionMs)));
    rounded.set(object, result);
    return result;
  };
  return (snapshot) => ({
    ...snapshot,
    objects: new Map([...snapshot.objects].map(([key, object]) => [key, round(object)])),
  });
}

function roundTimes(object: SnapshotObject, precisionMs: bigint): SnapshotObject {
  const { message } = object;
  if (message?.data === undefined) return object;
  const data: Record<string, unknown> = { ...message.data };
  for (const field of advancingTimes) {
    const time = data[field] as Timestamp | undefined;
    if (time === undefined) continue;
    const timeMs = time.seconds * 1000n + BigInt(Math.trunc(time.nanos / 1e6));
    const floor = timeMs - (((timeMs % precisionMs) + precisionMs) % precisionMs);
    const ms = ((floor % 1000n) + 1000n) % 1000n;
    data[field] = create(TimestampSchema, { seconds: (floor - ms) / 1000n, nanos: Number(ms) * 1e6 });
  }
  return { ...object, message: { ...message, data } } as unknown as SnapshotObject;
}
