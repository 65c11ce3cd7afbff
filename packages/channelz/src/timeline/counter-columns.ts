import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { sameFields, sameValue } from "./same-value.js";
import type { SnapshotObject } from "./snapshot.js";

// Most changes in a process with traffic are advancing counters and times. They are encoded as columns, which need a few bytes per
// object. Most calls that start also end and have one message each way, and their times are close to the sample, so a column
// contains only the difference from that: usually nothing.

type Column = readonly [field: string, column: string];

/** The fields of an object's data that are encoded as columns, with their names in the data and in the column message. */
interface Layout {
  /** `plus` and `minus` are earlier counters: a counter is expected to advance by the difference of one minus that of the other. */
  readonly counters: readonly (readonly [...Column, plus?: number, minus?: number])[];
  readonly times: readonly Column[];
  readonly windows: readonly Column[];
}

const callLayout: Layout = {
  counters: [
    ["callsStarted", "started"],
    ["callsFailed", "failed"],
    ["callsSucceeded", "succeeded", 0, 1],
  ],
  times: [["lastCallStartedTimestamp", "lastCallStarted"]],
  windows: [],
};

const streamLayout: Layout = {
  counters: [
    ["streamsStarted", "started"],
    ["streamsFailed", "failed"],
    ["streamsSucceeded", "succeeded", 0, 1],
    ["messagesSent", "messagesSent", 0],
    ["messagesReceived", "messagesReceived", 3],
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

/** The common fields of CallColumns and StreamColumns. */
export interface Columns {
  position: number[];
  timeUnitNs: bigint;
  [column: string]: unknown;
}

/** The changes between two states of one object, in the order of its columns. */
interface Row {
  /** Differences. */
  readonly counters: readonly bigint[];
  /** The later times in nanoseconds since 1970; undefined if a time is the same. */
  readonly times: readonly (bigint | undefined)[];
  /** Differences. */
  readonly windows: readonly bigint[];
}

/** An object that changed only in its columns. */
export interface ColumnChange {
  readonly position: number;
  readonly kind: SnapshotObject["kind"];
  readonly row: Row;
}

/** The difference between two states of an object as a row; undefined if anything else changed, or a value is out of range. */
export function rowBetween(before: SnapshotObject, after: SnapshotObject): Row | undefined {
  const [a, b] = [before.message, after.message];
  if (a?.data === undefined || b?.data === undefined) return undefined;
  if (before.name !== after.name || before.isTop !== after.isTop || before.unreadable !== after.unreadable) return;
  if (!sameValue(before.corrections, after.corrections)) return undefined;
  if (!sameFields(a, b, dataField) || !sameFields(a.data, b.data, columnFields)) return undefined;
  // The message of a server does not list the connections that it accepted.
  if (before.kind === "server" && !sameValue(before.children, after.children)) return undefined;
  const [from, to] = [a.data, b.data] as unknown as Record<string, unknown>[];
  if (from === undefined || to === undefined) return undefined;
  const layout = layoutOf(after.kind);
  const counters = layout.counters.map(([field]) => (to[field] as bigint) - (from[field] as bigint));
  const times: (bigint | undefined)[] = [];
  for (const [field] of layout.times) {
    const [earlier, later] = [from[field] as Timestamp | undefined, to[field] as Timestamp | undefined];
    if (earlier === undefined && later === undefined) times.push(undefined);
    else if (isOrdinary(earlier) && isOrdinary(later)) {
      times.push(nanoseconds(earlier) === nanoseconds(later) ? undefined : nanoseconds(later));
    } else return undefined;
  }
  const windows: bigint[] = [];
  for (const [field] of layout.windows) {
    const [earlier, later] = [from[field] as bigint | undefined, to[field] as bigint | undefined];
    if ((earlier === undefined) !== (later === undefined)) return undefined;
    windows.push((later ?? 0n) - (earlier ?? 0n));
  }
  const isSmall = (difference: bigint): boolean => difference < maxDifference && difference > -maxDifference;
  return counters.every(isSmall) && windows.every(isSmall) ? { counters, times, windows } : undefined;
}

/** The object after a row was added to it. */
export function addRow(object: SnapshotObject, row: Row): SnapshotObject["message"] {
  const { message } = object;
  if (message?.data === undefined) throw new TypeError("A timeline adds counters to an object that has none.");
  const data = { ...message.data } as Record<string, unknown>;
  const { counters, times, windows } = layoutOf(object.kind);
  for (const [index, [field]] of counters.entries()) {
    data[field] = BigInt.asIntN(64, (data[field] as bigint) + (row.counters[index] ?? 0n));
  }
  for (const [index, [field]] of times.entries()) {
    const time = row.times[index];
    if (time !== undefined && data[field] !== undefined) data[field] = timestampOf(time);
  }
  for (const [index, [field]] of windows.entries()) {
    const window = data[field] as bigint | undefined;
    if (window !== undefined) data[field] = BigInt.asIntN(64, window + (row.windows[index] ?? 0n));
  }
  return { ...message, data } as SnapshotObject["message"];
}

/** Arranges rows as columns; columns of zeros stay empty. The changes are in the order of their positions; `timeMs` is the sample's. */
export function columnsOf(changes: readonly ColumnChange[], timeMs: number): Columns | undefined {
  const [first] = changes;
  if (first === undefined) return undefined;
  const { counters, times, windows } = layoutOf(first.kind);
  const unit = commonUnit(changes.flatMap(({ row }) => row.times.filter((time) => time !== undefined)));
  const now = inUnits(timeMs, unit);
  const columns: Columns = { position: [], timeUnitNs: unit };
  let previous = -1;
  for (const { position } of changes) {
    columns.position.push(position - previous);
    previous = position;
  }
  const add = (column: string, pick: (row: Row) => bigint): void => {
    const values = changes.map(({ row }) => pick(row));
    if (values.some((value) => value !== 0n)) columns[column] = values;
  };
  for (const [index, [, column, plus, minus]] of counters.entries()) {
    add(column, (row) => (row.counters[index] ?? 0n) - expected(row.counters, plus, minus));
  }
  for (const [index, [, column]] of times.entries()) {
    add(column, ({ times: { [index]: time } }) => {
      if (time === undefined) return 0n;
      const distance = time / unit - now;
      // 0 means that the time is the same as before.
      return distance >= 0n ? distance + 1n : distance;
    });
  }
  for (const [index, [, column]] of windows.entries()) add(column, (row) => row.windows[index] ?? 0n);
  return columns;
}

/** The rows of columns, with the positions of their objects. */
export function* rowsOf(
  columns: Columns,
  kind: SnapshotObject["kind"],
  timeMs: number,
): Generator<Omit<ColumnChange, "kind">> {
  const layout = layoutOf(kind);
  const unit = columns.timeUnitNs === 0n ? 1n : columns.timeUnitNs;
  const now = inUnits(timeMs, unit);
  const cell = (column: string, index: number): bigint => (columns[column] as readonly bigint[])[index] ?? 0n;
  let position = -1;
  for (const [index, distance] of columns.position.entries()) {
    position += distance;
    const counters: bigint[] = [];
    for (const [, column, plus, minus] of layout.counters) {
      counters.push(cell(column, index) + expected(counters, plus, minus));
    }
    const times = layout.times.map(([, column]) => {
      const value = cell(column, index);
      if (value === 0n) return undefined;
      const time = (now + (value > 0n ? value - 1n : value)) * unit;
      if (time / 1_000_000_000n >= maxSeconds || time / 1_000_000_000n <= -maxSeconds) {
        throw new TypeError("A timeline contains an impossible time.");
      }
      return time;
    });
    yield { position, row: { counters, times, windows: layout.windows.map(([, column]) => cell(column, index)) } };
  }
}

/** The advance of a counter if each call ends and has one message each way. */
function expected(differences: readonly bigint[], plus: number | undefined, minus: number | undefined): bigint {
  const at = (index: number | undefined): bigint => (index === undefined ? 0n : (differences[index] ?? 0n));
  return at(plus) - at(minus);
}

function inUnits(timeMs: number, unit: bigint): bigint {
  return (BigInt(timeMs) * 1_000_000n) / unit;
}

const dataField: ReadonlySet<string> = new Set(["data"]);
// The sum of a few differences still fits into 64 bits.
const maxDifference = 2n ** 60n;
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
