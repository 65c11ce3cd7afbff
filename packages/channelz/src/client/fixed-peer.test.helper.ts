import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ChannelzError } from "../errors.js";
import {
  type ChannelSchema,
  GetChannelResponseSchema,
  GetServerResponseSchema,
  GetServerSocketsResponseSchema,
  GetServersResponseSchema,
  GetSocketResponseSchema,
  GetSubchannelResponseSchema,
  GetTopChannelsResponseSchema,
  type SocketRefSchema,
  type SubchannelSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Source } from "../source.js";

type ChannelInit = MessageInitShape<typeof ChannelSchema>;
type SubchannelInit = MessageInitShape<typeof SubchannelSchema>;
type SocketRefInit = MessageInitShape<typeof SocketRefSchema>;

export interface World {
  top?: ChannelInit[];
  channels?: ChannelInit[];
  subchannels?: SubchannelInit[];
  servers?: { id: bigint; listen?: bigint[]; sockets?: bigint[] }[];
  /** Sockets that refs name but that do not exist. */
  vanished?: bigint[];
}

/** A peer whose objects never change, in pages of its own size. Every socket exists that a read asks for. */
export interface FixedPeer extends Source {
  /** How many pages were read. */
  reads: number;
  /** How many reads failed. */
  failedReads: number;
}

/** A peer with these objects. */
export function peerWith(world: World, pageSize = 2): FixedPeer {
  const absent = (what: string): never => {
    peer.failedReads += 1;
    throw new ChannelzError("NOT_FOUND", `No ${what}.`);
  };
  const pageOf = <T>(
    all: T[],
    idOf: (item: T) => bigint,
    startId: bigint,
    max: bigint,
  ): { items: T[]; end: boolean } => {
    const rest = all.filter((item) => idOf(item) >= startId);
    const items = rest.slice(0, Number(max) || pageSize);
    return { items, end: items.length === rest.length };
  };
  const peer: FixedPeer = {
    reads: 0,
    failedReads: 0,
    async getTopChannels({ startId = 0, maxResults = 0 } = {}) {
      peer.reads += 1;
      const page = pageOf(world.top ?? [], (c) => c.ref?.channelId ?? 0n, BigInt(startId), BigInt(maxResults));
      return create(GetTopChannelsResponseSchema, { channel: page.items, end: page.end });
    },
    async getServers({ startId = 0, maxResults = 0 } = {}) {
      peer.reads += 1;
      const page = pageOf(world.servers ?? [], (s) => s.id, BigInt(startId), BigInt(maxResults));
      const server = page.items.map(({ id, listen = [] }) => ({
        ref: { serverId: id },
        listenSocket: listen.map((socketId) => ({ socketId })),
      }));
      return create(GetServersResponseSchema, { server, end: page.end });
    },
    async getServer(id) {
      const server = world.servers?.find((s) => s.id === BigInt(id)) ?? absent(`server ${id}`);
      const listenSocket = (server.listen ?? []).map((socketId) => ({ socketId }));
      return create(GetServerResponseSchema, { server: { ref: { serverId: server.id }, listenSocket } });
    },
    async getServerSockets(id, { startId = 0, maxResults = 0 } = {}) {
      peer.reads += 1;
      const server = world.servers?.find((s) => s.id === BigInt(id)) ?? absent(`server ${id}`);
      const page = pageOf(server.sockets ?? [], (s) => s, BigInt(startId), BigInt(maxResults));
      return create(GetServerSocketsResponseSchema, {
        socketRef: page.items.map((socketId) => ({ socketId })),
        end: page.end,
      });
    },
    async getChannel(id) {
      const all = [...(world.top ?? []), ...(world.channels ?? [])];
      const channel = all.find((c) => c.ref?.channelId === BigInt(id)) ?? absent(`channel ${id}`);
      return create(GetChannelResponseSchema, { channel });
    },
    async getSubchannel(id) {
      const subchannel =
        world.subchannels?.find((s) => s.ref?.subchannelId === BigInt(id)) ?? absent(`subchannel ${id}`);
      return create(GetSubchannelResponseSchema, { subchannel });
    },
    async getSocket(id) {
      if (world.vanished?.includes(BigInt(id))) absent(`socket ${id}`);
      return create(GetSocketResponseSchema, { socket: { ref: { socketId: BigInt(id), name: `socket ${id}` } } });
    },
  };
  return peer;
}

export const channel = (
  id: number,
  children: Partial<Pick<ChannelInit, "channelRef" | "subchannelRef" | "socketRef" | "data">> = {},
): ChannelInit => ({
  ref: { channelId: BigInt(id), name: `channel ${id}` },
  ...children,
});
export const subchannel = (
  id: number,
  children: Partial<Pick<SubchannelInit, "channelRef" | "subchannelRef" | "socketRef" | "data">> = {},
): SubchannelInit => ({
  ref: { subchannelId: BigInt(id), name: `subchannel ${id}` },
  ...children,
});
export const socketRefs = (...ids: number[]): SocketRefInit[] => ids.map((id) => ({ socketId: BigInt(id) }));
