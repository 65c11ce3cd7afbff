import { formatAddress } from "@wirescope/channelz/internal/text";
import type { Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";
import { rolesOf } from "../object-model/index.js";

const maxSockets = 32;

/** One socket for each address that the process connects to or listens on: all others have the same certificates. Processes that do not respond are skipped. */
export function certificateSockets({ objects, origins }: Snapshot): readonly SnapshotObject[] {
  const silent = new Set(origins.filter(({ error }) => error !== undefined).map(({ name }) => name));
  const byAddress = new Map<string, SnapshotObject>();
  for (const [key, role] of rolesOf(objects)) {
    const socket = objects.get(key);
    if (role === "listen" || socket?.kind !== "socket" || silent.has(socket.origin)) continue;
    const { local, remote } = socket.message ?? {};
    byAddress.set(`${socket.origin} ${role} ${formatAddress(role === "client" ? remote : local)}`, socket);
    if (byAddress.size >= maxSockets) break;
  }
  return [...byAddress.values()];
}
