import { create } from "@bufbuild/protobuf";
import type { ObjectKind } from "../client/find-kinds.js";
import { correctionsOf, markCorrected } from "../correction-marks.js";
import { ChannelzError } from "../errors.js";
import {
  GetChannelResponseSchema,
  GetServerResponseSchema,
  GetServerSocketsResponseSchema,
  GetServersResponseSchema,
  GetSocketResponseSchema,
  GetSubchannelResponseSchema,
  GetTopChannelsResponseSchema,
  SocketRefSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { toInt64, toPage } from "../int64.js";
import type { Int64, PageRequest, Source } from "../source.js";
import { acceptedSocketsOf, type Snapshot, type SnapshotObject } from "./snapshot.js";

const defaultPageSize = 100;
const maxPageSize = 1000;

/**
 * A Source with the objects of a snapshot, or of the snapshot that a function returns at each read; without one, it has no
 * objects. An object that could not be read rejects with PEER_FAILED and the reason.
 */
export function snapshotSource(snapshot: Snapshot | (() => Snapshot | undefined)): Source {
  const current = typeof snapshot === "function" ? snapshot : () => snapshot;
  let indexed: { readonly of: Snapshot | undefined; readonly index: Index } | undefined;
  const index = (): Index => {
    const of = current();
    if (indexed === undefined || indexed.of !== of) indexed = { of, index: createIndex(of) };
    return indexed.index;
  };
  return {
    async getTopChannels(request) {
      const { items, end } = pageOf(index().top, request);
      return create(GetTopChannelsResponseSchema, { channel: items.flatMap(messageOf("channel")), end });
    },
    async getServers(request) {
      const { items, end } = pageOf(index().servers, request);
      return create(GetServersResponseSchema, { server: items.flatMap(messageOf("server")), end });
    },
    async getServer(id) {
      return create(GetServerResponseSchema, { server: find(index(), "server", id) });
    },
    async getServerSockets(id, request) {
      const { sockets, server } = findServer(index(), id);
      const refs = acceptedSocketsOf(server).map((socketId) => ({ id: socketId }));
      const { items, end } = pageOf(refs, request);
      const socketRef = items.map((ref) =>
        create(SocketRefSchema, { socketId: ref.id, name: sockets.get(ref.id)?.name ?? "" }),
      );
      return create(GetServerSocketsResponseSchema, { socketRef, end });
    },
    async getChannel(id) {
      return create(GetChannelResponseSchema, { channel: find(index(), "channel", id) });
    },
    async getSubchannel(id) {
      return create(GetSubchannelResponseSchema, { subchannel: find(index(), "subchannel", id) });
    },
    async getSocket(id) {
      return create(GetSocketResponseSchema, { socket: find(index(), "socket", id) });
    },
  };
}

interface Index {
  readonly byKind: Readonly<Record<ObjectKind, ReadonlyMap<bigint, SnapshotObject>>>;
  readonly top: readonly SnapshotObject[];
  readonly servers: readonly SnapshotObject[];
}

type MessageOf<K extends ObjectKind> = NonNullable<Extract<SnapshotObject, { readonly kind: K }>["message"]>;

function createIndex(snapshot: Snapshot | undefined): Index {
  const byKind = {
    channel: new Map<bigint, SnapshotObject>(),
    subchannel: new Map<bigint, SnapshotObject>(),
    server: new Map<bigint, SnapshotObject>(),
    socket: new Map<bigint, SnapshotObject>(),
  };
  for (const object of snapshot?.objects.values() ?? []) {
    if (!byKind[object.kind].has(object.id)) byKind[object.kind].set(object.id, object);
  }
  const ascending = (objects: Iterable<SnapshotObject>): SnapshotObject[] =>
    [...objects].filter(({ message }) => message !== undefined).sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    byKind,
    top: ascending([...byKind.channel.values()].filter(({ isTop }) => isTop)),
    servers: ascending(byKind.server.values()),
  };
}

function pageOf<T extends { readonly id: bigint }>(
  all: readonly T[],
  request?: PageRequest,
): { readonly items: readonly T[]; readonly end: boolean } {
  const { startId, maxResults } = toPage(request);
  const limit = maxResults === 0n ? defaultPageSize : Number(maxResults < maxPageSize ? maxResults : maxPageSize);
  const from = all.findIndex(({ id }) => id >= startId);
  const rest = from === -1 ? [] : all.slice(from);
  return { items: rest.slice(0, limit), end: rest.length <= limit };
}

function find<K extends ObjectKind>(index: Index, kind: K, id: Int64): MessageOf<K> {
  const object = index.byKind[kind].get(toInt64(id));
  if (object === undefined) {
    throw new ChannelzError("NOT_FOUND", `There is no ${kind} ${id} at this time.`);
  }
  if (object.message === undefined) {
    throw new ChannelzError("PEER_FAILED", object.unreadable ?? `The ${kind} ${id} was not read at this time.`);
  }
  return marked(object) as MessageOf<K>;
}

function findServer(index: Index, id: Int64): { server: SnapshotObject; sockets: ReadonlyMap<bigint, SnapshotObject> } {
  find(index, "server", id);
  return { server: index.byKind.server.get(toInt64(id)) as SnapshotObject, sockets: index.byKind.socket };
}

function messageOf<K extends ObjectKind>(kind: K): (object: SnapshotObject) => MessageOf<K>[] {
  return (object) => (object.kind === kind && object.message !== undefined ? [marked(object) as MessageOf<K>] : []);
}

/** The message of an object, marked with the corrections from when the snapshot was read. */
function marked({ message, corrections = [] }: SnapshotObject): SnapshotObject["message"] {
  if (message !== undefined && correctionsOf(message).length === 0) markCorrected(message, corrections);
  return message;
}
