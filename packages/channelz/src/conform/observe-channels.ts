import type { SocketParent } from "../corrected/lost-cancels.js";
import type { Channel, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { BoundedReader } from "./bounded-source.js";
import type { Notes } from "./observations.js";
import { isInList, type PagedList } from "./observe-list.js";
import { lookUpObject, observeObject, observeSocket, sampleOf } from "./observe-objects.js";

/** The top channels. */
export const topChannelList: PagedList<Channel> = {
  name: "GetTopChannels",
  page: async (source, request, options) => {
    const { channel: items, end } = await source.getTopChannels(request, options);
    return { items, end };
  },
  idOf: ({ ref }) => ref?.channelId ?? 0n,
};

interface FoundRef {
  readonly id: bigint;
  isListed(): Promise<boolean>;
}

/** Looks up top channels, then the objects below them, level by level. */
export async function observeChannels(reader: BoundedReader, notes: Notes, max: number): Promise<void> {
  const seen = { channel: new Set<bigint>(), subchannel: new Set<bigint>() };
  const next: { channel: FoundRef[]; subchannel: FoundRef[] } = { channel: [], subchannel: [] };
  const follow = (parent: SocketParent, object: Channel | Subchannel | undefined): void => {
    const again = async () => (await lookUpObject(reader, parent.kind, parent.id)).value;
    for (const { channelId: id } of object?.channelRef ?? []) {
      next.channel.push({
        id,
        isListed: async () => (await again())?.channelRef.some((r) => r.channelId === id) ?? false,
      });
    }
    for (const { subchannelId: id } of object?.subchannelRef ?? []) {
      const isListed = async () => (await again())?.subchannelRef.some((r) => r.subchannelId === id) ?? false;
      next.subchannel.push({ id, isListed });
    }
  };
  for (const channel of sampleOf(
    notes.topChannels.pages.flatMap(({ items }) => items),
    max,
  )) {
    const id = channel.ref?.channelId ?? 0n;
    if (id <= 0n || seen.channel.has(id)) continue;
    seen.channel.add(id);
    const observed = await observeObject(reader, "channel", id, channel, () => isInList(reader, topChannelList, id));
    if (observed === undefined) continue;
    notes.channels.push(observed);
    follow({ kind: "channel", id }, observed.second ?? channel);
  }
  while (next.channel.length + next.subchannel.length > 0) {
    const level = { channel: next.channel.splice(0), subchannel: next.subchannel.splice(0) };
    for (const kind of ["subchannel", "channel"] as const) {
      for (const { id, isListed } of level[kind]) {
        if (id <= 0n || seen[kind].has(id) || seen[kind].size >= 2 * max) continue;
        seen[kind].add(id);
        const observed = await observeObject(reader, kind, id, undefined, isListed);
        if (observed === undefined) continue;
        if (observed.kind === "channel") notes.channels.push(observed as Notes["channels"][number]);
        else notes.subchannels.push(observed as Notes["subchannels"][number]);
        follow({ kind, id }, observed.second);
      }
    }
  }
  // A second read of these objects, so that their counters can be compared.
  for (const [index, { id, second }] of notes.subchannels.slice(0, max).entries()) {
    const { value } = await lookUpObject(reader, "subchannel", id);
    if (second !== undefined && value !== undefined) {
      notes.subchannels[index] = { kind: "subchannel", id, first: second, second: value, isMissing: false };
    }
  }
}

/** Reads the sockets of the channels and subchannels that were looked up. */
export async function observeClientSockets(reader: BoundedReader, notes: Notes, max: number): Promise<void> {
  const parents = [...notes.channels, ...notes.subchannels];
  const owned = parents.flatMap(({ kind, id, second }) =>
    (second?.socketRef ?? []).map(({ socketId }) => ({ kind, id, socketId })),
  );
  for (const { kind, id, socketId } of sampleOf(owned, max)) {
    const isListed = async () => {
      const { value } = await lookUpObject(reader, kind, id);
      return value?.socketRef.some((ref) => ref.socketId === socketId) ?? false;
    };
    const observed = await observeSocket(reader, socketId, { role: "client", ownerId: id }, isListed);
    if (observed !== undefined) notes.sockets.push(observed);
  }
}
