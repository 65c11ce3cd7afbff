import type { Socket } from "node:net";
import type { TransportFacts } from "../diagnostics/facts.js";
import { HttpSocket, type OnIdle } from "./http-socket.js";
import { openWire } from "./socket-wire.js";

/** The sockets of one client, by origin. Those that are idle are used again, the youngest first. */
export interface SocketPool {
  /** An idle socket to an origin that belongs to this transport. Whoever takes it sends a request on it, or gives it back. */
  take(origin: string, transport: TransportFacts): HttpSocket | undefined;
  /** Takes in a socket, for a first request. */
  add(socket: Socket, options: AddedSocket): HttpSocket;
  /** Gives back a socket that nothing was sent on. */
  giveBack(socket: HttpSocket): void;
  /** All of them, idle or not. */
  all(): Iterable<HttpSocket>;
}

export interface AddedSocket {
  readonly origin: string;
  readonly remoteName: string;
  readonly transport: TransportFacts;
}

/** How much of the time that a server keeps an idle socket it is used: what is written when the server ends it is lost. */
const keptShare = 0.8;
/** How long that may be, in milliseconds: what stands between may forget a silent connection, and tells nobody. */
const longestKeptMs = 600_000;

export function createSocketPool(idleMs: number, redact: (text: string) => string): SocketPool {
  const idle = new Map<string, HttpSocket[]>();
  const pool = new Set<HttpSocket>();
  let timer: NodeJS.Timeout | undefined;
  let wakesAt = Number.POSITIVE_INFINITY;

  const putAside = (socket: HttpSocket): void => {
    const sockets = idle.get(socket.origin);
    if (sockets === undefined) idle.set(socket.origin, [socket]);
    else sockets.push(socket);
    if (socket.idleUntil < wakesAt) wakeAt(socket.idleUntil);
  };
  const onIdle: OnIdle = (socket, wasUsed, keptMs) => {
    const usableMs = keptMs === undefined ? idleMs : Math.min(keptMs, longestKeptMs) * keptShare;
    // The server counts from its last answer.
    if (wasUsed) socket.idleUntil = performance.now() + usableMs;
    putAside(socket);
  };
  /** Ends those whose time is over, and looks again when that of the next is. */
  const endIdle = (): void => {
    const now = performance.now();
    wakesAt = Number.POSITIVE_INFINITY;
    let next = wakesAt;
    for (const socket of [...idle.values()].flat()) {
      if (socket.idleUntil <= now) socket.wire.end("It was idle.");
      else next = Math.min(next, socket.idleUntil);
    }
    if (next !== Number.POSITIVE_INFINITY) wakeAt(next);
  };
  const wakeAt = (time: number): void => {
    clearTimeout(timer);
    wakesAt = time;
    timer = setTimeout(endIdle, Math.ceil(time - performance.now())).unref();
  };

  return {
    take(origin, transport) {
      const sockets = idle.get(origin);
      for (let socket = sockets?.pop(); socket !== undefined; socket = sockets?.pop()) {
        if (socket.isGone) continue;
        if (socket.wire.facts.transport !== transport) socket.wire.end("The transport that it belonged to has ended.");
        else if (socket.idleUntil <= performance.now()) socket.wire.end("It was idle.");
        else return socket;
      }
      return undefined;
    },
    add(socket, { origin, remoteName, transport }) {
      const added = new HttpSocket(openWire(socket, transport, remoteName, redact), origin, onIdle);
      pool.add(added);
      socket.once("close", () => {
        pool.delete(added);
        const sockets = idle.get(origin);
        const index = sockets?.indexOf(added) ?? -1;
        if (index !== -1) sockets?.splice(index, 1);
        if (sockets?.length === 0) idle.delete(origin);
      });
      return added;
    },
    giveBack: putAside,
    all: () => pool,
  };
}
