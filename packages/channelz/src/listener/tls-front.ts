import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { ChannelzError } from "../errors.js";
import type { Connection } from "./connection.js";
import type { Connections } from "./connections.js";
import type { FollowPace } from "./followed-files.js";
import type { ListenLimits } from "./limits.js";
import type { ListenTls } from "./listen-tls.js";
import { openTlsContext, type TlsContext } from "./tls-context.js";

/** Starts the TLS handshake of an accepted connection. */
export type TlsFront = (connection: Connection) => void;

/**
 * Creates the TLS layer of a listener; `secured` is called for each connection after a successful handshake. Files are followed
 * until `closing`. Throws LISTEN_FAILED.
 */
export function createTlsFront(
  tls: ListenTls,
  limits: ListenLimits,
  connections: Connections,
  secured: (connection: Connection) => void,
  closing: AbortSignal,
  pace?: FollowPace,
): TlsFront {
  const context = openTlsContext(tls);
  const server = createTlsServer(context, tls.ca !== undefined, limits);
  // Open connections keep the old context. Session tickets become invalid with it, so a client whose CA was removed cannot resume.
  context.follow(() => server.setSecureContext(context.current()), closing, pace);
  // The TLS server emits a socket of its own; the addresses of both ends identify the connection.
  const pending = new Map<string, Connection>();

  server.on("secureConnection", (socket: TLSSocket) => {
    const connection = pending.get(socketInfoOf(socket));
    if (connection === undefined) {
      socket.destroy();
      return;
    }
    pending.delete(socketInfoOf(socket));
    socket.on("error", () => {});
    connection.socket = socket;
    connection.idleSince = performance.now();
    secured(connection);
  });
  server.on("tlsClientError", (error: Error & { code?: string }) => {
    if (error.code?.startsWith("ERR_SSL_")) connections.counters.connectionsMalformed++;
  });

  return (connection) => {
    const wire = socketInfoOf(connection.socket);
    pending.set(wire, connection);
    connection.socket.once("close", () => {
      if (pending.get(wire) === connection) pending.delete(wire);
    });
    server.emit("connection", connection.socket);
  };
}

function createTlsServer(context: TlsContext, isMutual: boolean, limits: ListenLimits): Server {
  try {
    return createServer({
      ...context.current(),
      ...(isMutual && { requestCert: true, rejectUnauthorized: true }),
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: limits.prefaceTimeoutMs,
    });
  } catch (cause) {
    throw new ChannelzError(
      "LISTEN_FAILED",
      "The certificate, the key or the CAs cannot be used. Check that each is PEM and that they belong together.",
      { cause },
    );
  }
}

function socketInfoOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress}`;
}
