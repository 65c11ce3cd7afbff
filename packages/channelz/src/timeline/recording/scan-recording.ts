import {
  type BlockHeader,
  checkedBytes,
  checkMagic,
  decodeHeader,
  fileMagic,
  headerLength,
  marker,
} from "./recording-format.js";

/** A block of a file. */
export interface Block extends BlockHeader {
  /** The position of its payload. */
  readonly offset: number;
}

/** The contents of a file. */
export interface RecordingScan {
  /** The intact blocks that can be decoded, in runs: the first of each has a whole snapshot. */
  readonly runs: readonly (readonly Block[])[];
  /** The end of the last intact block. */
  readonly end: number;
  /** The number of bytes outside of blocks that can be decoded. */
  readonly damagedBytes: number;
}

/** The bytes of a recording, in a file or in memory. */
export interface RecordingBytes {
  readonly size: number;
  /** Bytes at a position; fewer if they end before. */
  readAt(position: number, length: number): Uint8Array;
  /** The CRC-32 of bytes, continued from that of earlier bytes. */
  crc32(bytes: Uint8Array, before?: number): number;
}

/**
 * Finds the intact blocks of a recording. A truncated or changed block ends its run; reading continues with the next run. Throws a
 * TypeError if the bytes are not a recording.
 */
export function scanRecording(source: RecordingBytes): RecordingScan {
  const { size } = source;
  checkMagic(source.readAt(0, fileMagic.length));
  const runs: Block[][] = [];
  let run: Block[] | undefined;
  let end = fileMagic.length;
  let usedBytes = fileMagic.length;
  let checkedBytesLeft = Math.max(minCheckedBytes, 2 * size);
  for (let position = fileMagic.length; position < size; ) {
    const { block, checkedLength } = readBlock(source, position);
    checkedBytesLeft -= block === undefined ? checkedLength : 0;
    if (checkedBytesLeft < 0) break;
    if (block === undefined) {
      run = undefined;
      position = findMarker(source, position + 1);
      continue;
    }
    if (block.beginsRun) {
      run = [];
      runs.push(run);
    }
    position = block.offset + block.length;
    if (run !== undefined) {
      run.push(block);
      usedBytes += headerLength + block.length;
      end = position;
    }
  }
  return { runs, end, damagedBytes: size - usedBytes };
}

/** The block at this position, if it is intact, and the number of bytes that were checked. */
function readBlock(
  source: RecordingBytes,
  position: number,
): { readonly block: Block | undefined; readonly checkedLength: number } {
  const bytes = source.readAt(position, headerLength);
  const header = decodeHeader(bytes);
  const offset = position + headerLength;
  if (header === undefined || offset + header.length > source.size) return { block: undefined, checkedLength: 0 };
  const checksum = source.crc32(source.readAt(offset, header.length), source.crc32(checkedBytes(bytes)));
  return { block: checksum === header.checksum ? { ...header, offset } : undefined, checkedLength: header.length };
}

const searchBytes = 2 ** 20;
/**
 * A header states the length that its checksum covers, so a file of headers alone could make us read all of it for each of them. After
 * this many bytes with wrong checksums, or twice the size of the file, the rest counts as damaged.
 */
const minCheckedBytes = 2 ** 28;

/** The position of the next possible block, or the size of the file. */
function findMarker(source: RecordingBytes, from: number): number {
  const [first = 0, ...rest] = [0, 8, 16, 24].map((shift) => (marker >>> shift) & 255);
  for (let position = from; position < source.size; position += searchBytes) {
    // The pieces overlap, so that a marker across two of them is found.
    const piece = source.readAt(position, searchBytes + rest.length);
    for (let found = piece.indexOf(first); found !== -1; found = piece.indexOf(first, found + 1)) {
      if (rest.every((byte, index) => piece[found + 1 + index] === byte)) return position + found;
    }
  }
  return source.size;
}
