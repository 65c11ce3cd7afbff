import { constants, type ServerHttp2Stream } from "node:http2";

/** Whether the body of a request has come whole. A handler may leave it unread, so the stream's own state is asked, not its reader's. */
export function isReceived(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.state.remoteClose === 1;
}

/**
 * Discards the body of a request whose response does not need it. Call it before the response: Node itself resets a
 * stream whose request nobody has begun to read, and at a time that {@link stopReceiving} is there to avoid.
 */
export function drain(stream: ServerHttp2Stream): void {
  stream.resume();
}

/**
 * Releases a request that has its response: data that arrived unread would keep the stream open, and so would what is
 * still to come.
 *
 * Not in this turn: events of a stream are emitted while the frames of HTTP/2 are being read, and a reset without an error
 * that is written from in there was seen to corrupt the memory of the process (Node 20, under many resets).
 */
export function stopReceiving(stream: ServerHttp2Stream): void {
  setImmediate(stopReceivingNow, stream);
}

function stopReceivingNow(stream: ServerHttp2Stream): void {
  if (!isReceived(stream)) stream.close(constants.NGHTTP2_NO_ERROR);
  stream.resume();
}
