import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { crc32, deflateRawSync } from "node:zlib";
import { sizeDelimitedEncode } from "@bufbuild/protobuf/wire";
import { FrameSchema } from "../../gen/wirescope/v1/timeline_pb.js";
import { applyDelta, diffSnapshots } from "../delta.js";
import { deltaFrame, maxRunObjects, snapshotFrame } from "../frame.js";
import {
  checkedBytes,
  fileMagic,
  headerLength,
  marker,
  maxPayloadBytes,
  maxRunBytes,
  nextWindow,
} from "../recording/recording-format.js";
import { scanRecording } from "../recording/scan-recording.js";
import { createTimeRounder } from "../round-times.js";
import type { Snapshot } from "../snapshot.js";
import { bytesOf } from "./recording.js";

/** Options for writing a recording. */
export interface RecordingOptions {
  /** The maximum size of the file. Default 1 GiB. */
  readonly maxBytes?: number | undefined;
  /** Snapshots are written together after this time, in milliseconds; a killed process loses that much. Default 2000. */
  readonly flushMs?: number | undefined;
  /** A whole snapshot is stored after this time, in milliseconds. Default 300,000. */
  readonly keyframeMs?: number | undefined;
  /** Times of last calls, streams and messages are rounded down to a multiple of this. Default 1000. */
  readonly timePrecisionMs?: number | undefined;
  /** Continue an existing recording. Default false: it is an error if the file exists. */
  readonly append?: boolean | undefined;
}

/** Writes a recording. */
export interface RecordingWriter {
  /** Adds a snapshot. False if the file has reached its maximum size: then nothing more is written. */
  append(snapshot: Snapshot): boolean;
  /** The size of the file in bytes. */
  bytes(): number;
  /** Writes pending snapshots and closes the file. */
  close(): void;
}

/**
 * Creates a recording, readable only by the user. Throws a file system error if that fails, with the code EEXIST if the file exists,
 * and a TypeError if the file to continue is not a recording.
 */
export function createRecording(path: string, options: RecordingOptions = {}): RecordingWriter {
  const { maxBytes = 2 ** 30, flushMs = 2000, keyframeMs = 300_000 } = options;
  const roundTimes = createTimeRounder(options.timePrecisionMs ?? 1000);
  const file = openSync(path, options.append ? "a+" : "ax+", 0o600);
  let size = 0;
  let last: Snapshot | undefined;
  /** The size of the current run, as readers count it. */
  let run = { startMs: Number.NEGATIVE_INFINITY, bytes: 0, objects: 0 };
  let pending: { readonly frames: Uint8Array[]; readonly beginsRun: boolean; readonly firstMs: number } | undefined;
  let window = new Uint8Array() as Uint8Array;
  let isFull = false;
  let isClosed = false;

  try {
    size = fstatSync(file).size;
    if (size === 0) write(fileMagic);
    else {
      // A killed process may have left an incomplete block.
      size = scanRecording(bytesOf(file)).end;
      ftruncateSync(file, size);
    }
  } catch (error) {
    closeSync(file);
    throw error;
  }

  function write(bytes: Uint8Array): void {
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(file, bytes, offset);
    size += bytes.length;
  }

  function flush(): void {
    if (pending === undefined) return;
    const { frames, beginsRun, firstMs } = pending;
    pending = undefined;
    const raw = Buffer.concat(frames);
    if (beginsRun) window = new Uint8Array();
    const block = encodeBlock(raw, { beginsRun, firstMs, before: window });
    if (raw.length > maxPayloadBytes || size + block.length > maxBytes) isFull = true;
    else {
      write(block);
      window = nextWindow(window, raw);
    }
  }

  return {
    append(appended) {
      if (isFull || isClosed) return false;
      const snapshot = roundTimes(appended);
      const isRunFull = run.bytes > maxRunBytes / 2 || run.objects + snapshot.objects.size > maxRunObjects;
      const isRunOld = snapshot.timeMs - run.startMs >= keyframeMs || snapshot.timeMs < (last?.timeMs ?? 0);
      const needsKeyframe = last === undefined || isRunFull || isRunOld;
      if (needsKeyframe) {
        flush();
        run = { startMs: snapshot.timeMs, bytes: 0, objects: 0 };
      }
      const delta = last === undefined || needsKeyframe ? undefined : diffSnapshots(last, snapshot);
      const frame = last === undefined || delta === undefined ? snapshotFrame(snapshot) : deltaFrame(last, delta);
      last = last === undefined || delta === undefined ? snapshot : applyDelta(last, delta);
      const bytes = sizeDelimitedEncode(FrameSchema, frame);
      run.bytes += bytes.length;
      run.objects += snapshot.objects.size;
      pending ??= { frames: [], beginsRun: needsKeyframe, firstMs: snapshot.timeMs };
      pending.frames.push(bytes);
      if (snapshot.timeMs - pending.firstMs >= flushMs) flush();
      return !isFull;
    },
    bytes: () => size,
    close() {
      if (isClosed) return;
      isClosed = true;
      try {
        if (!isFull) flush();
      } finally {
        closeSync(file);
      }
    },
  };
}

/** Encodes a block. `before` is the end of the earlier data in the same run. */
export function encodeBlock(
  raw: Uint8Array,
  {
    beginsRun,
    firstMs,
    before,
  }: { readonly beginsRun: boolean; readonly firstMs: number; readonly before: Uint8Array },
): Uint8Array {
  const payload = deflateRawSync(raw, { level: 9, ...(before.length === 0 ? {} : { dictionary: before }) });
  const block = new Uint8Array(headerLength + payload.length);
  const view = new DataView(block.buffer);
  view.setUint32(0, marker, true);
  view.setUint32(4, beginsRun ? 1 : 0, true);
  view.setBigUint64(8, BigInt(firstMs), true);
  view.setUint32(16, payload.length, true);
  view.setUint32(20, raw.length, true);
  block.set(payload, headerLength);
  view.setUint32(24, crc32(payload, crc32(checkedBytes(block))), true);
  return block;
}
