import { errorMonitor } from "node:events";
import type {
  Http2SecureServer,
  Http2Server,
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from "node:http2";
import { Server as TlsServer } from "node:tls";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { observeHttp1Connections } from "../http/observe-server.js";
import { observeListening } from "../listening.js";
import { isObserved, noteObserved, stopObserving } from "../observation.js";
import { readEndpoints } from "../sockets/addresses.js";
import { describeHttp2Session } from "./describe-session.js";
import { errorCodeName } from "./error-codes.js";
import { trackStream } from "./patch-streams.js";
import { ResetFolder } from "./reset-folder.js";
import { sessionsOf } from "./server-sessions.js";
import { type SessionTracker, trackSession, untrackSession } from "./session-tracker.js";

export interface ObserveServerOptions {
  /** What the server is called. */
  readonly name?: string;
}

/**
 * Shows a server of HTTP/2, its listening sockets, its connections and its calls in the registry, from now until it
 * closes. Works for whatever answers on it: streams, requests, or a framework.
 */
export function observeHttp2Server(
  registry: Registry,
  server: Http2Server | Http2SecureServer,
  options: ObserveServerOptions = {},
): ServerHandle {
  stopObserving(server, "observed anew");
  const handle = registry.addServer(options);
  const sessions = sessionsOf(server);
  const onSession = (session: ServerHttp2Session): void => observeServerSession(registry, session, handle);
  for (const session of sessions) onSession(session);
  const stopListening = observeListening(registry, server, handle);
  // Before the application's own listeners, which may answer at once.
  server.prependListener("session", onSession);
  // With TLS, clients may choose HTTP/1.1 where the server allows it.
  const stopHttp1 = server instanceof TlsServer ? observeHttp1Connections(registry, server, handle) : undefined;
  noteObserved(server, (reason) => {
    server.off("session", onSession);
    stopListening();
    stopHttp1?.(reason);
    for (const session of sessions) stopObserving(session, reason);
    handle.close(reason);
  });
  return handle;
}

/** Shows one session of a server that the application makes sessions for by hand. */
export function observeServerSession(registry: Registry, session: ServerHttp2Session, server: ServerHandle): void {
  // The application may have closed the handle itself, and then has seen enough.
  if (server.isClosed || isObserved(session) || session.destroyed) return;
  const endpoints = readEndpoints(session.socket);
  const socket = registry.addSocket({ ...endpoints, server, subject: session, describe: describeHttp2Session });
  const tracker: SessionTracker = {
    isClient: false,
    socket,
    calls: [server],
    resets: new ResetFolder(server),
    early: [],
  };
  trackSession(session, tracker);
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    trackStream(stream, tracker, headers["content-type"]);
  };
  let reason = "";
  const onGoaway = (code: number): void => {
    reason = `GOAWAY with ${errorCodeName(code)}`;
  };
  const onError = (error: Error & { readonly code?: string }): void => {
    reason ||= error.code ?? error.name;
  };
  session.prependListener("stream", onStream);
  session.on("goaway", onGoaway);
  // Heard without being handled: what the application does about errors stays its own affair.
  session.on(errorMonitor, onError);
  session.once("close", () => stopObserving(session, reason));
  noteObserved(session, (why) => {
    session.off("stream", onStream);
    session.off("goaway", onGoaway);
    session.off(errorMonitor, onError);
    untrackSession(session);
    socket.close(why);
  });
}
