import { errorMonitor } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { codeOf } from "../cause.js";
import { isObserved, noteObserved, stopObserving } from "../observation.js";
import { readEndpoints } from "../sockets/addresses.js";
import { describeHttp2Session } from "./describe-session.js";
import { eventsOf } from "./server-events.js";
import { type SessionTracker, trackSession, untrackSession } from "./session-tracker.js";

/** Shows one session of a server that the application makes sessions for by hand. */
export function observeServerSession(registry: Registry, session: ServerHttp2Session, server: ServerHandle): void {
  // The application may have closed the handle itself, and then has seen enough.
  if (server.isClosed || isObserved(session) || session.destroyed) return;
  const endpoints = readEndpoints(session.socket);
  const socket = registry.addSocket({ ...endpoints, server, subject: session, describe: describeHttp2Session });
  const events = eventsOf(server);
  let isReported = false;
  let hasClientLeft = false;
  const tracker: SessionTracker = {
    isClient: false,
    arePushed: false,
    socket,
    calls: [server],
    resets: events.resets,
    openStreams: 0,
    early: [],
    onGoawaySent(code) {
      isReported ||= code !== 0;
      // Node responds to a client's GOAWAY before it reports it.
      process.nextTick(() => {
        if (!hasClientLeft) events.goawaySent(code);
      });
    },
  };
  trackSession(session, tracker);
  const onGoaway = (code: number): void => {
    hasClientLeft = true;
    isReported ||= code !== 0;
    events.goawayReceived(code);
  };
  const onError = (error: Error & { readonly code?: string }): void => {
    // Node makes an error of a GOAWAY that is one.
    if (!isReported) events.losses.add(error.code === "ERR_HTTP2_ERROR" ? error.message : codeOf(error));
    isReported = true;
  };
  const onSocketClose = (): void => {
    if (tracker.openStreams > 0) events.losses.add("closed with calls under way");
  };
  const onClose = (): void => void stopObserving(session, "");
  session.on("goaway", onGoaway);
  // Heard without being handled: what the application does about errors stays its own affair.
  session.on(errorMonitor, onError);
  // Before Node hears of it, and ends the streams.
  session.socket.prependListener("close", onSocketClose);
  session.on("close", onClose);
  noteObserved(session, (why) => {
    session.off("goaway", onGoaway);
    session.off(errorMonitor, onError);
    session.off("close", onClose);
    if (!session.destroyed) session.socket.off("close", onSocketClose);
    untrackSession(session);
    socket.close(why);
  });
}
