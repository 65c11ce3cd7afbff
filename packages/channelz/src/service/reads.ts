import { fromBinary } from "@bufbuild/protobuf";
import type { EncodedRead } from "../encoded-source.js";
import {
  GetChannelRequestSchema,
  type GetChannelResponse,
  GetServerRequestSchema,
  type GetServerResponse,
  GetServerSocketsRequestSchema,
  type GetServerSocketsResponse,
  GetServersRequestSchema,
  type GetServersResponse,
  GetSocketRequestSchema,
  type GetSocketResponse,
  GetSubchannelRequestSchema,
  type GetSubchannelResponse,
  GetTopChannelsRequestSchema,
  type GetTopChannelsResponse,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { ReadOptions, Source } from "../source.js";

export type ReadResponse =
  | GetTopChannelsResponse
  | GetServersResponse
  | GetServerResponse
  | GetServerSocketsResponse
  | GetChannelResponse
  | GetSubchannelResponse
  | GetSocketResponse;

export function dispatchRead(source: Source, read: EncodedRead, options: ReadOptions): Promise<ReadResponse> {
  switch (read.method) {
    case "GetTopChannels":
      return source.getTopChannels(read, options);
    case "GetServers":
      return source.getServers(read, options);
    case "GetServer":
      return source.getServer(read.id, options);
    case "GetServerSockets":
      return source.getServerSockets(read.id, read, options);
    case "GetChannel":
      return source.getChannel(read.id, options);
    case "GetSubchannel":
      return source.getSubchannel(read.id, options);
    case "GetSocket":
      return source.getSocket(read.id, { ...options, summary: read.summary });
  }
}

/** The decoders of the request messages. They throw if the bytes cannot be decoded. */
export const readRequests: { readonly [M in EncodedRead["method"]]: (bytes: Uint8Array) => EncodedRead } = {
  GetTopChannels(bytes) {
    const { startChannelId, maxResults } = fromBinary(GetTopChannelsRequestSchema, bytes);
    return { method: "GetTopChannels", startId: startChannelId, maxResults };
  },
  GetServers(bytes) {
    const { startServerId, maxResults } = fromBinary(GetServersRequestSchema, bytes);
    return { method: "GetServers", startId: startServerId, maxResults };
  },
  GetServer(bytes) {
    return { method: "GetServer", id: fromBinary(GetServerRequestSchema, bytes).serverId };
  },
  GetServerSockets(bytes) {
    const { serverId, startSocketId, maxResults } = fromBinary(GetServerSocketsRequestSchema, bytes);
    return { method: "GetServerSockets", id: serverId, startId: startSocketId, maxResults };
  },
  GetChannel(bytes) {
    return { method: "GetChannel", id: fromBinary(GetChannelRequestSchema, bytes).channelId };
  },
  GetSubchannel(bytes) {
    return { method: "GetSubchannel", id: fromBinary(GetSubchannelRequestSchema, bytes).subchannelId };
  },
  GetSocket(bytes) {
    const { socketId, summary } = fromBinary(GetSocketRequestSchema, bytes);
    return { method: "GetSocket", id: socketId, summary };
  },
};
