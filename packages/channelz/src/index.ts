export { type ChannelzPackage, channelzPackages } from "./channelz-package.js";
export type { ChannelzClient, ChannelzClientOptions } from "./client/client.js";
export { type Gathered, type GatherOptions, gatherOrigins, type OriginSource } from "./client/gather.js";
export type { Unreadable } from "./client/look-up.js";
export { type MergedSource, type MergeOptions, mergeSources, type OriginStatus } from "./client/merge-sources.js";
export { createOriginIds, type OriginId, type OriginIds } from "./client/origin-ids.js";
export { type ReadTreeOptions, readTree } from "./client/read-tree.js";
export type { ChannelNode, ServerNode, SocketNode, SubchannelNode, Tree, TreeCut, TreeNode } from "./client/tree.js";
export {
  type WalkedChannel,
  type WalkGraphOptions,
  walkAllChannels,
  walkServerSockets,
  walkServers,
  walkTopChannels,
} from "./client/walk.js";
export type { WalkOptions } from "./client/walk-pages.js";
export {
  type OwnedSocket,
  type OwnedSocketRef,
  type SocketOwner,
  type WalkSocketsOptions,
  walkAllSockets,
  walkSocketRefs,
} from "./client/walk-sockets.js";
export { type ChannelzConnection, type ConnectChannelzOptions, connectChannelz } from "./dial/connect.js";
export type { DialTlsOptions } from "./dial/open-socket.js";
export type { EncodedRead, EncodedSource } from "./encoded-source.js";
export { ChannelzError, type ChannelzErrorCode, type ChannelzErrorParts } from "./errors.js";
export type * from "./gen/rpc/channelz/v1/channelz_pb.js";
export * from "./listener/index.js";
export { type RedactOptions, redactSource } from "./redact.js";
export * from "./registry/index.js";
export { channelzRoutes } from "./service/connect-routes.js";
export { createHealth, type Health, type HealthOptions, type ServingStatus } from "./service/health.js";
export { healthRoutes } from "./service/health-routes.js";
export { type ReflectionOptions, reflectionRoutes } from "./service/reflection.js";
export type { Int64, PageRequest, ReadOptions, Source } from "./source.js";
