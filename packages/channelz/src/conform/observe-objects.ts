import type { ObjectKind } from "../client/find-kinds.js";
import { ChannelzError } from "../errors.js";
import type { Channel, Server, Socket, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { ReadOptions, Source } from "../source.js";
import type { BoundedReader, Outcome } from "./bounded-source.js";
import type { ObservedObject, ObservedSocket } from "./observations.js";

/** The message of each kind. */
export interface ObjectOf {
  readonly channel: Channel;
  readonly subchannel: Subchannel;
  readonly server: Server;
  readonly socket: Socket;
}

const lookups: {
  [K in ObjectKind]: (source: Source, id: bigint, options: ReadOptions) => Promise<ObjectOf[K] | undefined>;
} = {
  channel: async (source, id, options) => (await source.getChannel(id, options)).channel,
  subchannel: async (source, id, options) => (await source.getSubchannel(id, options)).subchannel,
  server: async (source, id, options) => (await source.getServer(id, options)).server,
  socket: async (source, id, options) => (await source.getSocket(id, options)).socket,
};

/** Looks up one object. */
export function lookUpObject<K extends ObjectKind>(
  reader: BoundedReader,
  kind: K,
  id: bigint,
): Promise<Outcome<ObjectOf[K] | undefined>> {
  return reader.read((source, options) => lookups[kind](source, id, options));
}

/**
 * Looks up a listed object. An object may close at any time, so it counts as missing only if `isListed` still finds it afterwards.
 */
export async function observeObject<K extends ObjectKind>(
  reader: BoundedReader,
  kind: K,
  id: bigint,
  first: ObjectOf[K] | undefined,
  isListed: () => Promise<boolean>,
): Promise<ObservedObject<K, ObjectOf[K]> | undefined> {
  const { value, failure } = await lookUpObject(reader, kind, id);
  if (failure === undefined) return { kind, id, first, second: value, isMissing: false };
  if (failure.code !== "NOT_FOUND") return { kind, id, first, failure, isMissing: false };
  return (await isListed()) ? { kind, id, first, isMissing: true } : undefined;
}

/** Reads a socket twice: its summary, and in full. */
export async function observeSocket(
  reader: BoundedReader,
  id: bigint,
  owner: Pick<ObservedSocket, "role" | "ownerId">,
  isListed: () => Promise<boolean>,
): Promise<ObservedSocket | undefined> {
  const summary = await reader.read((source, options) => source.getSocket(id, { ...options, summary: true }));
  const observed = await observeObject(reader, "socket", id, summary.value?.socket, isListed);
  if (observed === undefined) return undefined;
  const failure = ChannelzError.is(summary.failure, "NOT_FOUND") ? undefined : summary.failure;
  return { ...observed, ...owner, failure: observed.failure ?? failure };
}

/** All items, or if there are more than `max`, the first and the last ones. */
export function sampleOf<T>(items: readonly T[], max: number): readonly T[] {
  if (items.length <= max) return items;
  const half = Math.ceil(max / 2);
  return [...items.slice(0, half), ...items.slice(half - max)];
}
