import { ChannelzError } from "../errors.js";
import type { Channel, Server, SocketRef, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Int64, Source } from "../source.js";
import { lookUp, type Unreadable } from "./look-up.js";
import { mapBounded } from "./map-bounded.js";
import { type WalkOptions, walkPages } from "./walk-pages.js";

/** Every top channel, ascending by id. */
export function walkTopChannels(source: Source, options: WalkOptions = {}): AsyncGenerator<Channel, void, undefined> {
  return walkPages(
    "channels",
    async (request) => {
      const { channel, end } = await source.getTopChannels(request, { signal: options.signal });
      return { items: channel, end };
    },
    (channel) => channel.ref?.channelId ?? 0n,
    options,
  );
}

/** Every server, ascending by id. */
export function walkServers(source: Source, options: WalkOptions = {}): AsyncGenerator<Server, void, undefined> {
  return walkPages(
    "servers",
    async (request) => {
      const { server, end } = await source.getServers(request, { signal: options.signal });
      return { items: server, end };
    },
    (server) => server.ref?.serverId ?? 0n,
    options,
  );
}

/**
 * Every connection of one server as a ref, ascending by id. An unknown server is NOT_FOUND; one that closes meanwhile ends
 * the walk.
 */
export function walkServerSockets(
  source: Source,
  serverId: Int64,
  options: WalkOptions = {},
): AsyncGenerator<SocketRef, void, undefined> {
  let isFirstPage = true;
  return walkPages(
    "sockets of one server",
    async (request) => {
      try {
        const { socketRef, end } = await source.getServerSockets(serverId, request, { signal: options.signal });
        return { items: socketRef, end };
      } catch (error) {
        if (isFirstPage || !ChannelzError.is(error, "NOT_FOUND")) throw error;
        return { items: [], end: true };
      } finally {
        isFirstPage = false;
      }
    },
    (ref) => ref.socketId,
    options,
  );
}

/** A channel or subchannel, or why the peer fails to read it; `depth` is the number of levels below a top channel. */
export type WalkedChannel = { readonly id: bigint; readonly depth: number } & (
  | { readonly kind: "channel"; readonly object: Channel; readonly unreadable?: undefined }
  | { readonly kind: "subchannel"; readonly object: Subchannel; readonly unreadable?: undefined }
  | (Unreadable & { readonly kind: "channel" | "subchannel"; readonly object?: undefined })
);

/** Options for walking a graph. */
export interface WalkGraphOptions extends Pick<WalkOptions, "signal" | "pageSize" | "maxObjects"> {
  /** The maximum number of concurrent calls. Default 16. */
  readonly concurrency?: number | undefined;
}

/** The default number of concurrent lookups. */
export const defaultConcurrency = 16;

/** The maximum number of levels that a walk follows. Real processes have three. */
export const deepestLevel = 64;

/**
 * Every channel and subchannel that can be reached from the top, once, level by level. Objects that close during the walk are
 * left out; one that the peer fails to read is yielded with the reason. The walk ends even if refs form a cycle or never end.
 */
export async function* walkAllChannels(
  source: Source,
  options: WalkGraphOptions = {},
): AsyncGenerator<WalkedChannel, void, undefined> {
  const { signal, pageSize, maxObjects, concurrency = defaultConcurrency } = options;
  // Some peers number each kind separately, so an id identifies an object only together with its kind.
  const seen = { channel: new Set<bigint>(), subchannel: new Set<bigint>() };
  const isNew = ({ kind, id }: ChildRef): boolean => id > 0n && seen[kind].size < seen[kind].add(id).size;
  let found: ChildRef[] = [];

  for await (const object of walkTopChannels(source, { signal, pageSize, maxObjects })) {
    const top = { kind: "channel", id: object.ref?.channelId ?? 0n, object, depth: 0 } as const;
    isNew(top);
    yield top;
    found.push(...childrenOf(object));
  }
  for (let depth = 1; depth <= deepestLevel; depth += 1) {
    const level = found.filter(isNew);
    if (level.length === 0) return;
    found = [];
    for await (const walked of mapBounded(level, concurrency, (ref) => readChild(source, ref, depth, signal))) {
      if (walked === undefined) continue;
      yield walked;
      if (walked.object !== undefined) found.push(...childrenOf(walked.object));
    }
  }
}

interface ChildRef {
  readonly kind: "channel" | "subchannel";
  readonly id: bigint;
}

function childrenOf(object: Channel | Subchannel): ChildRef[] {
  return [
    ...object.channelRef.map((ref) => ({ kind: "channel", id: ref.channelId }) as const),
    ...object.subchannelRef.map((ref) => ({ kind: "subchannel", id: ref.subchannelId }) as const),
  ];
}

async function readChild(
  source: Source,
  { kind, id }: ChildRef,
  depth: number,
  signal: AbortSignal | undefined,
): Promise<WalkedChannel | undefined> {
  const place = { id, depth };
  if (kind === "channel") {
    const found = await lookUp(source.getChannel(id, { signal }), signal);
    if (found === undefined || "unreadable" in found) return found && { ...place, kind, ...found };
    return found.channel && { ...place, kind, object: found.channel };
  }
  const found = await lookUp(source.getSubchannel(id, { signal }), signal);
  if (found === undefined || "unreadable" in found) return found && { ...place, kind, ...found };
  return found.subchannel && { ...place, kind, object: found.subchannel };
}
