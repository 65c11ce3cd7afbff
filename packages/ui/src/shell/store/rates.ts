import { type Counters, noCounters, type ObjectKey, ratesBetween, type Snapshot } from "@wirescope/channelz/timeline";

/** Rates are averages over this time: a shorter one makes them jump, a longer one makes them lag. */
export const rateWindowMs = 5_000;

/** The snapshots of the last seconds, from which rates are computed. */
export interface RateWindow {
  add(snapshot: Snapshot): void;
  /** Counts per second of an object, until the newest snapshot. All are 0 if it is new. */
  rates(key: ObjectKey): Counters;
  clear(): void;
}

export function createRateWindow(): RateWindow {
  let kept: Snapshot[] = [];
  return {
    add(snapshot) {
      kept.push(snapshot);
      // Keeps the newest snapshot that is older than the window, so that a whole window is always covered.
      const first = kept.findLastIndex(({ timeMs }) => timeMs <= snapshot.timeMs - rateWindowMs);
      if (first > 0) kept = kept.slice(first);
    },
    rates(key) {
      const newest = kept.at(-1);
      const after = newest?.objects.get(key);
      const oldest = kept.find(({ objects }) => objects.has(key));
      const before = oldest?.objects.get(key);
      if (newest === undefined || oldest === undefined || before === undefined || after === undefined)
        return noCounters;
      return ratesBetween(before, after, newest.timeMs - oldest.timeMs);
    },
    clear() {
      kept = [];
    },
  };
}
