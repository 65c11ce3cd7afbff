import { ChannelzError } from "../errors.js";
import type { ChannelData, Socket } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { ReadOptions, Source } from "../source.js";

/** The channel or subchannel of a socket. */
export interface SocketParent {
  readonly kind: "channel" | "subchannel";
  readonly id: bigint;
}

/** A socket that was read while it provably had no open stream. */
export interface LostStreams {
  readonly socket: Socket;
  readonly parent: SocketParent;
  /** The number of calls that the parent has started, all of which have ended. */
  readonly calls: bigint;
}

/** The number of streams of a socket that have started and, according to its counters, not ended. */
export function openStreams({ data }: Socket): bigint {
  return (data?.streamsStarted ?? 0n) - (data?.streamsSucceeded ?? 0n) - (data?.streamsFailed ?? 0n);
}

/**
 * Reads a socket again between two reads of its parent. If the parent has no call in progress both times and started none in
 * between, no stream of the socket was open: the peer lost those that it shows as open. Returns the socket as it was read then, or
 * undefined if nothing is proven.
 *
 * Other processes have streams that are not calls, such as the event stream of an MCP client. So it must also be proven that the
 * peer is grpc-js, the only one that numbers each kind of object separately: a socket has the same id as the parent.
 */
export async function readWithLostStreams(
  source: Source,
  parent: SocketParent,
  socketId: bigint,
  options: ReadOptions & { readonly summary?: boolean },
): Promise<LostStreams | undefined> {
  const before = await dataOf(source, parent, options);
  if (!isIdle(before)) return undefined;
  const { socket } = await source.getSocket(socketId, options);
  const after = await dataOf(source, parent, options);
  if (!isIdle(after) || after?.callsStarted !== before?.callsStarted) return undefined;
  if (socket === undefined || openStreams(socket) <= 0n) return undefined;
  if (!(await numbersKindsSeparately(source, parent.id, options))) return undefined;
  return { socket, parent, calls: after?.callsStarted ?? 0n };
}

const separateIds = new WeakMap<Source, boolean>();

/** Whether a socket has the id of a channel or subchannel. Read once for each source, because a peer counts failed reads. */
async function numbersKindsSeparately(source: Source, id: bigint, { signal }: ReadOptions): Promise<boolean> {
  const known = separateIds.get(source);
  if (known !== undefined) return known;
  let isSeparate = false;
  try {
    isSeparate = (await source.getSocket(id, { signal, summary: true })).socket !== undefined;
  } catch (error) {
    if (!ChannelzError.is(error, "NOT_FOUND")) throw error;
  }
  separateIds.set(source, isSeparate);
  return isSeparate;
}

async function dataOf(
  source: Source,
  { kind, id }: SocketParent,
  { signal }: ReadOptions,
): Promise<ChannelData | undefined> {
  if (kind === "channel") return (await source.getChannel(id, { signal })).channel?.data;
  return (await source.getSubchannel(id, { signal })).subchannel?.data;
}

function isIdle(data: ChannelData | undefined): boolean {
  return data !== undefined && data.callsStarted === data.callsSucceeded + data.callsFailed;
}
