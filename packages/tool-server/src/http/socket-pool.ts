import type { Cancellation } from "../cancellation.js";
import type { TransportInfo } from "../connection-info.js";
import type { HttpConnection } from "./http-connection.js";

/** How many connections there may be to one origin, and how many more for requests that others wait for. */
const [maxConnections, reservedConnections] = [256, 16];

/** The connections of one client, by origin. Those that are idle are used again, the youngest first. */
export interface SocketPool {
  /** An idle connection to an origin that belongs to this transport. Its caller sends a request on it, or gives it back. */
  take(origin: string, transport: TransportInfo): HttpConnection | undefined;
  /** Permission to open one more, or undefined if there are as many as allowed. The caller adds it, or calls `release`. */
  claim(origin: string, usesReserve: boolean): { release(): void } | undefined;
  /** Resolves when `take` or `claim` may succeed. Rejects with the reason of a signal. */
  vacancy(origin: string, signals: readonly (Cancellation | undefined)[]): Promise<void>;
  /** Adds a connection that was claimed. */
  add(connection: HttpConnection): void;
  giveBack(connection: HttpConnection): void;
  /** All of them, idle or not. */
  all(): Iterable<HttpConnection>;
}

/** The connections to one origin. */
interface OriginSockets {
  /** With those that are being opened. */
  count: number;
  readonly idle: HttpConnection[];
  readonly waiting: Set<() => void>;
}

export function createSocketPool(): SocketPool {
  const origins = new Map<string, OriginSockets>();
  const pool = new Set<HttpConnection>();

  const at = (origin: string): OriginSockets => {
    const known = origins.get(origin) ?? { count: 0, idle: [], waiting: new Set() };
    origins.set(origin, known);
    return known;
  };
  const wakeOne = ({ waiting }: OriginSockets): void => {
    const [first] = waiting;
    first?.();
  };
  const release = (origin: string): void => {
    const sockets = at(origin);
    sockets.count -= 1;
    if (sockets.waiting.size > 0) wakeOne(sockets);
    else if (sockets.count === 0) origins.delete(origin);
  };

  return {
    take(origin, transport) {
      const idle = origins.get(origin)?.idle;
      for (let found = idle?.pop(); found !== undefined; found = idle?.pop()) {
        const { socket, transport: owner } = found.trackedSocket.info;
        if (socket.destroyed) continue;
        if (owner === transport) return found;
        found.trackedSocket.end("The transport that it belonged to has ended.");
      }
      return undefined;
    },
    claim(origin, usesReserve) {
      const sockets = at(origin);
      if (sockets.count >= maxConnections + (usesReserve ? reservedConnections : 0)) return undefined;
      sockets.count += 1;
      return { release: () => release(origin) };
    },
    vacancy(origin, signals) {
      const { waiting } = at(origin);
      return new Promise((resolve, reject) => {
        const settle = (): void => {
          waiting.delete(onVacancy);
          for (const signal of signals) signal?.removeEventListener("abort", onAbort);
        };
        const onVacancy = (): void => {
          settle();
          resolve();
        };
        const onAbort = (): void => {
          settle();
          reject(signals.find((signal) => signal?.aborted)?.reason);
        };
        waiting.add(onVacancy);
        for (const signal of signals) signal?.addEventListener("abort", onAbort);
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
      const sockets = at(origin);
      connection.wasUsed = true;
      // A server that responds before it has read the request may not read the rest.
      if (socket.writableLength > 0) trackedSocket.end("The server responded before it had read the request.");
      else if (!socket.destroyed) sockets.idle.push(connection);
      wakeOne(sockets);
    },
    all: () => pool,
  };
}
