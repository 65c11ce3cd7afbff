import type { Http2Session, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import type { SocketAddress, SocketDetails, SocketEndpoints } from "@wirescope/channelz";

/** The two ends of a connection, as the operating system names them. */
export function endpointsOf(socket: Socket): SocketEndpoints {
  return {
    local: addressOf(socket.localAddress, socket.localPort),
    remote: addressOf(socket.remoteAddress, socket.remotePort),
  };
}

/** The flow-control windows of a session, live. */
export function describeSession(session: Http2Session): SocketDetails {
  const { localWindowSize, remoteWindowSize } = session.state;
  // Node names a window after the side that receives, Channelz after the side that was granted it.
  return { localFlowControlWindow: remoteWindowSize, remoteFlowControlWindow: localWindowSize };
}

/** Whether headers or trailers carry the status of a gRPC call, and whether it is OK. */
export function grpcOutcomeOf(
  headers: IncomingHttpHeaders | OutgoingHttpHeaders | undefined,
): "ok" | "failed" | undefined {
  const status = headers?.["grpc-status"];
  if (status === undefined) return undefined;
  return String(status) === "0" ? "ok" : "failed";
}

function addressOf(ip: string | undefined, port: number | undefined): SocketAddress | undefined {
  return ip === undefined || port === undefined ? undefined : { ip, port };
}
