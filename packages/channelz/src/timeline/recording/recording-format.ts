// docs/recordings.md describes the format for readers in other languages. A file is eight bytes that identify it, then blocks. A
// block has a header of 28 bytes and a compressed payload:
//
//   0  4  marker, "WSTB"
//   4  4  flags: 1 if the block begins a run, with a whole snapshot
//   8  8  time of its first frame, milliseconds since 1970
//  16  4  length of the payload
//  20  4  length of the payload when it is decompressed
//  24  4  CRC-32 of bytes 4 to 24 and of the payload
//
// All numbers are unsigned and little-endian. The payload is compressed with DEFLATE (RFC 1951); the dictionary is the last 32 KiB
// of the decompressed data in the same run.

/** The version of the format. It changes if a reader of the previous version would read wrong values. */
const version = 2;
const versionOffset = 5;
/** The first bytes of a file. The line ending detects a transfer that changes line endings. */
export const fileMagic: Uint8Array = new Uint8Array([0x57, 0x53, 0x52, 0x45, 0x43, version, 0x0d, 0x0a]);
/** The length of a header. */
export const headerLength = 28;
/** "WSTB" as a number. */
export const marker = 0x42_54_53_57;
/** The maximum size of the dictionary of a block. */
export const windowBytes: number = 2 ** 15;

/** The maximum size of a block that is written or read. A snapshot of 100,000 objects has about 50 MB. */
export const maxPayloadBytes: number = 2 ** 27;

/** The maximum size of a run that is written or read, decompressed. */
export const maxRunBytes: number = 2 ** 28;

/** The latest time of a Date, in milliseconds since 1970. */
export const maxTimeMs: number = 8.64e15;

/** Throws a TypeError if these are not the first bytes of a recording that can be read. */
export function checkMagic(bytes: Uint8Array): void {
  const isRecording = fileMagic.every((byte, index) => index === versionOffset || bytes[index] === byte);
  if (!isRecording) throw new TypeError("The file is not a Wirescope recording.");
  const found = bytes[versionOffset] ?? 0;
  if (found === version) return;
  const advice =
    found > version
      ? "Install the latest version of Wirescope to read it."
      : "Read it with the version of Wirescope that wrote it, or record again.";
  throw new TypeError(`The recording has format version ${found}, but version ${version} is expected. ${advice}`);
}

/** The header of a block. */
export interface BlockHeader {
  readonly beginsRun: boolean;
  readonly firstMs: number;
  readonly length: number;
  readonly rawLength: number;
  readonly checksum: number;
}

/** Decodes the header at the start of these bytes; undefined if it is invalid. */
export function decodeHeader(bytes: Uint8Array): BlockHeader | undefined {
  if (bytes.length < headerLength) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, headerLength);
  const length = view.getUint32(16, true);
  const rawLength = view.getUint32(20, true);
  const firstMs = Number(view.getBigUint64(8, true));
  if (view.getUint32(0, true) !== marker || firstMs > maxTimeMs) return undefined;
  if (length > maxPayloadBytes || rawLength > maxPayloadBytes) return undefined;
  return {
    beginsRun: (view.getUint32(4, true) & 1) === 1,
    firstMs,
    length,
    rawLength,
    checksum: view.getUint32(24, true),
  };
}

/** The bytes of a header that the checksum covers, in addition to the payload. */
export function checkedBytes(header: Uint8Array): Uint8Array {
  return header.subarray(4, 24);
}

/** The end of the decompressed data of a run, which is the dictionary of the next block. */
export function nextWindow(window: Uint8Array, raw: Uint8Array): Uint8Array {
  if (raw.length >= windowBytes) return raw.slice(-windowBytes);
  const kept = window.subarray(Math.max(0, window.length + raw.length - windowBytes));
  const next = new Uint8Array(kept.length + raw.length);
  next.set(kept);
  next.set(raw, kept.length);
  return next;
}
