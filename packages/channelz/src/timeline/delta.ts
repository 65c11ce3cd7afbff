import type { ChannelTraceEvent } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { type Counters, counterDifference, isRestart, noCounters } from "./counters.js";
import { sameValue } from "./same-value.js";
import { type ObjectKey, type Origin, objectOrder, type Snapshot, type SnapshotObject } from "./snapshot.js";

/** An object that differs between two snapshots. */
export interface ObjectChange {
  readonly key: ObjectKey;
  readonly before: SnapshotObject;
  readonly after: SnapshotObject;
  /** The events of its trace that the earlier snapshot lacks. */
  readonly newEvents: readonly ChannelTraceEvent[];
  /** The advance of its counters; after a restart, their values. */
  readonly counters: Counters;
  /** Whether a counter went backwards. */
  readonly isRestarted: boolean;
}

/** The changes from one snapshot to another. */
export interface Delta {
  readonly fromMs: number;
  readonly toMs: number;
  readonly appeared: readonly SnapshotObject[];
  /** As they were in the earlier snapshot. */
  readonly disappeared: readonly SnapshotObject[];
  readonly changed: readonly ObjectChange[];
  /** The objects whose counters went backwards. */
  readonly restarted: readonly ObjectKey[];
  /** Those of the later snapshot. */
  readonly origins: readonly Origin[];
  readonly isComplete: boolean;
  readonly stoppedBy?: string | undefined;
}

/** The changes from one snapshot to another, which may be from another time, process or recording. */
export function diffSnapshots(from: Snapshot, to: Snapshot): Delta {
  const appeared: SnapshotObject[] = [];
  const changed: ObjectChange[] = [];
  for (const [key, after] of to.objects) {
    const before = from.objects.get(key);
    if (before === undefined) appeared.push(after);
    else if (!sameObject(before, after)) changed.push(describeChange(before, after));
  }
  const disappeared = [...from.objects.values()].filter(({ key }) => !to.objects.has(key));
  return {
    fromMs: from.timeMs,
    toMs: to.timeMs,
    appeared,
    disappeared,
    changed,
    restarted: changed.filter(({ isRestarted }) => isRestarted).map(({ key }) => key),
    origins: to.origins,
    isComplete: to.isComplete,
    ...(to.stoppedBy === undefined ? {} : { stoppedBy: to.stoppedBy }),
  };
}

/** The later snapshot of a delta, from the earlier one. Objects that did not change are the same in both. */
export function applyDelta(from: Snapshot, delta: Delta): Snapshot {
  const gone = new Set(delta.disappeared.map(({ key }) => key));
  const changes = new Map(delta.changed.map(({ key, after }) => [key, after]));
  const order = objectOrder(delta.origins);
  const appeared = [...delta.appeared].sort(order);
  let kept = [...from.objects.values()].flatMap((object) =>
    gone.has(object.key) ? [] : [changes.get(object.key) ?? object],
  );
  if (!sameNames(from.origins, delta.origins)) kept = kept.sort(order);
  const objects = new Map<ObjectKey, SnapshotObject>();
  let next = 0;
  for (const object of kept) {
    for (let other = appeared[next]; other !== undefined && order(other, object) < 0; other = appeared[next]) {
      objects.set(other.key, other);
      next += 1;
    }
    objects.set(object.key, object);
  }
  for (const object of appeared.slice(next)) objects.set(object.key, object);
  const { toMs: timeMs, origins, isComplete, stoppedBy } = delta;
  return { timeMs, origins, objects, isComplete, ...(stoppedBy === undefined ? {} : { stoppedBy }) };
}

/** Whether two objects are equal in everything. */
export function sameObject(a: SnapshotObject, b: SnapshotObject): boolean {
  return (
    a === b ||
    (a.key === b.key &&
      a.name === b.name &&
      a.isTop === b.isTop &&
      a.unreadable === b.unreadable &&
      sameValue(a.corrections, b.corrections) &&
      sameValue(a.message, b.message) &&
      sameValue(a.children, b.children))
  );
}

/** Describes the change of an object. */
export function describeChange(before: SnapshotObject, after: SnapshotObject): ObjectChange {
  // An object that could not be read has no counters, which is not a restart.
  const isCounted = before.message !== undefined && after.message !== undefined;
  return {
    key: after.key,
    before,
    after,
    newEvents: newEventsOf(before, after),
    counters: isCounted ? counterDifference(before.counters, after.counters) : noCounters,
    isRestarted: isCounted && isRestart(before.counters, after.counters),
  };
}

/** The trace of an object; sockets have none. */
export function traceEventsOf({ kind, message }: SnapshotObject): readonly ChannelTraceEvent[] {
  return kind === "socket" ? [] : (message?.data?.trace?.events ?? []);
}

function newEventsOf(before: SnapshotObject, after: SnapshotObject): readonly ChannelTraceEvent[] {
  const events = traceEventsOf(after);
  const earlier = traceEventsOf(before);
  if (events.length === 0 || earlier.length === 0 || sameValue(earlier, events))
    return earlier.length === 0 ? events : [];
  const known = new Set(earlier.map(eventText));
  return events.filter((event) => !known.has(eventText(event)));
}

/** Equal for events that are equal in time, severity and description. */
function eventText({ timestamp, severity, description }: ChannelTraceEvent): string {
  return `${timestamp?.seconds}.${timestamp?.nanos} ${severity} ${description}`;
}

function sameNames(a: readonly Origin[], b: readonly Origin[]): boolean {
  return a.length === b.length && a.every(({ name }, index) => name === b[index]?.name);
}
