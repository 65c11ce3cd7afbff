import { create } from "@bufbuild/protobuf";
import type { ChannelTraceEvent } from "../gen/rpc/channelz/v1/channelz_pb.js";
import {
  CallColumnsSchema,
  type ChangedObject,
  ChangedObjectSchema,
  type Delta as DeltaMessage,
  DeltaSchema,
  type SnapshotObject as SnapshotObjectMessage,
  StreamColumnsSchema,
} from "../gen/wirescope/v1/timeline_pb.js";
import { addRow, type ColumnChange, type Columns, columnsOf, rowBetween, rowsOf } from "./counter-columns.js";
import { applyDelta, type Delta, describeChange, type ObjectChange, traceEventsOf } from "./delta.js";
import { decodeObject, decodeOrigins, encodeObject, encodeOrigins, originPositions } from "./encode-snapshot.js";
import { sameValue } from "./same-value.js";
import {
  acceptedSocketsOf,
  createObject,
  type ObjectParts,
  type Origin,
  type Snapshot,
  type SnapshotObject,
} from "./snapshot.js";

/** A delta as a message of the schema. It can be decoded only with the snapshot `from`. */
export function encodeDelta(from: Snapshot, delta: Delta): DeltaMessage {
  const positions = new Map([...from.objects.keys()].map((key, index) => [key, index]));
  const origins = originPositions(delta.origins);
  const calls: ColumnChange[] = [];
  const streams: ColumnChange[] = [];
  const changed: ChangedObject[] = [];
  for (const change of delta.changed) {
    const position = positions.get(change.key) ?? 0;
    const { kind } = change.after;
    const row = rowBetween(change.before, change.after);
    if (row === undefined) changed.push(encodeChange(change, position, origins));
    else (kind === "socket" ? streams : calls).push({ position, kind, row });
  }
  let previous = -1;
  const disappeared = delta.disappeared
    .map(({ key }) => positions.get(key) ?? 0)
    .sort((a, b) => a - b)
    .map((position) => {
      const distance = position - previous;
      previous = position;
      return distance;
    });
  return create(DeltaSchema, {
    fromMs: BigInt(delta.fromMs),
    toMs: BigInt(delta.toMs),
    origins: sameValue(from.origins, delta.origins) ? [] : encodeOrigins(delta.origins),
    stoppedBy: delta.stoppedBy ?? "",
    appeared: delta.appeared.map((object) => encodeObject(object, origins)),
    disappeared,
    changed,
    ...withColumns("calls", calls, delta.toMs),
    ...withColumns("streams", streams, delta.toMs),
  });
}

/** The delta of a message. Throws a TypeError if it does not fit the snapshot. */
export function decodeDelta(from: Snapshot, message: DeltaMessage): Delta {
  const objects = [...from.objects.values()];
  const at = (position: number): SnapshotObject => {
    const object = objects[position];
    if (object === undefined) throw new TypeError("A timeline changes an object that does not exist.");
    return object;
  };
  const origins = message.origins.length === 0 ? from.origins : decodeOrigins(message.origins);
  const afters = new Map<number, SnapshotObject>();
  for (const change of message.changed) {
    afters.set(change.position, decodeChange(change, at(change.position), origins));
  }
  for (const [columns, kind] of [[message.calls, "channel"] as const, [message.streams, "socket"] as const]) {
    if (columns === undefined) continue;
    for (const { position, row } of rowsOf(columns as unknown as Columns, kind, Number(message.toMs))) {
      const before = at(position);
      const { kind, origin, isTop, unreadable, corrections } = before;
      const parts = { kind, origin, isTop, unreadable, corrections, acceptedSockets: acceptedSocketsOf(before) };
      afters.set(position, createObject({ ...parts, message: addRow(before, row) } as ObjectParts));
    }
  }
  let position = -1;
  const disappeared = message.disappeared.map((distance) => {
    position += distance;
    return at(position);
  });
  const changed = [...afters.keys()]
    .sort((a, b) => a - b)
    .map((each) => describeChange(at(each), afters.get(each) as SnapshotObject));
  return {
    fromMs: Number(message.fromMs),
    toMs: Number(message.toMs),
    appeared: message.appeared.map((object) => decodeObject(object, origins)),
    disappeared,
    changed,
    restarted: changed.filter(({ isRestarted }) => isRestarted).map(({ key }) => key),
    origins,
    isComplete: message.stoppedBy === "",
    ...(message.stoppedBy === "" ? {} : { stoppedBy: message.stoppedBy }),
  };
}

/** The later snapshot of an encoded delta. */
export function applyEncodedDelta(from: Snapshot, message: DeltaMessage): Snapshot {
  return applyDelta(from, decodeDelta(from, message));
}

function withColumns(name: "calls" | "streams", changes: readonly ColumnChange[], timeMs: number): object {
  const columns = columnsOf(changes, timeMs);
  if (columns === undefined) return {};
  return { [name]: create(name === "calls" ? CallColumnsSchema : StreamColumnsSchema, columns as object) };
}

function encodeChange(
  { before, after }: ObjectChange,
  position: number,
  origins: ReadonlyMap<string, number>,
): ChangedObject {
  const events = traceEventsOf(after);
  const sources = eventSources(traceEventsOf(before), events);
  const fresh = events.filter((_, index) => sources[index] === 0);
  const object = encodeObject(withEvents(after, fresh), origins);
  const earlier = new Set(acceptedSocketsOf(before));
  const later = new Set(object.acceptedSockets);
  object.acceptedSockets = object.acceptedSockets.filter((id) => !earlier.has(id));
  const closedSockets = [...earlier].filter((id) => !later.has(id));
  return create(ChangedObjectSchema, { position, object, events: sources, closedSockets });
}

function decodeChange(
  { object, events, closedSockets }: ChangedObject,
  before: SnapshotObject,
  origins: readonly Origin[],
): SnapshotObject {
  if (object === undefined) throw new TypeError("A timeline has a change without an object.");
  const closed = new Set(closedSockets);
  const kept = acceptedSocketsOf(before).filter((id) => !closed.has(id));
  const acceptedSockets = [...kept, ...object.acceptedSockets].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const after = decodeObject({ ...object, acceptedSockets } as SnapshotObjectMessage, origins);
  const earlier = traceEventsOf(before);
  const fresh = traceEventsOf(after);
  let next = 0;
  let last = 0;
  const all = events.map((source) => {
    if (source === 0) next += 1;
    // Each event is used once, so that a few bytes cannot repeat a large trace.
    const event = source === 0 ? fresh[next - 1] : source > last ? earlier[source - 1] : undefined;
    if (event === undefined) throw new TypeError("A timeline refers to a trace event that does not exist.");
    last = Math.max(last, source);
    return event;
  });
  return events.length === 0 ? after : withEvents(after, all);
}

/** For each event, the position of the same event in the earlier trace plus 1, or 0 if it is new. */
function eventSources(earlier: readonly ChannelTraceEvent[], events: readonly ChannelTraceEvent[]): number[] {
  let next = 0;
  return events.map((event) => {
    // Traces lose events and get new ones, but keep their order.
    for (let index = next; index < earlier.length; index += 1) {
      if (!sameValue(earlier[index], event)) continue;
      next = index + 1;
      return index + 1;
    }
    return 0;
  });
}

/** The object with other events in its trace. Objects are not changed in place: snapshots share them. */
function withEvents(object: SnapshotObject, events: readonly ChannelTraceEvent[]): SnapshotObject {
  const { message } = object;
  if (object.kind === "socket" || message?.data === undefined || !("trace" in message.data)) return object;
  const { trace } = message.data;
  if (trace === undefined || (trace.events.length === 0 && events.length === 0)) return object;
  const data = { ...message.data, trace: { ...trace, events: [...events] } };
  return { ...object, message: { ...message, data } } as SnapshotObject;
}
