import type { Socket } from "node:net";

/** Weak, so that being claimed keeps no socket alive. */
const claimed = new WeakSet<Socket>();
const listeners = new Set<(socket: Socket) => void>();

/**
 * Marks a connection that another instrument shows, because it knows its purpose. An observer of all `node:http` requests
 * leaves out requests over it, such as the upgrade to WebSocket and the CONNECT to a proxy.
 */
export function claimSocket(socket: Socket): void {
  claimed.add(socket);
  for (const listener of listeners) listener(socket);
}

/** Whether another instrument shows a connection. */
export function isClaimed(socket: Socket): boolean {
  return claimed.has(socket);
}

/**
 * Calls the listener for every socket that is claimed from now on, which may already be shown. Returns a function that stops
 * it.
 */
export function onClaimed(listener: (socket: Socket) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
