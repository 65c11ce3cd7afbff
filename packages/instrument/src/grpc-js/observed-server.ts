import { errorMonitor } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { EventCoalescer } from "../event-coalescer.js";
import { observeServerSession } from "../http2/observe-server-session.js";
import type { AnyHttp2Server } from "../http2/patch-module.js";
import { observeListening } from "../listening.js";
import { markObserved, stopObserving } from "../observation.js";
import { handshakeFailure } from "../sockets/tls.js";
import type { Server } from "./internals.js";
import { forwardTrace, type Observed } from "./observed.js";

/** A grpc-js server in the registry, with its listen sockets and connections. */
export class ObservedServer implements Observed {
  readonly observer: object;
  readonly handle: ServerHandle;
  readonly #registry: Registry;
  readonly #http2Servers = new Set<AnyHttp2Server>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #tlsFailures: EventCoalescer;

  constructor(observer: object, registry: Registry, server: Server) {
    this.observer = observer;
    this.#registry = registry;
    this.handle = registry.addServer({ name: "grpc-js" });
    this.#tlsFailures = new EventCoalescer(this.handle, "TLS handshake failed");
    forwardTrace(server.channelzTrace, this.handle);
    for (const [http2Server, { sessions }] of server.http2Servers) {
      this.serve(http2Server);
      for (const session of sessions) this.#accept(session);
    }
  }

  /** Shows the connections of one of its HTTP/2 servers; there is one per bound address. */
  serve(http2Server: AnyHttp2Server): void {
    stopObserving(http2Server, "shown under grpc-js");
    const stopListening = observeListening(this.#registry, http2Server, this.handle);
    const onSession = (session: ServerHttp2Session): void => this.#accept(session);
    const onError = (error: Error): void => this.handle.trace(error.message, { severity: "warning" });
    const onTlsError = (error: Error, socket: TLSSocket): void =>
      this.#tlsFailures.add(handshakeFailure(error, socket));
    // Before grpc-js's own listener, which may respond at once.
    http2Server.prependListener("session", onSession);
    // errorMonitor: grpc-js's own error handling does not change.
    http2Server.on(errorMonitor, onError);
    http2Server.on("tlsClientError", onTlsError);
    this.#http2Servers.add(http2Server);
    markObserved(http2Server, () => {
      stopListening();
      http2Server.off("session", onSession);
      http2Server.off(errorMonitor, onError);
      http2Server.off("tlsClientError", onTlsError);
      this.#http2Servers.delete(http2Server);
    });
  }

  end(reason: string): void {
    for (const http2Server of this.#http2Servers) stopObserving(http2Server, reason);
    for (const session of this.#sessions) stopObserving(session, reason);
    this.handle.close(reason);
  }

  #accept(session: ServerHttp2Session): void {
    if (session.destroyed) return;
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    observeServerSession(this.#registry, session, this.handle);
  }
}
