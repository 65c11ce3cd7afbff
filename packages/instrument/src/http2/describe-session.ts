import type { Http2Session } from "node:http2";
import type { SocketDetails } from "@wirescope/channelz";
import { describeSocket } from "../sockets/describe-socket.js";

/** What there is to know of a session's connection, now: its windows, how it is secured, and its options. */
export function describeHttp2Session(session: Http2Session): SocketDetails {
  if (session.destroyed) return {};
  const { localWindowSize, remoteWindowSize } = session.state;
  return {
    ...describeSocket(session.socket),
    // Node names a window after the side that limits it, Channelz after the side that may send: what the remote
    // endpoint granted us is Node's remote window.
    localFlowControlWindow: remoteWindowSize,
    remoteFlowControlWindow: localWindowSize,
  };
}
