import type { FrameRun } from "../frame.js";
import type { Timeline } from "../timeline.js";
import { maxRunBytes, nextWindow } from "./recording-format.js";
import { addFrames, runTimeline } from "./run-timeline.js";
import { type Block, type RecordingBytes, scanRecording } from "./scan-recording.js";

/** A recording in memory. */
export interface RecordingInMemory {
  readonly timeline: Timeline;
  /** The number of bytes that could not be used, because the file was truncated or changed. */
  readonly damagedBytes: number;
  /** Whether the oldest part was left out, because of `maxBytes`. */
  readonly isShortened: boolean;
}

/**
 * Reads the bytes of a recording, also in browsers. At most `maxBytes` are decompressed, the newest; default 256 MiB. Rejects with a
 * TypeError if the bytes are not a recording or nothing in them can be read.
 */
export async function readRecording(
  bytes: Uint8Array,
  { maxBytes = 2 ** 28 }: { readonly maxBytes?: number } = {},
): Promise<RecordingInMemory> {
  const source = memoryBytes(bytes);
  const { runs, damagedBytes } = scanRecording(source);
  const loaded: { startMs: number; load: () => FrameRun }[] = [];
  let bytesLeft = maxBytes;
  for (const blocks of runs.toReversed()) {
    bytesLeft -= blocks.reduce((sum, { rawLength }) => sum + rawLength, 0);
    if (bytesLeft < 0 && loaded.length > 0) break;
    const run = await loadRun(source, blocks);
    loaded.unshift({ startMs: blocks[0]?.firstMs ?? 0, load: () => run });
  }
  return { timeline: runTimeline(loaded), damagedBytes, isShortened: loaded.length < runs.length };
}

/** The frames of a run, up to the first that is too large or malformed. */
async function loadRun(source: RecordingBytes, blocks: readonly Block[]): Promise<FrameRun> {
  const frames: { timeMs: number; bytes: Uint8Array }[] = [];
  let window = new Uint8Array() as Uint8Array;
  let bytesLeft = maxRunBytes;
  try {
    for (const { offset, length, rawLength, firstMs } of blocks) {
      bytesLeft -= rawLength;
      if (bytesLeft < 0) break;
      const raw = await inflate(source.readAt(offset, length), rawLength, window);
      if (!addFrames(frames, raw, firstMs)) break;
      window = nextWindow(window, raw);
    }
  } catch {
    // The checksum is right, so the file was written like this. Earlier frames are still usable.
  }
  return { frames };
}

/**
 * Decompresses a block. DecompressionStream has no dictionary option, so the dictionary is prepended as an uncompressed block, and
 * removed from the result.
 */
async function inflate(payload: Uint8Array, rawLength: number, window: Uint8Array): Promise<Uint8Array> {
  const stored = new Uint8Array(5);
  new DataView(stored.buffer).setUint16(1, window.length, true);
  new DataView(stored.buffer).setUint16(3, ~window.length & 0xffff, true);
  const input = new Blob([...(window.length === 0 ? [] : [stored, window]), payload] as BlobPart[]);
  const output = input.stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const expected = window.length + rawLength;
  const raw = new Uint8Array(expected);
  let length = 0;
  for (let next = await output.read(); !next.done; next = await output.read()) {
    if (length + next.value.length > expected) {
      output.cancel().catch(() => {});
      throw new TypeError("A block of the recording is longer than its header says.");
    }
    raw.set(next.value, length);
    length += next.value.length;
  }
  if (length !== expected) throw new TypeError("A block of the recording is shorter than its header says.");
  return raw.subarray(window.length);
}

function memoryBytes(bytes: Uint8Array): RecordingBytes {
  return {
    size: bytes.length,
    readAt: (position, length) => bytes.subarray(position, position + length),
    crc32,
  };
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** The CRC-32 of bytes, which browsers do not provide. */
function crc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  for (const byte of bytes) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 255] ?? 0);
  return ~crc >>> 0;
}
