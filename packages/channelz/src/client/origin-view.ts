import { create } from "@bufbuild/protobuf";
import { ChannelzError } from "../errors.js";
import {
  GetServerSocketsResponseSchema,
  GetServersResponseSchema,
  GetTopChannelsResponseSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Int64, PageRequest, Source } from "../source.js";
import type { OriginSource } from "./gather.js";
import { createMergedMessages } from "./merged-messages.js";
import { highestOwnId, type OriginIds } from "./origin-ids.js";

/** One process with the ids and names that its objects have among several processes. */
export function createOriginView({ origin, target, source }: OriginSource, ids: OriginIds): Source {
  const messages = createMergedMessages(ids);
  const lowest = ids.encode(origin, 1n) ?? 0n;
  const highest = ids.encode(origin, highestOwnId) ?? 0n;

  const ownId = (kind: string, id: Int64): bigint => {
    const found = ids.decode(BigInt(id));
    if (found?.origin === origin && found.id > 0n) return found.id;
    throw new ChannelzError("NOT_FOUND", `${target} has no ${kind} ${id}.`);
  };

  /** The page of the process for a page of merged ids; undefined if it starts beyond all of them. */
  const ownPage = (request: PageRequest | undefined): PageRequest | undefined => {
    const startId = BigInt(request?.startId ?? 0);
    const maxResults = request?.maxResults ?? 0;
    if (BigInt(maxResults) < 0n) {
      throw new ChannelzError("INVALID_ARGUMENT", `A page size of ${maxResults} is negative. Use 0 for the default.`);
    }
    if (startId > highest) return undefined;
    return { startId: startId <= lowest ? 0n : startId - lowest + 1n, maxResults };
  };

  return {
    async getTopChannels(request, options) {
      const page = ownPage(request);
      if (page === undefined) return create(GetTopChannelsResponseSchema, { end: true });
      const response = await source.getTopChannels(page, options);
      const channel = response.channel.flatMap((each) => messages.channel(origin, each) ?? []);
      // Ids ascend: if none of a page can be merged, none of the next can.
      return { ...response, channel, end: response.end || channel.length === 0 };
    },
    async getServers(request, options) {
      const page = ownPage(request);
      if (page === undefined) return create(GetServersResponseSchema, { end: true });
      const response = await source.getServers(page, options);
      const server = response.server.flatMap((each) => messages.server(origin, each) ?? []);
      return { ...response, server, end: response.end || server.length === 0 };
    },
    async getServerSockets(serverId, request, options) {
      const id = ownId("server", serverId);
      const page = ownPage(request);
      if (page === undefined) {
        await source.getServer(id, options);
        return create(GetServerSocketsResponseSchema, { end: true });
      }
      const response = await source.getServerSockets(id, page, options);
      const socketRef = response.socketRef.flatMap((ref) => messages.socketRef(origin, ref) ?? []);
      return { ...response, socketRef, end: response.end || socketRef.length === 0 };
    },
    async getServer(id, options) {
      return messages.getServer(origin, await source.getServer(ownId("server", id), options));
    },
    async getChannel(id, options) {
      return messages.getChannel(origin, await source.getChannel(ownId("channel", id), options));
    },
    async getSubchannel(id, options) {
      return messages.getSubchannel(origin, await source.getSubchannel(ownId("subchannel", id), options));
    },
    async getSocket(id, options) {
      return messages.getSocket(origin, await source.getSocket(ownId("socket", id), options));
    },
  };
}
