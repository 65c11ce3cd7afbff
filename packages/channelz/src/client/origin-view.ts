import { ChannelzError } from "../errors.js";
import { toInt64, toPage } from "../int64.js";
import type { Int64, PageRequest, Source } from "../source.js";
import type { OriginSource } from "./gather.js";
import { createMergedMessages } from "./merged-messages.js";
import type { OriginIds } from "./origin-ids.js";

/** One process with merged ids and names. */
export function createOriginView({ origin, target, source }: OriginSource, ids: OriginIds): Source {
  const messages = createMergedMessages(ids);
  const lowest = ids.encode(origin, 1n) ?? 0n;

  const ownId = (kind: string, id: Int64): bigint => {
    const found = ids.decode(toInt64(id));
    if (found?.origin === origin && found.id > 0n) return found.id;
    throw new ChannelzError("NOT_FOUND", `${target} has no ${kind} ${id}.`);
  };

  /** The page of the process for a page of merged ids. */
  const ownPage = (request?: PageRequest): PageRequest => {
    const { startId, maxResults } = toPage(request);
    const ownStart = startId - lowest + 1n;
    return { startId: ownStart > 0n ? ownStart : 0n, maxResults };
  };

  return {
    async getTopChannels(request, options) {
      const response = await source.getTopChannels(ownPage(request), options);
      const channel = response.channel.flatMap((each) => messages.channel(origin, each) ?? []);
      // Ids ascend: if no object of a page can be merged, none of the next can.
      return { ...response, channel, end: response.end || channel.length === 0 };
    },
    async getServers(request, options) {
      const response = await source.getServers(ownPage(request), options);
      const server = response.server.flatMap((each) => messages.server(origin, each) ?? []);
      return { ...response, server, end: response.end || server.length === 0 };
    },
    async getServerSockets(serverId, request, options) {
      const response = await source.getServerSockets(ownId("server", serverId), ownPage(request), options);
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
