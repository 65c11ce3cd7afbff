import type { Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { ChannelzError } from "../errors.js";
import type { Connection, Connections } from "./connections.js";
import type { ListenLimits } from "./limits.js";

/** How a listener speaks TLS. */
export interface ListenTls {
  /** The listener's certificate chain, PEM. */
  readonly cert: string | Buffer;
  /** Its private key, PEM. */
  readonly key: string | Buffer;
  /** What the key is encrypted with, if it is. */
  readonly passphrase?: string;
  /** The authorities whose certificates callers must present, PEM: giving them makes the TLS mutual. */
  readonly ca?: string | Buffer | readonly (string | Buffer)[];
}

/** Takes an accepted connection through its handshake. */
export type TlsFront = (connection: Connection) => void;

/** Creates the TLS of a listener; `secured` gets each connection whose handshake, and client certificate where asked for, was good. */
export function createTlsFront(
  tls: ListenTls,
  limits: ListenLimits,
  connections: Connections,
  secured: (connection: Connection) => void,
): TlsFront {
  const server = createTlsServer(tls, limits);
  // The server hands over a socket of its own; both ends of the wire together say whose it is.
  const pending = new Map<string, Connection>();

  server.on("secureConnection", (socket: TLSSocket) => {
    const connection = pending.get(wireOf(socket));
    if (connection === undefined) {
      socket.destroy();
      return;
    }
    pending.delete(wireOf(socket));
    socket.on("error", () => {});
    connection.socket = socket;
    connection.idleSince = performance.now();
    secured(connection);
  });
  server.on("tlsClientError", (error: Error & { code?: string }) => {
    if (error.code?.startsWith("ERR_SSL_")) connections.counters.connectionsMalformed++;
  });

  return (connection) => {
    const wire = wireOf(connection.socket);
    pending.set(wire, connection);
    connection.socket.once("close", () => {
      if (pending.get(wire) === connection) pending.delete(wire);
    });
    server.emit("connection", connection.socket);
  };
}

function createTlsServer({ cert, key, passphrase, ca }: ListenTls, limits: ListenLimits): Server {
  try {
    return createServer({
      cert,
      key,
      ...(passphrase !== undefined && { passphrase }),
      ...(ca !== undefined && {
        ca: Array.isArray(ca) ? [...ca] : (ca as string | Buffer),
        requestCert: true,
        rejectUnauthorized: true,
      }),
      ALPNProtocols: ["h2", "http/1.1"],
      minVersion: "TLSv1.2",
      handshakeTimeout: limits.prefaceTimeoutMs,
    });
  } catch (cause) {
    throw new ChannelzError(
      "LISTEN_FAILED",
      "The certificate, the key or the authorities cannot be used. Check that each is PEM and that they belong together.",
      { cause },
    );
  }
}

function wireOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress}`;
}
