import { lookUp } from "../client/look-up.js";
import {
  type Channel,
  type ChannelRef,
  ChannelConnectivityState_State as State,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { ReadOptions, Source } from "../source.js";

const maxLookups = 8;

/** Those of the given channels that exist and are open. */
export async function findNestedChannels(
  source: Source,
  ids: readonly bigint[],
  options: ReadOptions = {},
): Promise<ChannelRef[]> {
  const found: ChannelRef[] = [];
  for (const id of ids) {
    const child = await lookUp(source.getChannel(id, options), options.signal);
    if (child === undefined || "unreadable" in child || child.channel?.ref === undefined) continue;
    // A peer may keep a closed channel because a trace refers to it.
    if (child.channel.data?.state?.state !== State.SHUTDOWN) found.push(child.channel.ref);
  }
  return found;
}

/** The latest channels that the trace of a channel names as children, but its refs lack. */
export function unlistedChildren({ ref, channelRef, socketRef, data }: Channel): bigint[] {
  const unlisted = new Set<bigint>();
  // A channel with sockets has no channels below it.
  if (socketRef.length > 0) return [];
  for (const { childRef } of data?.trace?.events ?? []) {
    if (childRef.case === "channelRef") unlisted.add(childRef.value.channelId);
  }
  for (const { channelId } of channelRef) unlisted.delete(channelId);
  unlisted.delete(ref?.channelId ?? 0n);
  unlisted.delete(0n);
  return [...unlisted].slice(-maxLookups);
}
