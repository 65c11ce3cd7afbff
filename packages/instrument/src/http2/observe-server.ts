import type { Http2SecureServer, Http2Server, ServerHttp2Session } from "node:http2";
import { Server as NetServer } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { guardNode } from "../guard-listener.js";
import { isHttp1Server, observeHttp1Connections } from "../http/observe-server.js";
import { observeListening } from "../listening.js";
import { markObserved, stopObserving } from "../observation.js";
import { observeServerSession } from "./observe-server-session.js";
import { sessionsOf } from "./server-sessions.js";

/** How a `node:http2` server appears in Channelz. */
export interface ObserveServerOptions {
  /** The name of the server. */
  readonly name?: string;
}

/**
 * Shows an HTTP/2 server, its listening sockets, its connections and its calls in the registry, from now until it closes. Works for
 * the stream API, the compatibility API and frameworks. Throws a TypeError for a server of `node:http` or `node:https`.
 */
export function observeHttp2Server(
  registry: Registry,
  server: Http2Server | Http2SecureServer,
  options: ObserveServerOptions = {},
): ServerHandle {
  // Node does not export the classes of HTTP/2 servers.
  if (isHttp1Server(server) || !((server as unknown) instanceof NetServer)) {
    throw new TypeError("This is no server of node:http2. For one of node:http or node:https, use observeHttpServer.");
  }
  stopObserving(server, "observed again");
  const handle = registry.addServer(options);
  const sessions = sessionsOf(server);
  const onSession = guardNode((session: ServerHttp2Session): void => observeServerSession(registry, session, handle));
  for (const session of sessions) onSession(session);
  const stopListening = observeListening(registry, server, handle);
  // Before the application's own listeners, which may respond at once.
  server.prependListener("session", onSession);
  // With TLS, clients may choose HTTP/1.1 if the server allows it.
  const stopHttp1 = server instanceof TlsServer ? observeHttp1Connections(registry, server, handle) : undefined;
  markObserved(server, (reason) => {
    server.off("session", onSession);
    stopListening();
    stopHttp1?.(reason);
    for (const session of sessions) stopObserving(session, reason);
    handle.close(reason);
  });
  return handle;
}
