import type { Connection } from "./connection.js";

/** Bounds the bytes of responses that wait for clients, of all connections together. */
export interface UnreadBytes {
  /** Call after something was written to a connection. Closes the slowest connections if too much waits. */
  written(connection: Connection): void;
  /** Measures all connections: the amount that waits shrinks without an event. */
  measure(): void;
}

export interface UnreadBytesOptions {
  readonly maxBytes: number;
  readonly connections: Iterable<Connection>;
  /** Closes a connection that has too much waiting. */
  readonly close: (connection: Connection) => void;
}

/** Less than this on one connection is counted when all are measured, not with every write. */
const smallBytes = 16 * 1024;
/** A client with less than this waiting keeps up: closing its connection would gain nothing. */
const keptUpBytes = 64 * 1024;

export function createUnreadBytes({ maxBytes, connections, close }: UnreadBytesOptions): UnreadBytes {
  let total = 0;

  const measure = (): void => {
    total = 0;
    for (const connection of connections) {
      note(connection, unreadBytesOf(connection));
      total += connection.unreadBytes;
    }
  };

  const relieve = (): void => {
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
      note(connection, bytes);
      total += bytes - before;
      if (total > maxBytes) relieve();
    },
    measure,
  };
}

/** What waits in this process for the client of a connection. */
function unreadBytesOf({ socket, session, exchanges }: Connection): number {
  let bytes = session === undefined ? socket.writableLength : 0;
  for (const { stream, http1 } of exchanges) {
    if (stream !== undefined) bytes += stream.writableLength;
    // The response to a pipelined request has no socket before its turn.
    else if (http1?.response.socket === null) bytes += http1.response.writableLength;
  }
  return bytes;
}

function note(connection: Connection, bytes: number): void {
  if (connection.unreadBytes === 0 && bytes > 0) connection.unreadSince = performance.now();
  connection.unreadBytes = bytes;
}

/** The connection whose client has read nothing for longest. */
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

/** When a client last read something, as far as that is known; else since when something waits for it. */
function stalledSinceOf({ exchanges, unreadSince }: Connection): number {
  return Math.min(...exchanges.map(({ stalledSince }) => stalledSince ?? unreadSince), Number.MAX_VALUE);
}
