import { fromBinary } from "@bufbuild/protobuf";
import type { EncodedRead } from "../encoded-source.js";
import {
  GetChannelRequestSchema,
  GetServerRequestSchema,
  GetServerSocketsRequestSchema,
  GetServersRequestSchema,
  GetSocketRequestSchema,
  GetSubchannelRequestSchema,
  GetTopChannelsRequestSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";

/** The decoder of each read's request. Throws if the bytes are no such message. */
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
