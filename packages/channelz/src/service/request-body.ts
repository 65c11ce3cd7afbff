import { constants, type ServerHttp2Stream } from "node:http2";

/** Whether the body of a request has come whole. A handler may leave it unread, so the stream's own state is asked, not its reader's. */
export function isReceived(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.state.remoteClose === 1;
}

/**
 * Lets go of a request that has its answer: what came and nobody read would keep the stream open, and so would what is
 * still to come.
 *
 * Not in this turn: events of a stream are emitted while HTTP/2 frames are being read, and a reset from there writes into
 * the memory of a session that is in use (Node 20 crashes under load).
 */
export function stopReceiving(stream: ServerHttp2Stream): void {
  setImmediate(stopReceivingNow, stream);
}

function stopReceivingNow(stream: ServerHttp2Stream): void {
  if (!isReceived(stream)) stream.close(constants.NGHTTP2_NO_ERROR);
  stream.resume();
}
