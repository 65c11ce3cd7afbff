import type { Snapshot, Timeline } from "@wirescope/channelz/timeline";
import type { RecordedHistory } from "./live-task.js";

/** A snapshot, and the one before it for rates. */
export interface Reading {
  readonly snapshot: Snapshot;
  readonly before: Snapshot | undefined;
}

/** A movable position in a recording. */
export interface Player {
  current(): Reading | undefined;
  isAtEnd(): boolean;
  /** Moves to the next read, or to the one before. */
  step(direction: 1 | -1): void;
  /** Moves by a duration; forward by at least one read. */
  skip(byMs: number): void;
  /** How long to show the current read, in milliseconds. Undefined at the end. */
  untilNextMs(): number | undefined;
}

/** A recording has gaps if the recorder did not run; the player skips most of a gap. */
const maxWaitMs = 2000;

/** Creates a player at the chosen moment, else at the start of a recording. */
export function createPlayer(timeline: Timeline, { chosenMs, firstMs, lastMs, intervalMs }: RecordedHistory): Player {
  let reading: Reading | undefined;
  let following: Generator<Snapshot, void, undefined> | undefined;
  let next: Snapshot | undefined;

  function moveTo(timeMs: number): void {
    const snapshot = timeline.at(Math.min(lastMs, Math.max(firstMs, timeMs)));
    if (snapshot === undefined) return;
    reading = { snapshot, before: timeline.at(snapshot.timeMs - Math.max(1, intervalMs)) };
    following = timeline.snapshots({ firstMs: snapshot.timeMs + Math.max(1, intervalMs) });
    next = following.next().value ?? undefined;
  }

  function advance(): void {
    if (next === undefined || reading === undefined) return;
    const after = next.timeMs + intervalMs;
    reading = { snapshot: next, before: reading.snapshot };
    do next = following?.next().value ?? undefined;
    while (next !== undefined && next.timeMs < after);
  }

  moveTo(chosenMs ?? firstMs);
  return {
    current: () => reading,
    isAtEnd: () => next === undefined,
    step(direction) {
      if (direction === 1) advance();
      else if (reading?.before !== undefined) moveTo(reading.before.timeMs);
    },
    skip(byMs) {
      const from = reading?.snapshot;
      moveTo((from?.timeMs ?? firstMs) + byMs);
      if (byMs > 0 && reading?.snapshot.timeMs === from?.timeMs) advance();
    },
    untilNextMs() {
      if (next === undefined || reading === undefined) return undefined;
      return Math.min(maxWaitMs, next.timeMs - reading.snapshot.timeMs);
    },
  };
}
