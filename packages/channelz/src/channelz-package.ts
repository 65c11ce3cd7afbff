/** The two package names of the same schema. */
export const channelzPackages = ["rpc.channelz.v1", "grpc.channelz.v1"] as const;

/** One of the two package names; it appears only in paths and in the type of an `Any`. */
export type ChannelzPackage = (typeof channelzPackages)[number];
