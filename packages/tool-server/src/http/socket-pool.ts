import type { Socket } from "node:net";
import type { TransportFacts } from "../diagnostics/facts.js";
import type { Exchange } from "./exchange.js";
import { type OpenWire, openWire } from "./socket-wire.js";
import { Client } from "./undici.js";

/** A socket that speaks HTTP, one request at a time. */
export interface PooledSocket {
  readonly wire: OpenWire;
  /** undici's client on this one socket. */
  readonly client: Client;
  /** What is under way on it. */
  exchange: Pick<Exchange, "callOff"> | undefined;
}

/** The sockets of one client, by origin. Those that are idle are used again, the youngest first. */
export interface SocketPool {
  /** An idle socket to an origin that belongs to this transport. */
  take(origin: string, transport: TransportFacts): PooledSocket | undefined;
  /** Takes in a socket, for a first request. */
  add(socket: Socket, options: AddedSocket): PooledSocket;
  /** Gives back a socket whose request is over. */
  release(origin: string, pooled: PooledSocket): void;
  /** All of them, idle or not. */
  all(): Iterable<PooledSocket>;
}

export interface AddedSocket {
  readonly origin: string;
  readonly remoteName: string;
  readonly transport: TransportFacts;
}

/** A request that waited on a socket which died. It was never written. */
class SocketGone extends Error {
  override readonly name = "SocketGone";
}

export function createSocketPool(idleMs: number, redact: (text: string) => string): SocketPool {
  const idle = new Map<string, PooledSocket[]>();
  const pool = new Set<PooledSocket>();
  return {
    take(origin, transport) {
      const sockets = idle.get(origin);
      for (let pooled = sockets?.pop(); pooled !== undefined; pooled = sockets?.pop()) {
        const { socket, transport: owner } = pooled.wire.facts;
        if (socket.destroyed) continue;
        if (owner === transport) return pooled;
        pooled.wire.end("The transport that it belonged to has ended.");
      }
      return undefined;
    },
    add(socket, { origin, remoteName, transport }) {
      const pooled: PooledSocket = {
        wire: openWire(socket, transport, remoteName, redact),
        client: clientOf(socket, origin, idleMs),
        exchange: undefined,
      };
      pool.add(pooled);
      socket.once("close", () => {
        pool.delete(pooled);
        const sockets = idle.get(origin);
        const index = sockets?.indexOf(pooled) ?? -1;
        if (index !== -1) sockets?.splice(index, 1);
      });
      return pooled;
    },
    release(origin, pooled) {
      const sockets = idle.get(origin);
      if (sockets === undefined) idle.set(origin, [pooled]);
      else sockets.push(pooled);
    },
    all: () => pool,
  };
}

/** undici speaks over the socket that it is given, and over no other. */
function clientOf(socket: Socket, origin: string, idleMs: number): Client {
  let isTaken = false;
  return new Client(origin, {
    pipelining: 1,
    keepAliveTimeout: idleMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_, callback) => {
      const isFirst = !isTaken;
      isTaken = true;
      // Not at once: undici looks for work only after it has returned.
      queueMicrotask(() => {
        if (isFirst && !socket.destroyed) callback(null, socket);
        else callback(new SocketGone("The socket is gone."), null);
      });
    },
  });
}
