import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { crc32, inflateRawSync } from "node:zlib";
import type { FrameRun } from "../frame.js";
import { maxRunBytes, nextWindow } from "../recording/recording-format.js";
import { addFrames, runTimeline } from "../recording/run-timeline.js";
import { type Block, type RecordingBytes, scanRecording } from "../recording/scan-recording.js";
import type { Timeline } from "../timeline.js";

/** A recording that is open for reading. */
export interface Recording extends Timeline {
  /** The number of bytes that could not be used, because the file was truncated or changed. */
  readonly damagedBytes: number;
  close(): void;
}

/**
 * Opens a recording. Truncated or changed parts are left out, see `damagedBytes`. Throws a file system error, or a TypeError if the
 * file is not a recording or nothing in it can be read.
 */
export function openRecording(path: string): Recording {
  const file = openSync(path, "r");
  try {
    const bytes = bytesOf(file);
    const scan = scanRecording(bytes);
    const runs = scan.runs.map((blocks) => ({
      startMs: blocks[0]?.firstMs ?? 0,
      load: () => loadRun(bytes, blocks),
    }));
    return { ...runTimeline(runs), damagedBytes: scan.damagedBytes, close: () => closeSync(file) };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** The bytes of an open file. */
export function bytesOf(file: number): RecordingBytes {
  return {
    size: fstatSync(file).size,
    readAt(position, length) {
      const bytes = new Uint8Array(length);
      let read = 0;
      while (read < length) {
        const count = readSync(file, bytes, read, length - read, position + read);
        if (count === 0) break;
        read += count;
      }
      return bytes.subarray(0, read);
    },
    crc32: (bytes, before = 0) => crc32(bytes, before),
  };
}

/** The frames of a run, up to the first that is too large or malformed. */
function loadRun(bytes: RecordingBytes, blocks: readonly Block[]): FrameRun {
  const frames: { timeMs: number; bytes: Uint8Array }[] = [];
  let window = new Uint8Array() as Uint8Array;
  let bytesLeft = maxRunBytes;
  try {
    for (const { offset, length, rawLength, firstMs } of blocks) {
      bytesLeft -= rawLength;
      if (bytesLeft < 0) break;
      const raw = inflateRawSync(bytes.readAt(offset, length), {
        maxOutputLength: Math.max(1, rawLength),
        ...(window.length === 0 ? {} : { dictionary: window }),
      });
      if (raw.length !== rawLength || !addFrames(frames, raw, firstMs)) break;
      window = nextWindow(window, raw);
    }
  } catch {
    // The checksum is right, so the file was written like this. Earlier frames are still usable.
  }
  return { frames };
}
