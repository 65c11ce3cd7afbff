import type { ChannelzClient } from "../client/client.js";
import { findOwnSocket, windowOrderOf } from "../client/own-socket.js";
import { openStreams, readWithLostStreams } from "../corrected/lost-cancels.js";
import { ChannelzError } from "../errors.js";
import type { Server, SocketRef } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { OwnConnection } from "../own-connection.js";
import type { Source } from "../source.js";
import { type BoundedReader, createBoundedReader, type ExaminationLimits } from "./bounded-source.js";
import type { Notes, Observations } from "./observations.js";
import { observeChannels, observeClientSockets, topChannelList } from "./observe-channels.js";
import { beyondEveryId, isInList, observeList, type PagedList } from "./observe-list.js";
import { lookUpObject, observeObject, observeSocket, sampleOf } from "./observe-objects.js";

/** An endpoint to examine: a client, and its own end of the connection if it is known. */
export interface Endpoint extends Source, Pick<ChannelzClient, "findPackage"> {
  ownConnection?(): OwnConnection | undefined;
}

const maxServers = 4;
const maxTraceChildren = 5;
const maxLostStreams = 5;

/**
 * Reads everything for the checks: the lists, a sample of the objects, and a few ids that should not exist. Rejects if the peer
 * cannot be reached, denies access or does not serve Channelz.
 */
export async function observe(endpoint: Endpoint, limits: ExaminationLimits = {}): Promise<Observations> {
  using reader = createBoundedReader(endpoint, limits);
  const channelzPackage = await endpoint.findPackage({ signal: limits.signal });
  const notes: Notes = {
    channelzPackage,
    servers: emptyList("GetServers"),
    topChannels: emptyList("GetTopChannels"),
    serverSockets: [],
    channels: [],
    subchannels: [],
    serverObjects: [],
    sockets: [],
    unknownIds: [],
    otherKinds: [],
    traceChildren: [],
    lostStreams: [],
    calls: 0,
  };
  try {
    await observeAll(reader, endpoint, notes, limits.maxObjects ?? 20);
  } catch (error) {
    if (!ChannelzError.is(error)) throw error;
    // Without a single response there is nothing to report.
    if (notes.servers.pages.length === 0) throw error;
    notes.stoppedBy = error;
  }
  return { ...notes, calls: reader.calls() };
}

async function observeAll(reader: BoundedReader, endpoint: Endpoint, notes: Notes, max: number): Promise<void> {
  notes.servers = await observeList(reader, serverList);
  await observeUnknownIds(reader, notes);
  notes.topChannels = await observeList(reader, topChannelList);
  await observeServers(reader, notes, max);
  await observeChannels(reader, notes, max);
  await observeClientSockets(reader, notes, max);
  await observeOtherKinds(reader, notes);
  await observeTraceChildren(reader, notes);
  await observeOwnSocket(reader, endpoint, notes);
  await observeLostStreams(reader, notes);
}

const emptyList = (name: string) => ({ name, pages: [], isEndMissing: false, failures: [] });

const serverList: PagedList<Server> = {
  name: "GetServers",
  page: async (source, request, options) => {
    const { server: items, end } = await source.getServers(request, options);
    return { items, end };
  },
  idOf: ({ ref }) => ref?.serverId ?? 0n,
};

const socketList = (serverId: bigint): PagedList<SocketRef> => ({
  name: `GetServerSockets of server ${serverId}`,
  page: async (source, request, options) => {
    const { socketRef: items, end } = await source.getServerSockets(serverId, request, options);
    return { items, end };
  },
  idOf: ({ socketId }) => socketId,
});

async function observeServers(reader: BoundedReader, notes: Notes, max: number): Promise<void> {
  const listed = notes.servers.pages.flatMap(({ items }) => items);
  for (const server of sampleOf(listed, max)) {
    const id = server.ref?.serverId ?? 0n;
    if (id <= 0n) continue;
    const observed = await observeObject(reader, "server", id, server, () => isInList(reader, serverList, id));
    if (observed !== undefined) notes.serverObjects.push(observed);
  }
  for (const { id, first } of sampleOf(notes.serverObjects, maxServers)) {
    const list = socketList(id);
    const sockets = await observeList(reader, list);
    notes.serverSockets.push({ ...sockets, serverId: id });
    for (const { socketId } of sampleOf(first?.listenSocket ?? [], maxServers)) {
      const isListed = async () => {
        const again = await lookUpObject(reader, "server", id);
        return again.value?.listenSocket.some((ref) => ref.socketId === socketId) ?? false;
      };
      const observed = await observeSocket(reader, socketId, { role: "listen", ownerId: id }, isListed);
      if (observed !== undefined) notes.sockets.push(observed);
    }
    for (const socketId of sampleOf(
      sockets.pages.flatMap(({ ids }) => ids),
      Math.ceil(max / maxServers),
    )) {
      const owner = { role: "server", ownerId: id } as const;
      const observed = await observeSocket(reader, socketId, owner, () => isInList(reader, list, socketId));
      if (observed !== undefined) notes.sockets.push(observed);
    }
  }
}

async function observeUnknownIds(reader: BoundedReader, notes: Notes): Promise<void> {
  for (const kind of ["server", "channel", "subchannel", "socket"] as const) {
    const { failure } = await lookUpObject(reader, kind, beyondEveryId);
    notes.unknownIds.push({ method: methodOf[kind], subject: "an unknown id", failure });
  }
  const { failure } = await reader.read((source, options) => source.getServerSockets(beyondEveryId, {}, options));
  notes.unknownServer = { method: "GetServerSockets", subject: "an unknown server", failure };
}

const methodOf = {
  channel: "GetChannel",
  subchannel: "GetSubchannel",
  server: "GetServer",
  socket: "GetSocket",
} as const;

async function observeOtherKinds(reader: BoundedReader, notes: Notes): Promise<void> {
  const [channel] = notes.channels;
  const [server] = notes.serverObjects;
  const attempts = [
    { kind: "server", of: channel },
    { kind: "socket", of: channel },
    { kind: "channel", of: server },
    { kind: "subchannel", of: server },
  ] as const;
  for (const { kind, of } of attempts) {
    if (of === undefined) continue;
    const { failure } = await lookUpObject(reader, kind, of.id);
    notes.otherKinds.push({ method: methodOf[kind], subject: `the id of ${of.kind} ${of.id}`, failure });
  }
}

async function observeTraceChildren(reader: BoundedReader, notes: Notes): Promise<void> {
  const children = new Map<string, { kind: "channel" | "subchannel"; id: bigint; parent: string }>();
  for (const { kind, id, second } of [...notes.channels, ...notes.subchannels]) {
    for (const { childRef } of second?.data?.trace?.events ?? []) {
      const parent = `${kind} ${id}`;
      if (childRef.case === "channelRef") {
        children.set(`channel ${childRef.value.channelId}`, { kind: "channel", id: childRef.value.channelId, parent });
      } else if (childRef.case === "subchannelRef") {
        const child = childRef.value.subchannelId;
        children.set(`subchannel ${child}`, { kind: "subchannel", id: child, parent });
      }
    }
  }
  for (const { kind, id, parent } of sampleOf([...children.values()], maxTraceChildren)) {
    const { failure } = await lookUpObject(reader, kind, id);
    notes.traceChildren.push({ method: methodOf[kind], subject: `${kind} ${id} in the trace of ${parent}`, failure });
  }
}

/** The last read of our own socket is made alone, so that the number of our requests is known. */
async function observeOwnSocket(reader: BoundedReader, endpoint: Endpoint, notes: Notes): Promise<void> {
  const own = endpoint.ownConnection?.();
  if (own === undefined) return;
  const found = await reader.read((source, options) => findOwnSocket(source, own, options));
  const id = found.value?.ref?.socketId;
  if (id === undefined) return;
  const requests = endpoint.ownConnection?.()?.requests ?? 0;
  const { value: socket } = await lookUpObject(reader, "socket", id);
  if (socket !== undefined) notes.own = { socket, requests, windowOrder: windowOrderOf(socket) };
}

async function observeLostStreams(reader: BoundedReader, notes: Notes): Promise<void> {
  const suspects = notes.sockets.filter(({ role, second }) => role === "client" && second && openStreams(second) > 0n);
  for (const { id, ownerId } of suspects.slice(0, maxLostStreams)) {
    const kind = notes.subchannels.some((each) => each.id === ownerId) ? "subchannel" : "channel";
    const { value } = await reader.read((source, options) =>
      readWithLostStreams(source, { kind, id: ownerId }, id, options),
    );
    if (value !== undefined) notes.lostStreams.push(value);
  }
}
