import type { Cancellation } from "../cancellation.js";
import type { TransportInfo } from "../connection-info.js";
import type { HttpConnection } from "./http-connection.js";

/** The maximum number of connections to one origin. There is an additional reserve for requests that others depend on. */
const maxConnections = 256;
const reservedConnections = 16;

/** The connections of one client, by origin. Idle connections are reused, the most recent first. */
export interface SocketPool {
  /**
   * Takes an idle connection of this transport to an origin, unless only the reserve is free and this request must not use it. The
   * caller sends a request on it, or gives it back.
   */
  take(origin: string, transport: TransportInfo, usesReserve: boolean): HttpConnection | undefined;
  /** Reserves a slot for one more; false at the limit. The caller calls `add`, or `release` if it opens none. */
  claim(origin: string, usesReserve: boolean): boolean;
  release(origin: string): void;
  /** Resolves when `take` or `claim` may succeed: first for requests that may use the reserve. Rejects with a signal's reason. */
  waitForSlot(origin: string, usesReserve: boolean, signals: readonly (Cancellation | undefined)[]): Promise<void>;
  /** Adds a connection that was claimed. */
  add(connection: HttpConnection): void;
  giveBack(connection: HttpConnection): void;
  /** All connections, idle or not. */
  all(): Iterable<HttpConnection>;
}

interface OriginSockets {
  /** Including those that are being opened. */
  count: number;
  readonly idle: HttpConnection[];
  readonly waiting: Set<() => void>;
  readonly waitingForReserve: Set<() => void>;
}

/**
 * Whether only the reserve is free. Idle connections do not count: whatever opened them, any request may use them, as long as enough
 * others are left for the requests that this one may depend on.
 */
function isOnlyReserveFree({ count, idle }: OriginSockets): boolean {
  return count - idle.length >= maxConnections;
}

export function createSocketPool(): SocketPool {
  const origins = new Map<string, OriginSockets>();
  const pool = new Set<HttpConnection>();

  const at = (origin: string): OriginSockets => {
    const known = origins.get(origin) ?? { count: 0, idle: [], waiting: new Set(), waitingForReserve: new Set() };
    origins.set(origin, known);
    return known;
  };
  const wakeOne = (sockets: OriginSockets): void => {
    const { waiting, waitingForReserve } = sockets;
    if (waiting.size === 0 && waitingForReserve.size === 0) return;
    const [first] = waitingForReserve.size > 0 || isOnlyReserveFree(sockets) ? waitingForReserve : waiting;
    first?.();
  };
  const release = (origin: string): void => {
    const sockets = at(origin);
    sockets.count -= 1;
    wakeOne(sockets);
    if (sockets.count === 0 && sockets.waiting.size === 0 && sockets.waitingForReserve.size === 0)
      origins.delete(origin);
  };

  return {
    take(origin, transport, usesReserve) {
      const sockets = origins.get(origin);
      if (sockets === undefined || (!usesReserve && isOnlyReserveFree(sockets))) return undefined;
      const { idle } = sockets;
      for (let found = idle.pop(); found !== undefined; found = idle.pop()) {
        const { socket, transport: owner } = found.trackedSocket.info;
        if (socket.destroyed) continue;
        if (owner === transport) return found;
        found.trackedSocket.end("Its transport has ended.");
      }
      return undefined;
    },
    claim(origin, usesReserve) {
      const sockets = at(origin);
      if (sockets.count >= maxConnections + (usesReserve ? reservedConnections : 0)) return false;
      sockets.count += 1;
      return true;
    },
    release,
    waitForSlot(origin, usesReserve, signals) {
      const sockets = at(origin);
      const waiting = usesReserve ? sockets.waitingForReserve : sockets.waiting;
      return new Promise((resolve, reject) => {
        const settle = (): void => {
          waiting.delete(onSlot);
          for (const signal of signals) signal?.removeEventListener("abort", onAbort);
        };
        const onSlot = (): void => {
          settle();
          resolve();
        };
        const onAbort = (): void => {
          settle();
          reject(signals.find((signal) => signal?.aborted)?.reason);
        };
        waiting.add(onSlot);
        for (const signal of signals) signal?.addEventListener("abort", onAbort);
        if (signals.some((signal) => signal?.aborted)) onAbort();
      });
    },
    add(connection) {
      const { origin, trackedSocket } = connection;
      pool.add(connection);
      trackedSocket.info.socket.once("close", () => {
        pool.delete(connection);
        const { idle } = at(origin);
        const index = idle.indexOf(connection);
        if (index !== -1) idle.splice(index, 1);
        release(origin);
      });
    },
    giveBack(connection) {
      const { origin, trackedSocket } = connection;
      const { socket } = trackedSocket.info;
      connection.wasUsed = true;
      const settle = (): void => {
        const sockets = at(origin);
        // A server that responds before it has read the request may never read the rest.
        if (socket.writableLength > 0) trackedSocket.end("The server responded before it had read the request.");
        else if (!socket.destroyed) sockets.idle.push(connection);
        wakeOne(sockets);
      };
      // Node reports that TLS has written a request in the turn after it was sent, which may be after a fast response.
      if (socket.writableLength > 0) setImmediate(settle);
      else settle();
    },
    all: () => pool,
  };
}
