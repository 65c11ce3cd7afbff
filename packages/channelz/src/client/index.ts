export { type ChannelzPackage, channelzPackages } from "../channelz-package.js";
export { ChannelzError, type ChannelzErrorCode, type ChannelzErrorParts } from "../errors.js";
export * from "../gen/rpc/channelz/v1/channelz_pb.js";
export { channelzFile, channelzService, payloadRegistry } from "../schema.js";
export type { Int64, PageRequest, ReadOptions, Source } from "../source.js";
export { type ChannelzClient, type ChannelzClientOptions, createChannelzClient } from "./client.js";
export { type Failure, findFailure, isFailing, readFailure } from "./find-failure.js";
export { findKinds, type ObjectKind, objectKinds } from "./find-kinds.js";
export { type Gathered, type GatherOptions, gatherOrigins, type OriginSource } from "./gather.js";
export type { Unreadable } from "./look-up.js";
export {
  isMergedSource,
  type MergedSource,
  type MergeOptions,
  mergeSources,
  noneResponds,
  type OriginStatus,
} from "./merge-sources.js";
export { createOriginIds, type OriginId, type OriginIds } from "./origin-ids.js";
export { type ReadTreeOptions, readTree } from "./read-tree.js";
export type { ChannelNode, ServerNode, SocketNode, SubchannelNode, Tree, TreeCut, TreeNode } from "./tree.js";
export {
  type WalkedChannel,
  type WalkGraphOptions,
  walkAllChannels,
  walkServerSockets,
  walkServers,
  walkTopChannels,
} from "./walk.js";
export type { WalkOptions } from "./walk-pages.js";
export {
  type OwnedSocket,
  type OwnedSocketRef,
  type SocketOwner,
  type WalkSocketsOptions,
  walkAllSockets,
  walkSocketRefs,
} from "./walk-sockets.js";
