import type { Channel, Server, SocketRef, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Int64, ReadOptions, Source } from "../source.js";
import { mapBounded } from "./map-bounded.js";
import { orUndefined } from "./or-undefined.js";
import { type WalkOptions, walkPages } from "./walk-pages.js";

/** Every top channel, ascending by id. */
export function walkTopChannels(source: Source, options: WalkOptions = {}): AsyncGenerator<Channel, void, undefined> {
  return walkPages(
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
    async (request) => {
      const answer = source.getServerSockets(serverId, request, { signal: options.signal });
      const response = isFirstPage ? await answer : await orUndefined(answer);
      isFirstPage = false;
      return { items: response?.socketRef ?? [], end: response?.end ?? true };
    },
    (ref) => ref.socketId,
    options,
  );
}

/** A channel or a subchannel, and how many levels below a top channel it was found. */
export type WalkedChannel = { readonly id: bigint; readonly depth: number } & (
  | { readonly kind: "channel"; readonly object: Channel }
  | { readonly kind: "subchannel"; readonly object: Subchannel }
);

/** How a graph is walked. */
export interface WalkGraphOptions extends ReadOptions {
  /** How many objects to ask for at a time in lists. Default 0: the peer chooses. */
  readonly pageSize?: Int64 | undefined;
  /** How many calls may be under way at a time. Default 16. */
  readonly concurrency?: number | undefined;
}

/** How many lookups are under way at a time unless told. */
export const defaultConcurrency = 16;

/** How many levels of channels a walk goes down. Honest processes have three. */
export const deepestLevel = 64;

/**
 * Every channel and subchannel that can be reached from the top, once, level by level. What vanished meanwhile is left out; a
 * peer whose refs form a cycle, or never end, ends the walk all the same.
 */
export async function* walkAllChannels(
  source: Source,
  options: WalkGraphOptions = {},
): AsyncGenerator<WalkedChannel, void, undefined> {
  const { signal, pageSize, concurrency = defaultConcurrency } = options;
  // Some peers number each kind by itself, so an id is known only together with its kind.
  const seen = { channel: new Set<bigint>(), subchannel: new Set<bigint>() };
  const isNew = ({ kind, id }: ChildRef): boolean => id > 0n && seen[kind].size < seen[kind].add(id).size;
  let found: ChildRef[] = [];

  for await (const object of walkTopChannels(source, { signal, pageSize })) {
    const top = { kind: "channel", id: object.ref?.channelId ?? 0n, object, depth: 0 } as const;
    isNew(top);
    yield top;
    found.push(...childrenOf(object));
  }
  for (let depth = 1; depth <= deepestLevel; depth += 1) {
    const level = found.filter(isNew);
    if (level.length === 0) return;
    found = [];
    for await (const walked of mapBounded(level, concurrency, (ref) => lookUp(source, ref, depth, signal))) {
      if (walked === undefined) continue;
      yield walked;
      found.push(...childrenOf(walked.object));
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

async function lookUp(
  source: Source,
  { kind, id }: ChildRef,
  depth: number,
  signal: AbortSignal | undefined,
): Promise<WalkedChannel | undefined> {
  if (kind === "channel") {
    const object = (await orUndefined(source.getChannel(id, { signal })))?.channel;
    return object && { kind, id, object, depth };
  }
  const object = (await orUndefined(source.getSubchannel(id, { signal })))?.subchannel;
  return object && { kind, id, object, depth };
}
