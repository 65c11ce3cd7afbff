import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { grantedWindow, type OwnConnection } from "../own-connection.js";
import type { OpeningSocket } from "./open-socket.js";

/** The HTTP/2 connection to one peer: opened when a request needs it, and reopened after it was lost. */
export interface PeerSession {
  /** Begins a request. Rejects with the failure of the socket, the handshake or the session. */
  request(headers: OutgoingHttpHeaders): Promise<ClientHttp2Stream>;
  /** Stops using the connection of a stream: open requests may finish, and the next request opens another. */
  distrust(stream: ClientHttp2Stream): void;
  /** This end of the open connection; undefined if none is open. */
  own(): OwnConnection | undefined;
  /** Ends all requests with this reason, and rejects further ones; resolves when every socket is closed. */
  close(reason: Error): Promise<void>;
}

/**
 * A session over the sockets from `openSocket`, which must be ready within `connectTimeoutMs` (0: no timeout). It keeps the process
 * alive only while a request is in progress.
 */
export function createPeerSession(
  authority: string,
  openSocket: () => OpeningSocket,
  connectTimeoutMs: number,
): PeerSession {
  const sockets = new Set<Socket>();
  let current: Promise<Connection> | undefined;
  let latest: Connection | undefined;
  let closedFor: Error | undefined;

  async function open(onUnusable: () => void): Promise<Connection> {
    const { socket, ready } = openSocket();
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // The promise or the session reports errors; an error without a listener would end the process.
    socket.on("error", () => {});
    const timer = startTimer(connectTimeoutMs, () => {
      const [missing, code] = socket.connecting
        ? ["connection", "ETIMEDOUT"]
        : ["handshake", "ERR_TLS_HANDSHAKE_TIMEOUT"];
      socket.destroy(Object.assign(new Error(`no ${missing} within ${connectTimeoutMs} ms`), { code }));
    });
    try {
      await ready;
      return await createConnection(authority, socket, onUnusable);
    } finally {
      clearTimeout(timer);
    }
  }

  function acquire(): Promise<Connection> {
    if (current !== undefined) return current;
    const forget = (): void => {
      if (current === opening) current = undefined;
    };
    const opening = open(forget);
    opening.catch(forget);
    current = opening;
    return opening;
  }

  return {
    async request(headers) {
      for (;;) {
        if (closedFor !== undefined) throw closedFor;
        const opening = acquire();
        const connection = await opening;
        latest = connection;
        if (connection.isUsable()) return connection.request(headers);
        if (current === opening) current = undefined;
      }
    },
    distrust(stream) {
      stream.session?.close();
    },
    own() {
      return latest?.isUsable() ? latest.own() : undefined;
    },
    async close(reason) {
      closedFor = reason;
      current = undefined;
      const closing = [...sockets].map((socket) => {
        const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
        socket.destroy(reason);
        return closed;
      });
      await Promise.all(closing);
    },
  };
}

interface Connection {
  isUsable(): boolean;
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream;
  own(): OwnConnection;
}

/** HTTP/2 on a connected socket. Calls `onUnusable` when no further request may start on it. */
async function createConnection(authority: string, socket: Socket, onUnusable: () => void): Promise<Connection> {
  const streams = new Set<ClientHttp2Stream>();
  // Before the session's own listener, which would end the streams as if they had been cancelled.
  socket.once("close", () => {
    const reason = socket.errored ?? Object.assign(new Error("the peer closed the connection"), { code: "ECONNRESET" });
    for (const stream of streams) stream.destroy(reason);
  });
  const session = connect(authority, { createConnection: () => socket });
  session.once("goaway", onUnusable);
  session.once("close", onUnusable);
  session.on("error", onUnusable);
  await opened(session);
  session.setLocalWindowSize(grantedWindow);
  session.unref();
  // A Unix socket has no port.
  const localPort = socket.localPort || undefined;
  let requests = 0;

  return {
    isUsable: () => !session.closed && !session.destroyed,
    request(headers) {
      const stream = session.request(headers);
      requests += 1;
      streams.add(stream);
      session.ref();
      stream.once("close", () => {
        streams.delete(stream);
        if (streams.size === 0) session.unref();
      });
      return stream;
    },
    own: () => ({ localPort, grantedWindow, requests }),
  };
}

async function opened(session: ClientHttp2Session): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    session.once("connect", () => resolve());
    session.once("error", reject);
    session.once("close", () => reject(new Error("the peer closed the connection")));
  });
}

function startTimer(ms: number, onElapsed: () => void): NodeJS.Timeout | undefined {
  return ms > 0 ? setTimeout(onElapsed, ms).unref() : undefined;
}
