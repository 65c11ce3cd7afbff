import type { Socket } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Source } from "../source.js";
import { mapBounded } from "./map-bounded.js";
import { orUndefined } from "./or-undefined.js";
import { type Inventory, plantTree, type Tree } from "./tree.js";
import { defaultConcurrency, type WalkedChannel, type WalkGraphOptions, walkAllChannels, walkServers } from "./walk.js";
import { type OwnedSocketRef, walkSocketsOfServer } from "./walk-sockets.js";

/** How a tree is read. */
export interface ReadTreeOptions extends WalkGraphOptions {
  /** Read each socket in short, or show just their refs, which costs no call a socket. Default "summary". */
  readonly sockets?: "summary" | "refs" | undefined;
  /** How many objects the tree may hold. Default 100,000. */
  readonly maxObjects?: number | undefined;
}

/** Reads the whole tree of a source: channels down to their sockets, servers and theirs. What vanishes meanwhile is left out. */
export async function readTree(source: Source, options: ReadTreeOptions = {}): Promise<Tree> {
  const { signal, pageSize } = options;
  let room = options.maxObjects ?? 100_000;
  const takeRoom = (): boolean => {
    room -= 1;
    return room >= 0;
  };

  const channels = { channel: new Map<bigint, WalkedChannel>(), subchannel: new Map<bigint, WalkedChannel>() };
  const socketIds = new Set<bigint>();
  const takeSocket = (id: bigint): boolean => {
    if (id <= 0n || socketIds.has(id)) return true;
    if (!takeRoom()) return false;
    socketIds.add(id);
    return true;
  };
  for await (const walked of walkAllChannels(source, options)) {
    if (!takeRoom()) break;
    channels[walked.kind].set(walked.id, walked);
    for (const { socketId } of walked.object.socketRef) takeSocket(socketId);
  }

  const servers: { server: Inventory["servers"][number]["server"]; sockets: OwnedSocketRef[] }[] = [];
  for await (const server of walkServers(source, { signal, pageSize })) {
    if (!takeRoom()) break;
    const sockets: OwnedSocketRef[] = [];
    servers.push({ server, sockets });
    for await (const owned of walkSocketsOfServer(source, server, options)) {
      if (!takeSocket(owned.ref.socketId)) break;
      sockets.push(owned);
    }
  }

  const sockets = await readSockets(source, socketIds, options);
  return plantTree({ ...channels, servers, sockets, isComplete: room >= 0 });
}

async function readSockets(
  source: Source,
  ids: ReadonlySet<bigint>,
  options: ReadTreeOptions,
): Promise<ReadonlyMap<bigint, Socket | undefined>> {
  const sockets = new Map<bigint, Socket | undefined>();
  if (options.sockets === "refs") {
    for (const id of ids) sockets.set(id, undefined);
    return sockets;
  }
  const read = async (id: bigint) => ({
    id,
    socket: (await orUndefined(source.getSocket(id, { signal: options.signal, summary: true })))?.socket,
  });
  for await (const { id, socket } of mapBounded(ids, options.concurrency ?? defaultConcurrency, read)) {
    if (socket !== undefined) sockets.set(id, socket);
  }
  return sockets;
}
