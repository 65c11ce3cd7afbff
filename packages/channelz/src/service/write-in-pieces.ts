import type { ServerHttp2Stream } from "node:http2";

/** The maximum number of bytes to write to an HTTP/2 stream at a time. */
export const pieceBytes: number = 32 * 1024;

/**
 * Splits bytes for a stream into pieces that are sent one after the other. Node counts a write as unsent until its last byte is
 * sent: only with pieces does `writableLength` shrink while the client reads, and is the session's memory left to other streams.
 */
export function piecesFor(stream: ServerHttp2Stream, bytes: Uint8Array): Uint8Array[] {
  sendOneByOne(stream);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes));
  return pieces;
}

/** Keeps a stream from passing all its pending chunks to the session at once, while they are larger than a piece. */
export function sendOneByOne(stream: ServerHttp2Stream): void {
  if (Object.hasOwn(stream, "_writev")) return;
  Object.defineProperty(stream, "_writev", {
    get(this: ServerHttp2Stream): ServerHttp2Stream["_writev"] {
      return this.writableLength > pieceBytes ? undefined : Object.getPrototypeOf(this)._writev;
    },
  });
}

/** Ends a stream with these bytes, in pieces if they are large. */
export function endInPieces(stream: ServerHttp2Stream, bytes: Uint8Array): void {
  if (bytes.length > pieceBytes) {
    for (const piece of piecesFor(stream, bytes)) stream.write(piece);
    stream.end();
  } else stream.end(bytes);
}
