/** The two names under which the same schema is spoken. */
export const channelzPackages = ["rpc.channelz.v1", "grpc.channelz.v1"] as const;

/** One of the packages that serve Channelz; it shows in paths and in the type of an `Any`, and nowhere else. */
export type ChannelzPackage = (typeof channelzPackages)[number];
