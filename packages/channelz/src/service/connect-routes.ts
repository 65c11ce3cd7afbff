import type { ConnectRouter, ConnectRouterOptions, HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { type ChannelzPackage, channelzPackages } from "../channelz-package.js";
import type { Channelz } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { channelzService, payloadRegistry } from "../schema.js";
import type { ReadOptions, Source } from "../source.js";
import { nameAnyPayloads } from "./any-payloads.js";
import { connectErrorOf } from "./rpc-status.js";

/**
 * Serves a source under both packages in any Connect router: `connectNodeAdapter({ routes: channelzRoutes(source) })`.
 *
 * `options` are those of the router's `service`. `jsonOptions.registry` is set here, because JSON needs the types of `Any`
 * payloads. For a service with options, Connect ignores the router's own `grpc: false`, `grpcWeb: false`, `connect: false` and
 * `jsonOptions`: repeat them here if you use them.
 *
 * Every client that can reach the server can read it: protect it like the server's other services, or use `listenChannelz`.
 */
export function channelzRoutes(source: Source, options: ConnectRouterOptions = {}): (router: ConnectRouter) => void {
  return (router) => {
    for (const channelzPackage of channelzPackages) {
      router.service(channelzService(channelzPackage), implement(source, channelzPackage), {
        ...options,
        jsonOptions: { ...options.jsonOptions, registry: payloadRegistry },
      });
    }
  };
}

function implement(source: Source, channelzPackage: ChannelzPackage): ServiceImpl<typeof Channelz> {
  const handle = async <T extends { readonly $typeName: string }>(
    context: HandlerContext,
    read: (options: ReadOptions) => Promise<T>,
  ): Promise<T> => {
    try {
      return nameAnyPayloads(await read({ signal: context.signal }), channelzPackage);
    } catch (error) {
      // If the call was aborted or timed out, report that, and not the error that it causes in the source.
      throw connectErrorOf(context.signal.aborted ? context.signal.reason : error);
    }
  };
  return {
    getTopChannels: ({ startChannelId, maxResults }, context) =>
      handle(context, (options) => source.getTopChannels({ startId: startChannelId, maxResults }, options)),
    getServers: ({ startServerId, maxResults }, context) =>
      handle(context, (options) => source.getServers({ startId: startServerId, maxResults }, options)),
    getServer: ({ serverId }, context) => handle(context, (options) => source.getServer(serverId, options)),
    getServerSockets: ({ serverId, startSocketId, maxResults }, context) =>
      handle(context, (options) => source.getServerSockets(serverId, { startId: startSocketId, maxResults }, options)),
    getChannel: ({ channelId }, context) => handle(context, (options) => source.getChannel(channelId, options)),
    getSubchannel: ({ subchannelId }, context) =>
      handle(context, (options) => source.getSubchannel(subchannelId, options)),
    getSocket: ({ socketId, summary }, context) =>
      handle(context, (options) => source.getSocket(socketId, { ...options, summary })),
  };
}
