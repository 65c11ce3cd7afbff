import { type Counters, sumCounters } from "./counters.js";
import type { ObjectKey, Snapshot } from "./snapshot.js";
import type { Timeline, TimelineRange } from "./timeline.js";

/** A counter of an object; an empty key means the sum of all top channels and servers. */
export interface SeriesRequest {
  readonly key: ObjectKey;
  readonly field: keyof Counters;
}

/** The values of a counter over time. Times at which the object did not exist are left out. */
export interface Series extends SeriesRequest {
  readonly points: readonly { readonly timeMs: number; readonly value: number }[];
}

/** The maximum time that the event loop is blocked. */
const maxTurnMs = 10;

/**
 * The values of counters over a part of a timeline, at most `maxPoints` of each, evenly spaced. Long ranges take a while, so other
 * tasks run in between.
 */
export async function readSeries(
  timeline: Timeline,
  requests: readonly SeriesRequest[],
  options: Partial<TimelineRange> & { readonly maxPoints?: number } = {},
): Promise<Series[]> {
  const { maxPoints = 300 } = options;
  const kept = timeline.range();
  if (kept === undefined || requests.length === 0) return requests.map((request) => ({ ...request, points: [] }));
  const firstMs = Math.max(options.firstMs ?? kept.firstMs, kept.firstMs);
  const lastMs = Math.min(options.lastMs ?? kept.lastMs, kept.lastMs);
  const stepMs = (lastMs - firstMs) / Math.max(1, maxPoints - 1);
  const series = requests.map((request) => ({ ...request, points: [] as { timeMs: number; value: number }[] }));
  const add = (snapshot: Snapshot): void => {
    const sum = requests.some(({ key }) => key === "") ? totalOf(snapshot) : undefined;
    for (const { key, field, points } of series) {
      const counters = key === "" ? sum : snapshot.objects.get(key)?.counters;
      if (counters !== undefined) points.push({ timeMs: snapshot.timeMs, value: counters[field] });
    }
  };

  let turn = performance.now();
  let next = firstMs;
  for (const snapshot of timeline.snapshots({ firstMs, lastMs })) {
    if (performance.now() - turn > maxTurnMs) {
      await new Promise((resolve) => setTimeout(resolve));
      turn = performance.now();
    }
    if (snapshot.timeMs < next && snapshot.timeMs !== lastMs) continue;
    add(snapshot);
    while (next <= snapshot.timeMs) next += Math.max(1, stepMs);
  }
  return series.map((each) => ({ ...each, points: each.points.slice(-maxPoints) }));
}

function totalOf({ objects }: Snapshot): Counters {
  return sumCounters(
    [...objects.values()].filter(({ kind, isTop }) => isTop || kind === "server").map(({ counters }) => counters),
  );
}
