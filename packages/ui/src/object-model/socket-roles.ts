import { formatAddress } from "@wirescope/channelz/internal/text";
import type { ObjectKey, Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";
import type { SocketRole } from "./labels.js";

/** What each socket is for, from the server or channel that refers to it. */
export function rolesOf(objects: Snapshot["objects"]): Map<ObjectKey, SocketRole> {
  const roles = new Map<ObjectKey, SocketRole>();
  for (const object of objects.values()) {
    if (object.kind !== "server") {
      for (const key of object.children) if (objects.get(key)?.kind === "socket") roles.set(key, "client");
      continue;
    }
    const listening = object.message?.listenSocket.length ?? 0;
    for (const [index, key] of object.children.entries()) roles.set(key, index < listening ? "listen" : "server");
  }
  return roles;
}

/** The listening socket that accepted a connection: the one on its local address, or on its port and the wildcard address. */
export function listenerOf(socket: SnapshotObject, listeners: readonly SnapshotObject[]): SnapshotObject | undefined {
  if (listeners.length < 2) return listeners[0];
  const local = addressOf(socket);
  const exact = listeners.find((each) => addressOf(each) === local);
  if (exact !== undefined) return exact;
  const port = portOf(local);
  return port === undefined
    ? undefined
    : listeners.find((each) => isAnyAddress(addressOf(each)) && portOf(addressOf(each)) === port);
}

function addressOf(object: SnapshotObject): string {
  return object.kind === "socket" ? formatAddress(object.message?.local) : "-";
}

function portOf(address: string): string | undefined {
  return /:(\d+)$/.exec(address)?.[1];
}

function isAnyAddress(address: string): boolean {
  return address.startsWith("0.0.0.0:") || address.startsWith("[::]:");
}
