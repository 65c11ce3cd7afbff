import { constants, type ServerHttp2Stream } from "node:http2";

/** Whether the complete body of a request was received. Uses the state of the HTTP/2 stream, because a handler may leave the body unread. */
export function isReceived(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.state.remoteClose === 1;
}

/**
 * Discards the body of a request whose response does not need it. Call it before the response: otherwise Node itself resets the
 * stream, at a time that {@link stopReceiving} avoids.
 */
export function drain(stream: ServerHttp2Stream): void {
  stream.resume();
}

/**
 * Stops receiving a request after its response: otherwise unread data, and data that is still to come, would keep the stream open.
 *
 * Not in this turn: stream events are emitted while HTTP/2 frames are being read, and writing a reset without an error at that
 * time was seen to corrupt the memory of the process (Node 20, under many resets).
 */
export function stopReceiving(stream: ServerHttp2Stream): void {
  setImmediate(stopReceivingNow, stream);
}

function stopReceivingNow(stream: ServerHttp2Stream): void {
  if (!isReceived(stream)) stream.close(constants.NGHTTP2_NO_ERROR);
  stream.resume();
}
