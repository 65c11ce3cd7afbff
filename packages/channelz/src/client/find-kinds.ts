import type { Channel, Server, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Source } from "../source.js";
import { lookUp } from "./look-up.js";
import { type WalkGraphOptions, walkAllChannels, walkServers } from "./walk.js";

/** The four kinds of objects. */
export const objectKinds = ["channel", "subchannel", "server", "socket"] as const;

/** One of the four kinds. */
export type ObjectKind = (typeof objectKinds)[number];

/**
 * Finds the kind of the object with this id, without a read that could fail at the peer, because a peer counts failed reads as
 * failed calls of its server. It reads lists that start at the id, then follows refs.
 *
 * Peers that number each kind separately may have one object of each kind. A closed object is found only while a trace names
 * it. Empty if nothing that can be reached has the id.
 */
export async function findKinds(source: Source, id: bigint, options: WalkGraphOptions = {}): Promise<ObjectKind[]> {
  const { signal } = options;
  const found = new Set<ObjectKind>();
  const here = { startId: id, maxResults: 1 };
  const [channels, servers, firstServers] = await Promise.all([
    source.getTopChannels(here, { signal }),
    source.getServers(here, { signal }),
    source.getServers({ maxResults: 1 }, { signal }),
  ]);
  if (channels.channel.some(({ ref }) => ref?.channelId === id)) found.add("channel");
  if (servers.server.some(({ ref }) => ref?.serverId === id)) found.add("server");
  const isShared = found.size > 1 || firstServers.server.some(sharesItsId);
  const isDone = (): boolean => found.size > 0 && !isShared;
  if (isDone()) return kindsIn(found);

  if (await hasServerSocket(source, id, options)) found.add("socket");
  if (isDone()) return kindsIn(found);

  const closed = new Set<ObjectKind>();
  for await (const walked of walkAllChannels(source, options)) {
    if (walked.id === id) found.add(walked.kind);
    for (const kind of kindsOfRefs(walked.object, id)) found.add(kind);
    for (const kind of kindsInTrace(walked.object, id)) closed.add(kind);
    if (isDone()) break;
  }
  return kindsIn(found.size > 0 ? found : closed);
}

function kindsIn(found: ReadonlySet<ObjectKind>): ObjectKind[] {
  return objectKinds.filter((kind) => found.has(kind));
}

/** A server that listens on a socket with its own id: such a peer numbers each kind separately, as grpc-js does. */
function sharesItsId({ ref, listenSocket }: Server): boolean {
  return listenSocket.some(({ socketId }) => socketId === ref?.serverId);
}

async function hasServerSocket(source: Source, id: bigint, options: WalkGraphOptions): Promise<boolean> {
  const { signal } = options;
  for await (const { ref, listenSocket } of walkServers(source, options)) {
    if (listenSocket.some(({ socketId }) => socketId === id)) return true;
    const reading = source.getServerSockets(ref?.serverId ?? 0n, { startId: id, maxResults: 1 }, { signal });
    const page = await lookUp(reading, signal);
    if (page === undefined || "unreadable" in page) continue;
    if (page.socketRef.some(({ socketId }) => socketId === id)) return true;
  }
  return false;
}

function* kindsOfRefs(object: Channel | Subchannel | undefined, id: bigint): Generator<ObjectKind> {
  if (object?.channelRef.some(({ channelId }) => channelId === id)) yield "channel";
  if (object?.subchannelRef.some(({ subchannelId }) => subchannelId === id)) yield "subchannel";
  if (object?.socketRef.some(({ socketId }) => socketId === id)) yield "socket";
}

function* kindsInTrace(object: Channel | Subchannel | undefined, id: bigint): Generator<ObjectKind> {
  for (const { childRef } of object?.data?.trace?.events ?? []) {
    if (childRef.case === "channelRef" && childRef.value.channelId === id) yield "channel";
    if (childRef.case === "subchannelRef" && childRef.value.subchannelId === id) yield "subchannel";
  }
}
