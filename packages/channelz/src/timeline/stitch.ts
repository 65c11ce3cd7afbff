import type { Socket } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { formatAddress } from "../text/address.js";
import type { ObjectKey, Snapshot, SnapshotObject } from "./snapshot.js";

/** Both ends of one connection, in their processes. */
export interface StitchedConnection {
  readonly client: SocketEnd;
  readonly server: SocketEnd;
}

/** One end of a connection. */
export interface SocketEnd {
  readonly origin: string;
  readonly socket: SnapshotObject;
  /** The owner of the socket: a server, channel or subchannel. */
  readonly owner: SnapshotObject;
  /** The server, or the top channel of the owner. */
  readonly top: SnapshotObject;
}

/**
 * Pairs the sockets whose local and remote addresses match across processes: one of a channel with one of a server. Sockets with
 * more than one match are left out, which can happen with loopback addresses of several machines; so are Unix sockets, which have no
 * address for each connection.
 */
export function stitch(snapshots: Snapshot | readonly Snapshot[]): StitchedConnection[] {
  const all = "objects" in snapshots ? [snapshots] : snapshots;
  const clients: SocketEnd[] = [];
  const servers = new Map<string, SocketEnd[]>();
  for (const snapshot of all) {
    for (const end of endsOf(snapshot)) {
      if (end.owner.kind !== "server") clients.push(end);
      else append(servers, addressesOf(end.socket, "server"), end);
    }
  }
  const byAddresses = new Map<string, SocketEnd[]>();
  for (const end of clients) append(byAddresses, addressesOf(end.socket, "client"), end);
  return [...byAddresses].flatMap(([addresses, [client, ...otherClients]]) => {
    const [server, ...otherServers] = servers.get(addresses) ?? [];
    if (client === undefined || server === undefined || otherClients.length + otherServers.length > 0) return [];
    return [{ client, server }];
  });
}

/** Every socket with its owner; a socket that several objects refer to belongs to the first. */
function* endsOf({ objects }: Snapshot): Generator<SocketEnd, void, undefined> {
  const parents = new Map<ObjectKey, SnapshotObject>();
  for (const object of objects.values()) {
    for (const child of object.children) if (!parents.has(child)) parents.set(child, object);
  }
  for (const socket of objects.values()) {
    const owner = socket.kind === "socket" ? parents.get(socket.key) : undefined;
    if (owner !== undefined) yield { origin: socket.origin, socket, owner, top: topOf(owner, parents) };
  }
}

function topOf(owner: SnapshotObject, parents: ReadonlyMap<ObjectKey, SnapshotObject>): SnapshotObject {
  const seen = new Set<ObjectKey>();
  let top = owner;
  // The refs of a hostile peer may form a cycle.
  for (let next = parents.get(owner.key); next !== undefined && !seen.has(next.key); next = parents.get(next.key)) {
    seen.add(next.key);
    top = next;
    if (next.isTop) break;
  }
  return top;
}

/** The addresses of a connection, the client's first; undefined if they do not identify one. */
function addressesOf({ message }: SnapshotObject, role: "client" | "server"): string | undefined {
  const { local, remote } = (message ?? {}) as Partial<Socket>;
  if (local?.address.case !== "tcpipAddress" || remote?.address.case !== "tcpipAddress") return undefined;
  if (local.address.value.port <= 0 || remote.address.value.port <= 0) return undefined;
  const [own, other] = [formatAddress(local), formatAddress(remote)];
  return role === "client" ? `${own} ${other}` : `${other} ${own}`;
}

function append(map: Map<string, SocketEnd[]>, key: string | undefined, end: SocketEnd): void {
  if (key === undefined) return;
  const list = map.get(key);
  if (list === undefined) map.set(key, [end]);
  else list.push(end);
}
