import {
  type Counters,
  inFlight,
  noCounters,
  ratesBetween,
  type Snapshot,
  type SnapshotObject,
} from "@wirescope/channelz/timeline";
import { mentions } from "./run-watch.js";

/** The orders of rows. */
export const topOrders = ["problems", "rate", "failures", "in-flight", "name", "id"] as const;
export type TopOrder = (typeof topOrders)[number];

/** An object and its traffic between two reads. */
export interface TopRow {
  readonly object: SnapshotObject;
  /** Counts per second. */
  readonly rates: Counters;
  readonly inFlight: number;
  /** The share of failed calls among those that ended since the earlier read, from 0 to 1; undefined if none ended. */
  readonly failureRate: number | undefined;
}

/**
 * The rows for the children of an object, or for the top-level channels and servers. `before` is an earlier read; without it there are
 * no rates yet.
 */
export function topRows(snapshot: Snapshot, before: Snapshot | undefined, parent?: SnapshotObject): TopRow[] {
  const elapsedMs = before === undefined ? 0 : snapshot.timeMs - before.timeMs;
  const objects =
    parent === undefined
      ? [...snapshot.objects.values()].filter(({ isTop, kind }) => isTop || kind === "server")
      : parent.children.flatMap((key) => snapshot.objects.get(key) ?? []);
  return objects.map((object) => {
    const earlier = before?.objects.get(object.key);
    const rates = earlier === undefined ? noCounters : ratesBetween(earlier, object, elapsedMs);
    const ended = rates.succeeded + rates.failed;
    return {
      object,
      rates,
      inFlight: inFlight(object.counters),
      failureRate: ended > 0 ? rates.failed / ended : undefined,
    };
  });
}

/** The rows that match a filter, sorted. Equal rows keep their order, so that they do not jump. */
export function arrangeRows(rows: readonly TopRow[], order: TopOrder, filter = ""): TopRow[] {
  const shown = filter === "" ? [...rows] : rows.filter(({ object }) => mentions(object, filter));
  return shown.sort(comparators[order]);
}

type Comparator = (a: TopRow, b: TopRow) => number;

const descending =
  (value: (row: TopRow) => number): Comparator =>
  (a, b) =>
    value(b) - value(a);

const comparators: Readonly<Record<TopOrder, Comparator>> = {
  problems: (a, b) => descending(severity)(a, b) || descending((row) => row.rates.started)(a, b),
  rate: descending((row) => row.rates.started),
  failures: descending((row) => row.rates.failed),
  "in-flight": descending((row) => row.inFlight),
  name: (a, b) => labelOf(a.object).localeCompare(labelOf(b.object), "en"),
  id: (a, b) => (a.object.id < b.object.id ? -1 : a.object.id > b.object.id ? 1 : 0),
};

function severity({ object: { state, unreadable }, failureRate = 0 }: TopRow): number {
  if (unreadable !== undefined) return 4;
  if (state === "TRANSIENT_FAILURE") return 3;
  if (failureRate > 0) return 2;
  return state === "CONNECTING" ? 1 : 0;
}

/** The label of an object in a list. */
export function labelOf({ name, target, kind, id }: SnapshotObject): string {
  return name || target || `${kind} ${id}`;
}

/** A row as a JSON value. */
export function rowToJson({ object, rates, inFlight, failureRate }: TopRow): object {
  const { origin, kind, id, name, target, state, counters, unreadable } = object;
  const perSecond = { started: rates.started, succeeded: rates.succeeded, failed: rates.failed };
  return { origin, kind, id: String(id), name, target, state, perSecond, inFlight, failureRate, counters, unreadable };
}
