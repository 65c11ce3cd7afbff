import { create, fromBinary } from "@bufbuild/protobuf";
import { type Frame, FrameSchema } from "../gen/wirescope/v1/timeline_pb.js";
import type { Delta } from "./delta.js";
import { applyEncodedDelta, encodeDelta } from "./encode-delta.js";
import { decodeSnapshot, encodeSnapshot } from "./encode-snapshot.js";
import type { Snapshot } from "./snapshot.js";

/** A frame with a whole snapshot. */
export function snapshotFrame(snapshot: Snapshot): Frame {
  return create(FrameSchema, { content: { case: "snapshot", value: encodeSnapshot(snapshot) } });
}

/** A frame with the difference from the snapshot of the frame before. */
export function deltaFrame(before: Snapshot, delta: Delta): Frame {
  return create(FrameSchema, { content: { case: "delta", value: encodeDelta(before, delta) } });
}

/** The snapshot after a frame. Throws a TypeError if the frame does not fit the snapshot before it. */
export function applyFrame(before: Snapshot | undefined, { content }: Frame): Snapshot {
  if (content.case === "snapshot") return decodeSnapshot(content.value);
  if (content.case === "delta" && before !== undefined) return applyEncodedDelta(before, content.value);
  throw new TypeError("A timeline has a frame without a snapshot before it.");
}

/** A whole snapshot and the deltas after it, encoded. */
export interface FrameRun {
  readonly frames: readonly { readonly timeMs: number; readonly bytes: Uint8Array }[];
}

/** A snapshot with more objects is not decoded. */
const maxObjects = 1_000_000;
/**
 * The maximum number of objects in all snapshots of a run. A frame of ten bytes can repeat a snapshot of a million objects, so the
 * number of bytes does not limit the work.
 */
export const maxRunObjects: number = 2 ** 26;

/** The snapshots of a run, oldest first. A frame that is malformed, or exceeds a limit, ends it: a recording may come from anyone. */
export function* snapshotsOf(run: FrameRun, maxRun: number = maxRunObjects): Generator<Snapshot, void, undefined> {
  let snapshot: Snapshot | undefined;
  let objects = 0;
  for (const { timeMs, bytes } of run.frames) {
    try {
      snapshot = applyFrame(snapshot, fromBinary(FrameSchema, bytes));
    } catch {
      return;
    }
    objects += snapshot.objects.size;
    if (snapshot.timeMs !== timeMs || snapshot.objects.size > maxObjects || objects > maxRun) return;
    yield snapshot;
  }
}

/** Reads individual snapshots of runs. */
export interface RunReader {
  /** The newest snapshot of the run that is not later. Throws a TypeError if the run has none. */
  read(run: FrameRun, timeMs: number): Snapshot;
  /** Drops everything that is kept of a run. */
  forget(run: FrameRun | undefined): void;
}

/** Creates a reader that continues at its last snapshot, because people move through time step by step. */
export function createRunReader(): RunReader {
  let last:
    | { readonly run: FrameRun; readonly snapshots: Iterator<Snapshot>; index: number; snapshot: Snapshot | undefined }
    | undefined;
  return {
    read(run, timeMs) {
      const index = run.frames.findLastIndex((frame) => frame.timeMs <= timeMs);
      if (last?.run !== run || last.index > index) {
        last = { run, snapshots: snapshotsOf(run), index: -1, snapshot: undefined };
      }
      while (last.index < index) {
        const { value, done } = last.snapshots.next();
        if (done) break;
        last.index += 1;
        last.snapshot = value;
      }
      if (last.snapshot === undefined) throw new TypeError("A timeline has no snapshot at this time.");
      return last.snapshot;
    },
    forget(run) {
      if (last?.run === run) last = undefined;
    },
  };
}
