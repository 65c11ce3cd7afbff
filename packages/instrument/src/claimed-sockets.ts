import type { Socket } from "node:net";

/** Weak, so that being claimed keeps no socket alive. */
const claimed = new WeakSet<Socket>();
const listeners = new Set<(socket: Socket) => void>();

/**
 * Marks a connection that a more specific instrument shows. The observers of `node:http` and undici then ignore requests on it,
 * such as a WebSocket upgrade or a CONNECT to a proxy.
 */
export function claimSocket(socket: Socket): void {
  claimed.add(socket);
  for (const listener of listeners) listener(socket);
}

/** Whether a more specific instrument shows a connection. */
export function isClaimed(socket: Socket): boolean {
  return claimed.has(socket);
}

/**
 * Calls the listener for every socket that is claimed from now on, which may already be shown. Returns an unsubscribe function.
 */
export function onClaimed(listener: (socket: Socket) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
