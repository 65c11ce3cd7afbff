import type { Http2Session } from "node:http2";
import type { SocketDetails } from "@wirescope/channelz";
import { describeSocket } from "../sockets/describe-socket.js";

/** The current flow-control windows, security and socket options of a session's connection. */
export function describeHttp2Session(session: Http2Session): SocketDetails {
  if (session.destroyed) return {};
  const { localWindowSize, remoteWindowSize } = session.state;
  return {
    ...describeSocket(session.socket),
    // Node names a window after the side that grants it, Channelz after the side that may send: the window that the peer
    // granted us is Node's remote window.
    localFlowControlWindow: remoteWindowSize,
    remoteFlowControlWindow: localWindowSize,
  };
}
