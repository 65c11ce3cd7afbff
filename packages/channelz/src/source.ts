import type {
  GetChannelResponse,
  GetServerResponse,
  GetServerSocketsResponse,
  GetServersResponse,
  GetSocketResponse,
  GetSubchannelResponse,
  GetTopChannelsResponse,
} from "./gen/rpc/channelz/v1/channelz_pb.js";

/** Ids and counts are `int64` on the wire, so a request takes either; a number must be a safe integer. */
export type Int64 = bigint | number;

/** A page of objects: those with `startId` or above, at most `maxResults` of them (0, the default: the source chooses). */
export interface PageRequest {
  readonly startId?: Int64;
  readonly maxResults?: Int64;
}

/** Options of every read. */
export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * The seven reads of Channelz.
 *
 * A registry in this process is a Source, and so is a client for another process; redaction wraps a Source in another; the
 * service serves one. Messages are those of `rpc.channelz.v1`, whichever package a peer uses.
 *
 * Every read rejects with a {@link ChannelzError}: `NOT_FOUND` for an id that is unknown, not positive or of another kind
 * (also the server of `getServerSockets`), `INVALID_ARGUMENT` for a negative page size and for an id or size that is not
 * an integer of 64 bits.
 */
export interface Source {
  /** Root channels, ascending by id. Never an empty page unless `end` is true. */
  getTopChannels(request?: PageRequest, options?: ReadOptions): Promise<GetTopChannelsResponse>;
  /** All servers, ascending by id. Never an empty page unless `end` is true. */
  getServers(request?: PageRequest, options?: ReadOptions): Promise<GetServersResponse>;
  /** One server. */
  getServer(id: Int64, options?: ReadOptions): Promise<GetServerResponse>;
  /** The sockets of one server, as refs ascending by id. Never an empty page unless `end` is true. */
  getServerSockets(serverId: Int64, request?: PageRequest, options?: ReadOptions): Promise<GetServerSocketsResponse>;
  /** One channel, top or nested. */
  getChannel(id: Int64, options?: ReadOptions): Promise<GetChannelResponse>;
  /** One subchannel. */
  getSubchannel(id: Int64, options?: ReadOptions): Promise<GetSubchannelResponse>;
  /** One socket; with `summary`, only what is cheap to obtain. */
  getSocket(id: Int64, options?: ReadOptions & { readonly summary?: boolean }): Promise<GetSocketResponse>;
}
