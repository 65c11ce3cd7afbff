import { ChannelzError } from "../errors.js";
import type { Server, Socket, SocketRef } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Int64, Source } from "../source.js";
import { mapBounded } from "./map-bounded.js";
import { orUndefined } from "./or-undefined.js";
import { defaultConcurrency, type WalkGraphOptions, walkAllChannels, walkServerSockets, walkServers } from "./walk.js";

/** Who holds a socket, and what it is there for. */
export interface SocketOwner {
  /** A `listen` socket waits for connections; a `server` socket is one; a `client` socket leads to a peer. */
  readonly role: "listen" | "server" | "client";
  readonly kind: "server" | "channel" | "subchannel";
  readonly id: bigint;
  readonly name: string;
}

/** A socket's ref, with the first owner through which it was found. */
export interface OwnedSocketRef {
  readonly ref: SocketRef;
  readonly owner: SocketOwner;
}

/** A socket as the peer describes it, with the first owner through which it was found. */
export interface OwnedSocket {
  readonly socket: Socket;
  readonly owner: SocketOwner;
}

/** How all sockets are walked. */
export interface WalkSocketsOptions extends WalkGraphOptions {
  /** Only the sockets of this server; one that does not exist is NOT_FOUND. */
  readonly serverId?: Int64 | undefined;
}

/**
 * Every socket as a ref, once: those that servers listen on, those they accepted, and those below channels and
 * subchannels. What vanishes meanwhile is left out.
 */
export async function* walkSocketRefs(
  source: Source,
  options: WalkSocketsOptions = {},
): AsyncGenerator<OwnedSocketRef, void, undefined> {
  const seen = new Set<bigint>();
  for await (const owned of walkOwners(source, options)) {
    const id = owned.ref.socketId;
    if (id <= 0n || seen.has(id)) continue;
    seen.add(id);
    yield owned;
  }
}

/** Every socket, once, read one by one; see {@link walkSocketRefs}. */
export async function* walkAllSockets(
  source: Source,
  options: WalkSocketsOptions & { readonly summary?: boolean | undefined } = {},
): AsyncGenerator<OwnedSocket, void, undefined> {
  const { signal, summary = false, concurrency = defaultConcurrency } = options;
  const read = async ({ ref, owner }: OwnedSocketRef): Promise<OwnedSocket | undefined> => {
    const socket = (await orUndefined(source.getSocket(ref.socketId, { signal, summary })))?.socket;
    return socket && { socket, owner };
  };
  for await (const owned of mapBounded(walkSocketRefs(source, options), concurrency, read)) {
    if (owned !== undefined) yield owned;
  }
}

/** The sockets of one server: those it listens on, then those it accepted. A server that is gone has none. */
export async function* walkSocketsOfServer(
  source: Source,
  server: Server,
  options: WalkGraphOptions = {},
): AsyncGenerator<OwnedSocketRef, void, undefined> {
  const holder = { kind: "server", id: server.ref?.serverId ?? 0n, name: server.ref?.name ?? "" } as const;
  for (const ref of server.listenSocket) yield { ref, owner: { ...holder, role: "listen" } };
  const { signal, pageSize } = options;
  try {
    for await (const ref of walkServerSockets(source, holder.id, { signal, pageSize })) {
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
  const { serverId, signal, pageSize } = options;
  if (serverId !== undefined) {
    const { server } = await source.getServer(serverId, { signal });
    if (server !== undefined) yield* walkSocketsOfServer(source, server, options);
    return;
  }
  for await (const server of walkServers(source, { signal, pageSize })) {
    yield* walkSocketsOfServer(source, server, options);
  }
  for await (const { kind, id, object } of walkAllChannels(source, options)) {
    for (const ref of object.socketRef) {
      yield { ref, owner: { role: "client", kind, id, name: object.ref?.name ?? "" } };
    }
  }
}
