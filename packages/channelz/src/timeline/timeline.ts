import { toBinary } from "@bufbuild/protobuf";
import { type Frame, FrameSchema } from "../gen/wirescope/v1/timeline_pb.js";
import { changesIn, type TimelineChange } from "./changes.js";
import { applyDelta, type Delta, diffSnapshots } from "./delta.js";
import { createRunReader, deltaFrame, type FrameRun, snapshotFrame, snapshotsOf } from "./frame.js";
import type { Snapshot } from "./snapshot.js";

/** The limits of a timeline. */
export interface TimelineOptions {
  /** The maximum size of the history in bytes, in addition to the newest snapshot. Default 32 MiB. */
  readonly maxBytes?: number | undefined;
  /** The maximum age of the history, in milliseconds; somewhat more may be kept. Default: no limit. */
  readonly maxAgeMs?: number | undefined;
  /** After this many deltas a whole snapshot is stored, so that any time can be read quickly. Default 60. */
  readonly keyframeEvery?: number | undefined;
}

/** Receives each delta as it is appended, with the snapshot after it. The first snapshot has no delta. */
export type TimelineListener = (snapshot: Snapshot, delta: Delta | undefined) => void;

/** The time that a timeline covers, in milliseconds since 1970. */
export interface TimelineRange {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** A sequence of snapshots: in memory, or in a recording. */
export interface Timeline {
  /** The newest snapshot; undefined before the first. */
  newest(): Snapshot | undefined;
  /** The snapshot at a time: the newest that is not later. Undefined if the history starts later. */
  at(timeMs: number): Snapshot | undefined;
  /** The time range of the history; undefined before the first snapshot. */
  range(): TimelineRange | undefined;
  /** The changes in the history, or in a part of it, oldest first. */
  changes(within?: Partial<TimelineRange>): TimelineChange[];
  /** The snapshots in the history, or in a part of it, oldest first. */
  snapshots(within?: Partial<TimelineRange>): Generator<Snapshot, void, undefined>;
  /** Calls the listener for each snapshot from now on. Returns an unsubscribe function. */
  subscribe(listener: TimelineListener): () => void;
}

/** A timeline in memory, limited in bytes. The oldest snapshots are dropped first. */
export interface GrowingTimeline extends Timeline {
  /**
   * Adds a snapshot. If it is not later than the newest, its time is set to one millisecond later. Returns it with the unchanged
   * objects of the previous snapshot.
   */
  append(snapshot: Snapshot): Snapshot;
  /** The size of the history in bytes. */
  bytes(): number;
}

interface StoredFrame {
  readonly timeMs: number;
  readonly bytes: Uint8Array;
  readonly changes: readonly TimelineChange[];
}

/** A run of frames, which are dropped together. */
interface StoredRun extends FrameRun {
  readonly frames: StoredFrame[];
  bytes: number;
}

/** Creates an empty timeline. */
export function createTimeline(options: TimelineOptions = {}): GrowingTimeline {
  const { maxBytes = 2 ** 25, maxAgeMs = Number.POSITIVE_INFINITY, keyframeEvery = 60 } = options;
  const listeners = new Set<TimelineListener>();
  let runs: StoredRun[] = [];
  let newest: Snapshot | undefined;
  let bytes = 0;
  const reader = createRunReader();

  function store(frame: Frame, snapshot: Snapshot, changes: readonly TimelineChange[]): void {
    const stored = { timeMs: snapshot.timeMs, bytes: toBinary(FrameSchema, frame), changes };
    const size = sizeOf(stored);
    let run = runs.at(-1);
    if (run === undefined || frame.content.case === "snapshot") {
      run = { frames: [], bytes: 0 };
      runs.push(run);
    }
    run.frames.push(stored);
    run.bytes += size;
    bytes += size;
    // The first run is needed as long as the second one begins later than the oldest time to keep.
    const isOld = (): boolean => (runs[1]?.frames[0]?.timeMs ?? Number.POSITIVE_INFINITY) < snapshot.timeMs - maxAgeMs;
    while ((bytes > maxBytes && runs.length > 0) || isOld()) {
      const [oldest] = runs;
      bytes -= oldest?.bytes ?? 0;
      runs = runs.slice(1);
      reader.forget(oldest);
    }
  }

  function needsKeyframe(): boolean {
    const run = runs.at(-1);
    if (run === undefined || run.frames.length > keyframeEvery) return true;
    if ((newest?.timeMs ?? 0) - (run.frames[0]?.timeMs ?? 0) > maxAgeMs / 4) return true;
    // A run that is large compared with its first frame, or with the limit, would lose too much history when it is dropped.
    const keyframe = run.frames[0];
    return run.bytes > 8 * (keyframe === undefined ? 0 : sizeOf(keyframe)) || run.bytes > maxBytes / 4;
  }

  return {
    append(appended) {
      const last = newest;
      if (last === undefined) {
        newest = appended;
        store(snapshotFrame(appended), appended, []);
        notify(appended, undefined);
        return appended;
      }
      const timeMs = Math.max(appended.timeMs, last.timeMs + 1);
      const delta = diffSnapshots(last, timeMs === appended.timeMs ? appended : { ...appended, timeMs });
      const snapshot = applyDelta(last, delta);
      newest = snapshot;
      const changes = changesIn(delta, last.origins);
      store(needsKeyframe() ? snapshotFrame(snapshot) : deltaFrame(last, delta), snapshot, changes);
      notify(snapshot, delta);
      return snapshot;
    },
    newest: () => newest,
    at(timeMs) {
      if (newest !== undefined && timeMs >= newest.timeMs) return newest;
      const run = runs.findLast(({ frames }) => (frames[0]?.timeMs ?? 0) <= timeMs);
      return run && reader.read(run, timeMs);
    },
    range() {
      if (newest === undefined) return undefined;
      return { firstMs: runs[0]?.frames[0]?.timeMs ?? newest.timeMs, lastMs: newest.timeMs };
    },
    changes({ firstMs = Number.NEGATIVE_INFINITY, lastMs = Number.POSITIVE_INFINITY } = {}) {
      return runs.flatMap(({ frames }) =>
        frames.flatMap(({ timeMs, changes }) => (timeMs >= firstMs && timeMs <= lastMs ? changes : [])),
      );
    },
    *snapshots({ firstMs = Number.NEGATIVE_INFINITY, lastMs = Number.POSITIVE_INFINITY } = {}) {
      for (const run of [...runs]) {
        if ((run.frames.at(-1)?.timeMs ?? 0) < firstMs) continue;
        for (const snapshot of snapshotsOf(run)) {
          if (snapshot.timeMs > lastMs) return;
          if (snapshot.timeMs >= firstMs) yield snapshot;
        }
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    bytes: () => bytes,
  };

  function notify(snapshot: Snapshot, delta: Delta | undefined): void {
    for (const listener of [...listeners]) listener(snapshot, delta);
  }
}

/** The memory of a frame: its bytes, and the objects around them. */
function sizeOf({ bytes, changes }: StoredFrame): number {
  return (
    bytes.length +
    200 +
    changes.reduce((sum, { key, name, text }) => sum + 100 + 2 * (key.length + name.length + text.length), 0)
  );
}
