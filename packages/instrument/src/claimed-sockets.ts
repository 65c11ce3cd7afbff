import type { Socket } from "node:net";

/** Weak, so that being claimed keeps no socket alive. */
const claimed = new WeakSet<Socket>();
const listeners = new Set<(socket: Socket) => void>();

/**
 * Marks a connection that another instrument shows, because it knows its purpose: an observer of all requests of
 * `node:http` leaves those out that are made over it, as the upgrade to WebSocket and the CONNECT to a proxy are.
 */
export function claimSocket(socket: Socket): void {
  claimed.add(socket);
  for (const listener of listeners) listener(socket);
}

/** Whether somebody shows a connection by itself. */
export function isClaimed(socket: Socket): boolean {
  return claimed.has(socket);
}

/** Calls the listener for every socket that is claimed from now on, which may be shown already. Returns how to stop. */
export function hearClaims(listener: (socket: Socket) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
