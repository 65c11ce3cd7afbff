import { ChannelzError } from "../errors.js";
import type { Server, Socket, SocketRef } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Int64, Source } from "../source.js";
import { isOfOneObject, lookUp, type Unreadable } from "./look-up.js";
import { mapBounded } from "./map-bounded.js";
import { defaultConcurrency, type WalkGraphOptions, walkAllChannels, walkServerSockets, walkServers } from "./walk.js";
import { defaultMaxObjects, limitReached } from "./walk-pages.js";

/** The owner of a socket, and its role. */
export interface SocketOwner {
  /** A `listen` socket waits for connections; a `server` socket is one; a `client` socket connects to a peer. */
  readonly role: "listen" | "server" | "client";
  readonly kind: "server" | "channel" | "subchannel";
  readonly id: bigint;
  readonly name: string;
}

/** The ref of a socket, with the first owner through which it was found. */
export interface OwnedSocketRef {
  readonly ref: SocketRef;
  readonly owner: SocketOwner;
}

/** A socket, or why the peer fails to read it, with the first owner through which it was found. */
export type OwnedSocket = OwnedSocketRef &
  ({ readonly socket: Socket; readonly unreadable?: undefined } | (Unreadable & { readonly socket?: undefined }));

/** Options for walking all sockets. */
export interface WalkSocketsOptions extends WalkGraphOptions {
  /** Only the sockets of this server; one that does not exist is NOT_FOUND. */
  readonly serverId?: Int64 | undefined;
}

/**
 * Every socket as a ref, once: those that servers listen on, those they accepted, and those below channels and subchannels. Sockets
 * that close during the walk are left out. If the peer fails to read one owner, the walk rejects with that failure after the
 * sockets of all others.
 */
export async function* walkSocketRefs(
  source: Source,
  options: WalkSocketsOptions = {},
): AsyncGenerator<OwnedSocketRef, void, undefined> {
  const { maxObjects = defaultMaxObjects } = options;
  const seen = new Set<bigint>();
  for await (const owned of walkOwners(source, options)) {
    const id = owned.ref.socketId;
    if (id <= 0n || seen.has(id)) continue;
    if (seen.size >= maxObjects) throw limitReached("sockets", maxObjects);
    seen.add(id);
    yield owned;
  }
}

/** Every socket, once, read one by one; see {@link walkSocketRefs}. One that the peer fails to read is yielded with the reason. */
export async function* walkAllSockets(
  source: Source,
  options: WalkSocketsOptions & { readonly summary?: boolean | undefined } = {},
): AsyncGenerator<OwnedSocket, void, undefined> {
  const { signal, summary = false, concurrency = defaultConcurrency } = options;
  const read = async (owned: OwnedSocketRef): Promise<OwnedSocket | undefined> => {
    const found = await lookUp(source.getSocket(owned.ref.socketId, { signal, summary }), signal);
    if (found === undefined || "unreadable" in found) return found && { ...owned, ...found };
    return found.socket && { ...owned, socket: found.socket };
  };
  for await (const owned of mapBounded(walkSocketRefs(source, options), concurrency, read)) {
    if (owned !== undefined) yield owned;
  }
}

/** The sockets of one server: those it listens on, then those it accepted. None if the server has closed. */
export async function* walkSocketsOfServer(
  source: Source,
  server: Server,
  options: WalkGraphOptions = {},
): AsyncGenerator<OwnedSocketRef, void, undefined> {
  const holder = { kind: "server", id: server.ref?.serverId ?? 0n, name: server.ref?.name ?? "" } as const;
  for (const ref of server.listenSocket) yield { ref, owner: { ...holder, role: "listen" } };
  const { signal, pageSize, maxObjects } = options;
  try {
    for await (const ref of walkServerSockets(source, holder.id, { signal, pageSize, maxObjects })) {
      yield { ref, owner: { ...holder, role: "server" } };
    }
  } catch (error) {
    if (!ChannelzError.is(error, "NOT_FOUND")) throw error;
  }
}

async function* walkOwners(
  source: Source,
  options: WalkSocketsOptions,
): AsyncGenerator<OwnedSocketRef, void, undefined> {
  const { serverId, signal, pageSize, maxObjects } = options;
  if (serverId !== undefined) {
    const { server } = await source.getServer(serverId, { signal });
    if (server !== undefined) yield* walkSocketsOfServer(source, server, options);
    return;
  }
  let failure: ChannelzError | undefined;
  for await (const server of walkServers(source, { signal, pageSize, maxObjects })) {
    try {
      yield* walkSocketsOfServer(source, server, options);
    } catch (error) {
      if (!isOfOneObject(error, signal)) throw error;
      failure ??= error;
    }
  }
  for await (const { kind, id, object, unreadable } of walkAllChannels(source, options)) {
    failure ??= unreadable;
    if (object === undefined) continue;
    for (const ref of object.socketRef) {
      yield { ref, owner: { role: "client", kind, id, name: object.ref?.name ?? "" } };
    }
  }
  if (failure !== undefined) throw failure;
}
