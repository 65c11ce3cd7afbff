import { errorMonitor } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Registry, SubchannelHandle } from "@wirescope/channelz";
import { EventFolder } from "../event-folder.js";
import { describeHttp2Session } from "../http2/describe-session.js";
import { errorCodeName } from "../http2/error-codes.js";
import { trackSession, untrackSession } from "../http2/session-tracker.js";
import { noteObserved, stopObserving } from "../observation.js";
import { type EndpointHints, readEndpoints } from "../sockets/addresses.js";

/**
 * Shows the connection of a subchannel, from now until it closes. Its streams, messages and keep-alives are counted as they
 * pass; calls are not, since grpc-js knows better than the wire how they ended.
 */
export function observeTransportSession(
  registry: Registry,
  session: ClientHttp2Session,
  subchannel: SubchannelHandle,
  hints: EndpointHints,
): void {
  stopObserving(session, "it belongs to grpc-js");
  const { servername } = session.socket as TLSSocket & { readonly servername?: string | false };
  const socket = registry.addSocket({
    ...readEndpoints(session.socket, { ...hints, servername: servername || undefined }),
    parent: subchannel,
    subject: session,
    describe: describeHttp2Session,
  });
  trackSession(session, {
    isClient: true,
    arePushed: false,
    socket,
    calls: [],
    resets: new EventFolder(subchannel, "Stream reset"),
    openStreams: 0,
    early: [],
  });
  let reason = "";
  const onGoaway = (code: number): void => {
    reason = `GOAWAY with ${errorCodeName(code)}`;
    subchannel.trace(reason, { severity: code === 0 ? "info" : "warning" });
  };
  const onError = (error: Error): void => {
    reason = error.message;
  };
  const onClose = (): void => {
    stopObserving(session, reason);
  };
  session.on("goaway", onGoaway);
  // Heard without being handled: what grpc-js does about errors stays its own affair.
  session.on(errorMonitor, onError);
  session.once("close", onClose);
  noteObserved(session, (why) => {
    session.off("goaway", onGoaway);
    session.off(errorMonitor, onError);
    session.off("close", onClose);
    untrackSession(session);
    socket.close(why);
  });
}
