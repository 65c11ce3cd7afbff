import type { Server, Socket } from "node:net";

/** Undocumented members of Node's sockets and servers. Each may be missing. */
interface Internals {
  readonly _handle?: { readonly fd?: unknown } | null;
  /** The server that accepted the connection. */
  readonly _server?: Server | null;
  /** The same, but replaced by an HTTP server that is handed the connection, even one that never listens. */
  readonly server?: Server | null;
  /** The socket beneath a TLS socket. */
  readonly _parent?: Internals | null;
  /** The requested host, if it had to be looked up. */
  readonly _host?: string | null;
}

/** Whether a socket is destroyed or inaccessible: the socket of an HTTP/2 session throws after the session has ended. */
export function isGone(socket: Socket): boolean {
  try {
    return socket.destroyed;
  } catch {
    return true;
  }
}

/**
 * The current file descriptor of a socket or server; undefined if it has none. Read it for each use: after a socket closes, its
 * number is reused.
 */
export function descriptorOf(subject: Socket | Server): number | undefined {
  // libuv returns a negative number as soon as it starts to close, even for TLS over another socket.
  const fd = (subject as Internals)._handle?.fd;
  return typeof fd === "number" && fd >= 0 ? fd : undefined;
}

/** The server that accepted a connection; undefined for a client. */
export function acceptedBy(socket: Socket): Server | undefined {
  const { _server, _parent, server } = socket as Internals;
  return _server ?? _parent?._server ?? server ?? undefined;
}

/** The host name that a client looked up; undefined if it connected to an address, or for a server. */
export function requestedHost(socket: Socket): string | undefined {
  const { _host, _parent } = socket as Internals;
  return _host ?? _parent?._host ?? undefined;
}
