import type { ChannelzPackage } from "../channelz-package.js";
import type { ObjectKind } from "../client/find-kinds.js";
import type { WindowOrder } from "../client/own-socket.js";
import type { LostStreams } from "../corrected/lost-cancels.js";
import type { ChannelzError } from "../errors.js";
import type { Channel, Server, Socket, SocketRef, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";

/** A page of a list, as the peer sent it. */
export interface ObservedPage<T> {
  readonly startId: bigint;
  readonly maxResults: number;
  readonly items: readonly T[];
  readonly ids: readonly bigint[];
  readonly end: boolean;
}

/** A list of the peer: its pages by the paging rules, and pages that test how it treats its arguments. */
export interface ObservedList<T> {
  /** Such as `GetServerSockets of server 3`. */
  readonly name: string;
  /** From the first to the last, or until the limit. */
  readonly pages: readonly ObservedPage<T>[];
  /** With a max_results of 1. */
  readonly single?: ObservedPage<T> | undefined;
  /** From the second object on. */
  readonly middle?: ObservedPage<T> | undefined;
  /** From beyond every object. */
  readonly beyond?: ObservedPage<T> | undefined;
  /** Two walks ended at an empty page, after a page that did not set end. */
  readonly isEndMissing: boolean;
  readonly failures: readonly ChannelzError[];
}

/** An object that was listed or referred to, and then looked up. */
export interface ObservedObject<K extends ObjectKind, T> {
  readonly kind: K;
  readonly id: bigint;
  /** From a list or an earlier lookup. */
  readonly first?: T | undefined;
  /** From the lookup. */
  readonly second?: T | undefined;
  readonly failure?: ChannelzError | undefined;
  /** The lookup returned NOT_FOUND, although the object was listed before and after it. */
  readonly isMissing: boolean;
}

/** A socket, with its role; `first` is its summary. */
export interface ObservedSocket extends ObservedObject<"socket", Socket> {
  readonly role: "listen" | "server" | "client";
  readonly ownerId: bigint;
}

/** A lookup of an id that should not exist. */
export interface ObservedAbsence {
  readonly method: string;
  /** What the id is: unknown, or of another kind. */
  readonly subject: string;
  /** Undefined if the peer returned an object, or an empty list. */
  readonly failure: ChannelzError | undefined;
}

/** The peer's end of our own connection. */
export interface ObservedOwnSocket {
  readonly socket: Socket;
  /** The number of requests that we started before the one that read it. */
  readonly requests: number;
  readonly windowOrder: WindowOrder;
}

/** Everything that was read from a peer. */
export interface Observations {
  readonly channelzPackage: ChannelzPackage;
  readonly topChannels: ObservedList<Channel>;
  readonly servers: ObservedList<Server>;
  readonly serverSockets: readonly (ObservedList<SocketRef> & { readonly serverId: bigint })[];
  readonly channels: readonly ObservedObject<"channel", Channel>[];
  readonly subchannels: readonly ObservedObject<"subchannel", Subchannel>[];
  readonly serverObjects: readonly ObservedObject<"server", Server>[];
  readonly sockets: readonly ObservedSocket[];
  readonly unknownIds: readonly ObservedAbsence[];
  readonly otherKinds: readonly ObservedAbsence[];
  readonly unknownServer?: ObservedAbsence | undefined;
  readonly traceChildren: readonly ObservedAbsence[];
  readonly lostStreams: readonly LostStreams[];
  readonly own?: ObservedOwnSocket | undefined;
  /** Why the examination ended early. */
  readonly stoppedBy?: ChannelzError | undefined;
  readonly calls: number;
}

/** Mutable observations, while the peer is read. */
export type Notes = {
  -readonly [K in keyof Observations]: Observations[K] extends readonly (infer T)[] ? T[] : Observations[K];
};
