import type { EncodedRead } from "../encoded-source.js";
import type {
  GetChannelResponse,
  GetServerResponse,
  GetServerSocketsResponse,
  GetServersResponse,
  GetSocketResponse,
  GetSubchannelResponse,
  GetTopChannelsResponse,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { ReadOptions, Source } from "../source.js";

/** The responses of the seven reads. */
export type ReadResponse =
  | GetTopChannelsResponse
  | GetServersResponse
  | GetServerResponse
  | GetServerSocketsResponse
  | GetChannelResponse
  | GetSubchannelResponse
  | GetSocketResponse;

/** Asks a source for a read that came as data. */
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
