import { constants, type Http2Stream } from "node:http2";

/** Undocumented properties of Node's streams. Each may be missing. */
interface Handle {
  readonly bytesWritten?: unknown;
}

interface ReadableState {
  /** A list, or from Node 22 on an array. */
  readonly buffer?: Iterable<unknown>;
  readonly ended?: boolean;
}

/** The chunks that a stream received before it was read, and null at its end. */
export function* unreadChunks(stream: Http2Stream): Generator<unknown, void, undefined> {
  const { buffer, ended } = (stream as { readonly _readableState?: ReadableState })._readableState ?? {};
  if (buffer !== undefined) yield* buffer;
  if (ended === true) yield null;
}

/** Whether the end-of-stream bit was sent, as nghttp2 reports it. Works only before the stream is destroyed. */
export function hasSentEndOfStream(stream: Http2Stream): boolean {
  return (stream.state as { readonly localClose?: number }).localClose === 1;
}

/** Whether a body was sent; true if unknown. */
export function hasSentBytes(stream: Http2Stream): boolean {
  const key = Object.getOwnPropertySymbols(stream).find(({ description }) => description === "kHandle");
  const handle = key && (stream as unknown as Readonly<Record<symbol, Handle | undefined>>)[key];
  return handle?.bytesWritten !== 0;
}

/**
 * Whether a stream that the server ended and reset at once was ended on the wire too. Node sends the end before the reset, except
 * for REFUSED_STREAM from version 22 on.
 */
export function isEndedBeforeReset(stream: Http2Stream): boolean {
  return stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM || nodeMajor < 22;
}

const nodeMajor = Number(process.versions.node.split(".", 1)[0]);
