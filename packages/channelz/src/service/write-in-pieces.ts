import type { ServerHttp2Stream } from "node:http2";

/** The most that is given to a stream of HTTP/2 at a time, in bytes. */
export const pieceBytes: number = 32 * 1024;

/**
 * Cuts what is to be written to a stream into pieces that leave one after the other. Node counts all that it was given at a
 * time as not sent until the last byte of it is: only a stream that gets pieces has a `writableLength` that shrinks while its caller
 * takes, and leaves the session's memory to others.
 */
export function piecesFor(stream: ServerHttp2Stream, bytes: Uint8Array): Uint8Array[] {
  sendOneByOne(stream);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes));
  return pieces;
}

/** Keeps a stream from giving all that waits in it to the session at once, while that is more than a piece. */
export function sendOneByOne(stream: ServerHttp2Stream): void {
  if (Object.hasOwn(stream, "_writev")) return;
  Object.defineProperty(stream, "_writev", {
    get(this: ServerHttp2Stream): ServerHttp2Stream["_writev"] {
      return this.writableLength > pieceBytes ? undefined : Object.getPrototypeOf(this)._writev;
    },
  });
}

/** Ends a stream with what may be large, in pieces. */
export function endInPieces(stream: ServerHttp2Stream, bytes: Uint8Array): void {
  if (bytes.length > pieceBytes) {
    for (const piece of piecesFor(stream, bytes)) stream.write(piece);
    stream.end();
  } else stream.end(bytes);
}
