import { BinaryReader } from "@bufbuild/protobuf/wire";
import { FrameSchema } from "../../gen/wirescope/v1/timeline_pb.js";
import { changesIn, type TimelineChange } from "../changes.js";
import { diffSnapshots } from "../delta.js";
import { createRunReader, type FrameRun, snapshotsOf } from "../frame.js";
import { hasAtMostMessages } from "../message-count.js";
import type { Snapshot } from "../snapshot.js";
import type { Timeline } from "../timeline.js";
import { maxTimeMs } from "./recording-format.js";

/** A run of a recording, whose frames are loaded when they are needed. */
export interface LazyRun {
  readonly startMs: number;
  load(): FrameRun;
}

/** A frame with more messages than this is not decoded. */
const maxMessages = 4_000_000;

/** The timeline of recorded runs. Throws a TypeError if none of them can be read. */
export function runTimeline(allRuns: readonly LazyRun[]): Timeline {
  // The clock may have been set back before a recording was continued.
  const runs = allRuns.toSorted((a, b) => a.startMs - b.startMs);
  const reader = createRunReader();
  let loaded: { readonly lazy: LazyRun; readonly run: FrameRun } | undefined;
  const load = (lazy: LazyRun): FrameRun => {
    if (loaded?.lazy !== lazy) loaded = { lazy, run: lazy.load() };
    return loaded.run;
  };

  function at(timeMs: number): Snapshot | undefined {
    for (let index = runs.findLastIndex(({ startMs }) => startMs <= timeMs); index >= 0; index -= 1) {
      try {
        return reader.read(load(runs[index] as LazyRun), timeMs);
      } catch {
        // Blocks with a right checksum that cannot be decoded were made on purpose.
        runs.splice(index, 1);
      }
    }
    return undefined;
  }

  const newest = at(Number.POSITIVE_INFINITY);
  if (newest === undefined) throw new TypeError("The recording contains no readable snapshot.");
  const range = { firstMs: runs[0]?.startMs ?? 0, lastMs: newest.timeMs };

  function* snapshots({ firstMs = range.firstMs, lastMs = range.lastMs } = {}): Generator<Snapshot, void, undefined> {
    let afterMs = firstMs;
    const all = [...runs];
    for (const [index, run] of all.entries()) {
      const next = all[index + 1];
      if (next !== undefined && next.startMs <= firstMs) continue;
      if (run.startMs > lastMs) return;
      for (const snapshot of snapshotsOf(load(run))) {
        if (snapshot.timeMs > lastMs) return;
        if (snapshot.timeMs < afterMs) continue;
        afterMs = snapshot.timeMs;
        yield snapshot;
      }
    }
  }

  return {
    newest: () => newest,
    at: (timeMs) => (timeMs >= newest.timeMs ? newest : at(timeMs)),
    range: () => range,
    changes(within = {}) {
      const changes: TimelineChange[] = [];
      let before = within.firstMs === undefined ? undefined : at(within.firstMs - 1);
      for (const snapshot of snapshots(within)) {
        if (before !== undefined) changes.push(...changesIn(diffSnapshots(before, snapshot), before.origins));
        before = snapshot;
      }
      return changes;
    },
    snapshots,
    subscribe: () => () => {},
  };
}

/**
 * Adds the frames of a decompressed block, whose header contains the time of the first. Stops at a frame that is too large, and
 * returns false. Throws if a frame is malformed, or earlier than the previous one.
 */
export function addFrames(frames: { timeMs: number; bytes: Uint8Array }[], raw: Uint8Array, firstMs: number): boolean {
  const reader = new BinaryReader(raw);
  let minMs = Math.max(firstMs, frames.at(-1)?.timeMs ?? 0);
  let maxMs = firstMs;
  while (reader.pos < reader.len) {
    const bytes = reader.bytes();
    if (!hasAtMostMessages(FrameSchema, bytes, maxMessages)) return false;
    const timeMs = timeOf(bytes);
    if (timeMs < minMs || timeMs > maxMs) throw new TypeError("A frame of the recording has an impossible time.");
    minMs = timeMs;
    maxMs = maxTimeMs;
    frames.push({ timeMs, bytes });
  }
  return true;
}

/** The time of a frame, without decoding the rest of it. Throws if it has none. */
function timeOf(frame: Uint8Array): number {
  const content = new BinaryReader(frame);
  const [contentNumber] = content.tag();
  // The field of Snapshot.time_ms, or of Delta.to_ms.
  const timeNumber = contentNumber === 1 ? 1 : 2;
  const reader = new BinaryReader(content.bytes());
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === timeNumber) return Number(reader.int64());
    reader.skip(wireType, number);
  }
  throw new TypeError("A frame of the recording has no time.");
}
