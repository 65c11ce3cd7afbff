import { formatAddress } from "@wirescope/channelz/internal/text";
import type { ObjectKey, Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";

/** The objects that refer to this one. */
export function parentsOf({ objects }: Snapshot, key: ObjectKey): SnapshotObject[] {
  return [...objects.values()].filter(({ children }) => children.includes(key));
}

/** The objects that this one refers to and that still exist. */
export function childrenOf({ objects }: Snapshot, { children }: SnapshotObject): SnapshotObject[] {
  return children.flatMap((key) => objects.get(key) ?? []);
}

/** The other end of a connection, if the snapshot has it: the socket with the same addresses, swapped. */
export function otherEndOf({ objects }: Snapshot, socket: SnapshotObject): SnapshotObject | undefined {
  if (socket.kind !== "socket") return undefined;
  const local = formatAddress(socket.message?.local);
  const remote = formatAddress(socket.message?.remote);
  if (local === "-" || remote === "-" || local === remote) return undefined;
  for (const other of objects.values()) {
    if (other.kind !== "socket" || other.key === socket.key || other.message?.remote === undefined) continue;
    if (formatAddress(other.message.local) === remote && formatAddress(other.message.remote) === local) return other;
  }
  return undefined;
}

/** The listening socket with an address, if the snapshot has it. */
export function listenerAt({ objects }: Snapshot, address: string): SnapshotObject | undefined {
  for (const object of objects.values()) {
    if (object.kind !== "server") continue;
    for (const key of object.children.slice(0, object.message?.listenSocket.length ?? 0)) {
      const socket = objects.get(key);
      if (socket?.kind === "socket" && formatAddress(socket.message?.local) === address) return socket;
    }
  }
  return undefined;
}
