import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { sameFields, sameValue } from "./same-value.js";
import type { SnapshotObject } from "./snapshot.js";

// Most changes of a process with traffic are numbers that count and times that advance. They are encoded as columns of
// differences, which need a few bytes for each object, and compress well.

/** Which fields of an object's data are encoded as columns, by their names in the data and in the column message. */
interface Layout {
  readonly counters: readonly (readonly [field: string, column: string])[];
  readonly times: readonly (readonly [field: string, column: string])[];
  readonly windows: readonly (readonly [field: string, column: string])[];
}

const callLayout: Layout = {
  counters: [
    ["callsStarted", "started"],
    ["callsSucceeded", "succeeded"],
    ["callsFailed", "failed"],
  ],
  times: [["lastCallStartedTimestamp", "lastCallStarted"]],
  windows: [],
};

const streamLayout: Layout = {
  counters: [
    ["streamsStarted", "started"],
    ["streamsSucceeded", "succeeded"],
    ["streamsFailed", "failed"],
    ["messagesSent", "messagesSent"],
    ["messagesReceived", "messagesReceived"],
    ["keepAlivesSent", "keepAlivesSent"],
  ],
  times: [
    ["lastLocalStreamCreatedTimestamp", "lastLocalStreamCreated"],
    ["lastRemoteStreamCreatedTimestamp", "lastRemoteStreamCreated"],
    ["lastMessageSentTimestamp", "lastMessageSent"],
    ["lastMessageReceivedTimestamp", "lastMessageReceived"],
  ],
  windows: [
    ["localFlowControlWindow", "localWindow"],
    ["remoteFlowControlWindow", "remoteWindow"],
  ],
};

const columnFields = new Set(
  [callLayout, streamLayout].flatMap(({ counters, times, windows }) =>
    [...counters, ...times, ...windows].map(([field]) => field),
  ),
);

/** The columns of a message: what CallColumns and StreamColumns have in common. */
export interface Columns {
  position: number[];
  timeUnitNs: bigint;
  [column: string]: unknown;
}

/** The differences between two states of one object, in the order of its columns. */
type Row = readonly bigint[];

/** One object that changed in nothing but its columns. */
export interface ColumnChange {
  readonly position: number;
  readonly kind: SnapshotObject["kind"];
  readonly row: Row;
}

/** The difference of two states of one object as a row; undefined if anything else changed, or a value is out of range. */
export function rowBetween(before: SnapshotObject, after: SnapshotObject): Row | undefined {
  const [a, b] = [before.message, after.message];
  if (a?.data === undefined || b?.data === undefined) return undefined;
  if (before.name !== after.name || before.isTop !== after.isTop || before.unreadable !== after.unreadable) return;
  if (!sameFields(a, b, dataField) || !sameFields(a.data, b.data, columnFields)) return undefined;
  // The message of a server does not list the connections that it accepted.
  if (before.kind === "server" && !sameValue(before.children, after.children)) return undefined;
  const [from, to] = [a.data, b.data] as unknown as Record<string, unknown>[];
  if (from === undefined || to === undefined) return undefined;
  const row: bigint[] = [];
  const { counters, times, windows } = layoutOf(after.kind);
  for (const [field] of counters) row.push((to[field] as bigint) - (from[field] as bigint));
  for (const [field] of times) {
    const [earlier, later] = [from[field] as Timestamp | undefined, to[field] as Timestamp | undefined];
    if (earlier === undefined && later === undefined) row.push(0n);
    else if (isOrdinary(earlier) && isOrdinary(later)) row.push(nanoseconds(later) - nanoseconds(earlier));
    else return undefined;
  }
  for (const [field] of windows) {
    const [earlier, later] = [from[field] as bigint | undefined, to[field] as bigint | undefined];
    if ((earlier === undefined) !== (later === undefined)) return undefined;
    row.push((later ?? 0n) - (earlier ?? 0n));
  }
  return row.every((difference) => difference < maxDifference && difference > -maxDifference) ? row : undefined;
}

/** The object after a row was added to it. */
export function addRow(object: SnapshotObject, row: Row): SnapshotObject["message"] {
  const { message } = object;
  if (message?.data === undefined) throw new TypeError("A timeline adds counters to an object that has none.");
  const data = { ...message.data } as Record<string, unknown>;
  const { counters, times, windows } = layoutOf(object.kind);
  let next = 0;
  const difference = (): bigint => {
    next += 1;
    return row[next - 1] ?? 0n;
  };
  for (const [field] of counters) data[field] = BigInt.asIntN(64, (data[field] as bigint) + difference());
  for (const [field] of times) {
    const time = data[field] as Timestamp | undefined;
    const step = difference();
    if (step !== 0n && time !== undefined) data[field] = timestampOf(nanoseconds(time) + step);
  }
  for (const [field] of windows) {
    const window = data[field] as bigint | undefined;
    const step = difference();
    if (window !== undefined) data[field] = BigInt.asIntN(64, window + step);
  }
  return { ...message, data } as SnapshotObject["message"];
}

/** Arranges rows as columns; columns of zeros stay empty. The changes are in the order of their positions. */
export function columnsOf(changes: readonly ColumnChange[]): Columns | undefined {
  const [first] = changes;
  if (first === undefined) return undefined;
  const { counters, times, windows } = layoutOf(first.kind);
  const timesAt = counters.length;
  const windowsAt = timesAt + times.length;
  const unit = commonUnit(changes.flatMap(({ row }) => row.slice(timesAt, windowsAt)));
  const columns: Columns = { position: [], timeUnitNs: unit };
  let previous = -1;
  for (const { position } of changes) {
    columns.position.push(position - previous);
    previous = position;
  }
  for (const [index, [, column]] of [...counters, ...times, ...windows].entries()) {
    const isTime = index >= timesAt && index < windowsAt;
    const values = changes.map(({ row }) => (isTime ? (row[index] ?? 0n) / unit : (row[index] ?? 0n)));
    if (values.some((value) => value !== 0n)) columns[column] = values;
  }
  return columns;
}

/** The rows of columns, with the positions of their objects. */
export function* rowsOf(columns: Columns, kind: SnapshotObject["kind"]): Generator<Omit<ColumnChange, "kind">> {
  const { counters, times, windows } = layoutOf(kind);
  const names = [...counters, ...times, ...windows].map(([, column]) => columns[column] as readonly bigint[]);
  const unit = columns.timeUnitNs === 0n ? 1n : columns.timeUnitNs;
  let position = -1;
  for (const [index, distance] of columns.position.entries()) {
    position += distance;
    const row = names.map((values, column) => {
      const value = values[index] ?? 0n;
      return column >= counters.length && column < counters.length + times.length ? value * unit : value;
    });
    yield { position, row };
  }
}

const dataField: ReadonlySet<string> = new Set(["data"]);
const maxDifference = 2n ** 62n;
const maxSeconds = 2n ** 33n;

function layoutOf(kind: SnapshotObject["kind"]): Layout {
  return kind === "socket" ? streamLayout : callLayout;
}

/** Whether a time survives its conversion to nanoseconds and back. */
function isOrdinary(time: Timestamp | undefined): time is Timestamp {
  return (
    time !== undefined &&
    time.nanos >= 0 &&
    time.nanos < 1e9 &&
    time.seconds < maxSeconds &&
    time.seconds > -maxSeconds &&
    time.$unknown === undefined
  );
}

function nanoseconds({ seconds, nanos }: Timestamp): bigint {
  return seconds * 1_000_000_000n + BigInt(nanos);
}

function timestampOf(all: bigint): Timestamp {
  const nanos = ((all % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return create(TimestampSchema, { seconds: (all - nanos) / 1_000_000_000n, nanos: Number(nanos) });
}

/** The largest of a few units that divides all times: peers count in nanoseconds, microseconds, milliseconds or coarser. */
function commonUnit(times: readonly bigint[]): bigint {
  return units.find((unit) => times.every((time) => time % unit === 0n)) ?? 1n;
}

const units = [1_000_000_000n, 100_000_000n, 10_000_000n, 1_000_000n, 1000n] as const;
