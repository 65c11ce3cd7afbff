import type { JsonValue } from "@bufbuild/protobuf";
import {
  type Counters,
  createSnapshot,
  diffSnapshots,
  type ObjectKey,
  ratesBetween,
  type Snapshot,
  type SnapshotObject,
} from "@wirescope/channelz/timeline";

/** One side of a comparison: a moment, and an earlier one for rates. */
export interface Side {
  readonly label: string;
  /** Sides with the same identity are the same process, so that their ids can be compared. */
  readonly identity: string;
  readonly snapshot: Snapshot;
  readonly earlier?: Snapshot | undefined;
}

/** An object whose state differs. */
export interface StateDifference {
  readonly object: SnapshotObject;
  readonly before: string;
  readonly after: string;
}

/** An object whose rates differ, in calls or streams per second. */
export interface RateDifference {
  readonly object: SnapshotObject;
  readonly started: readonly [before: number, after: number];
  readonly failed: readonly [before: number, after: number];
}

/** What differs between two sides. */
export interface Comparison {
  readonly appeared: readonly SnapshotObject[];
  readonly gone: readonly SnapshotObject[];
  readonly states: readonly StateDifference[];
  /** The largest difference first. Empty if one side has no earlier moment. */
  readonly rates: readonly RateDifference[];
  /** The number of sockets on each side: sockets of different processes cannot be compared, because their addresses never match. */
  readonly sockets: readonly [before: number, after: number];
}

/** Compares two sides. Objects of different processes match by kind, name and target. */
export function compareSides(before: Side, after: Side): Comparison {
  const isOneProcess = before.identity === after.identity;
  const [a, b] = isOneProcess ? [before.snapshot, after.snapshot] : [byLabel(before.snapshot), byLabel(after.snapshot)];
  const delta = diffSnapshots(a, b);
  const countSockets = ({ objects }: Snapshot): number =>
    [...objects.values()].filter(({ kind }) => kind === "socket").length;
  return {
    appeared: delta.appeared,
    gone: delta.disappeared,
    states: delta.changed.flatMap(({ before: earlier, after: later }) => {
      const [from, to] = [stateOf(earlier), stateOf(later)];
      return from === to ? [] : [{ object: later, before: from, after: to }];
    }),
    rates: compareRates(ratesOf(before, isOneProcess), ratesOf(after, isOneProcess)),
    sockets: [countSockets(before.snapshot), countSockets(after.snapshot)],
  };
}

/** Whether anything differs other than rates, which always do. */
export function hasDifferences({ appeared, gone, states }: Comparison): boolean {
  return appeared.length + gone.length + states.length > 0;
}

/** A comparison as JSON. */
export function comparisonJson({ appeared, gone, states, rates, sockets }: Comparison): { [name: string]: JsonValue } {
  return {
    appeared: appeared.map(objectJson),
    gone: gone.map(objectJson),
    states: states.map(({ object, before, after }) => ({ ...objectJson(object), before, after })),
    rates: rates.map(({ object, started, failed }) => ({
      ...objectJson(object),
      startedPerSecond: { before: started[0], after: started[1] },
      failedPerSecond: { before: failed[0], after: failed[1] },
    })),
    sockets: { before: sockets[0], after: sockets[1] },
  };
}

function objectJson({ kind, id, name, origin, target }: SnapshotObject): { [name: string]: JsonValue } {
  return { kind, id: String(id), name, ...(origin === "" ? {} : { origin }), ...(target ? { target } : {}) };
}

function stateOf({ state, unreadable }: SnapshotObject): string {
  return unreadable === undefined ? (state ?? "") : "UNREADABLE";
}

/** The snapshot with keys that work across processes: kind, name and target, and a number for duplicates. */
function byLabel(snapshot: Snapshot): Snapshot {
  const counts = new Map<string, number>();
  const objects = [...snapshot.objects.values()]
    .filter(({ kind }) => kind !== "socket")
    .map((object): SnapshotObject => {
      const label = `${object.kind}|${object.name}|${object.target ?? ""}`;
      const number = (counts.get(label) ?? 0) + 1;
      counts.set(label, number);
      return { ...object, key: `${label}|${number}` };
    });
  return createSnapshot({ ...snapshot, objects });
}

type Rates = ReadonlyMap<ObjectKey, { readonly object: SnapshotObject; readonly rates: Counters }>;

function ratesOf({ snapshot, earlier }: Side, isOneProcess: boolean): Rates | undefined {
  if (earlier === undefined) return undefined;
  const [from, to] = isOneProcess ? [earlier, snapshot] : [byLabel(earlier), byLabel(snapshot)];
  const elapsedMs = snapshot.timeMs - earlier.timeMs;
  return new Map(
    [...to.objects].flatMap(([key, object]) => {
      const before = from.objects.get(key);
      return before === undefined ? [] : [[key, { object, rates: ratesBetween(before, object, elapsedMs) }] as const];
    }),
  );
}

/** Rates that differ by more than 10 % and by at least 0.1 per second. */
function compareRates(before: Rates | undefined, after: Rates | undefined): RateDifference[] {
  if (before === undefined || after === undefined) return [];
  const differs = ([a, b]: readonly [number, number]): boolean =>
    Math.abs(a - b) >= 0.1 && Math.abs(a - b) > 0.1 * Math.max(a, b);
  return [...after]
    .flatMap(([key, { object, rates }]): RateDifference[] => {
      const earlier = before.get(key);
      if (earlier === undefined || object.kind === "socket") return [];
      const started = [earlier.rates.started, rates.started] as const;
      const failed = [earlier.rates.failed, rates.failed] as const;
      return differs(started) || differs(failed) ? [{ object, started, failed }] : [];
    })
    .sort((a, b) => Math.abs(b.started[1] - b.started[0]) - Math.abs(a.started[1] - a.started[0]));
}
