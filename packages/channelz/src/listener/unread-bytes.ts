import type { Connection } from "./connection.js";

/** Limits the unread response bytes of all connections together. */
export interface UnreadBytes {
  /** Call after writing to a connection. Closes the slowest connections if there are too many unread bytes. */
  written(connection: Connection): void;
  /** Measures all connections, because reads cause no event. */
  measure(): void;
}

export interface UnreadBytesOptions {
  readonly maxBytes: number;
  readonly connections: Iterable<Connection>;
  /** Closes a connection with too many unread bytes. */
  readonly close: (connection: Connection) => void;
}

/** Fewer unread bytes on one connection are counted only when all are measured, not with every write. */
const smallBytes = 16 * 1024;
/** A client with fewer unread bytes keeps up: closing its connection would gain nothing. */
const keptUpBytes = 64 * 1024;

export function createUnreadBytes({ maxBytes, connections, close }: UnreadBytesOptions): UnreadBytes {
  let total = 0;

  const measure = (): void => {
    total = 0;
    for (const connection of connections) {
      setUnreadBytes(connection, unreadBytesOf(connection));
      total += connection.unreadBytes;
    }
  };

  const closeSlowest = (): void => {
    measure();
    while (total > maxBytes) {
      const slowest = slowestOf(connections);
      if (slowest === undefined) return;
      total -= slowest.unreadBytes;
      close(slowest);
    }
  };

  return {
    written(connection) {
      const before = connection.unreadBytes;
      const bytes = unreadBytesOf(connection);
      if (before === 0 && bytes < smallBytes) return;
      setUnreadBytes(connection, bytes);
      total += bytes - before;
      if (total > maxBytes) closeSlowest();
    },
    measure,
  };
}

/** The bytes in this process that the client of a connection has not read. */
function unreadBytesOf({ socket, session, requests }: Connection): number {
  let bytes = session === undefined ? socket.writableLength : 0;
  for (const { stream, http1 } of requests) {
    if (stream !== undefined) bytes += stream.writableLength;
    // The response to a pipelined request has no socket before its turn.
    else if (http1?.response.socket === null) bytes += http1.response.writableLength;
  }
  return bytes;
}

function setUnreadBytes(connection: Connection, bytes: number): void {
  if (connection.unreadBytes === 0 && bytes > 0) connection.unreadSince = performance.now();
  connection.unreadBytes = bytes;
}

/** The connection whose client has read nothing for the longest time. */
function slowestOf(connections: Iterable<Connection>): Connection | undefined {
  let slowest: Connection | undefined;
  let since = Number.POSITIVE_INFINITY;
  for (const connection of connections) {
    const stalledSince = stalledSinceOf(connection);
    if (connection.unreadBytes < keptUpBytes || stalledSince >= since) continue;
    slowest = connection;
    since = stalledSince;
  }
  return slowest;
}

/** When a client last read something, if known; otherwise since when there have been unread bytes. */
function stalledSinceOf({ requests, unreadSince }: Connection): number {
  return Math.min(...requests.map(({ stalledSince }) => stalledSince ?? unreadSince), Number.MAX_VALUE);
}
