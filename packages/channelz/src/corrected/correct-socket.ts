import { clone } from "@bufbuild/protobuf";
import { findOwnSocket, type WindowOrder, windowOrderOf } from "../client/own-socket.js";
import { walkAllChannels } from "../client/walk.js";
import type { AppliedCorrection } from "../correction-marks.js";
import { ChannelzError } from "../errors.js";
import {
  type Channel,
  type Socket,
  type SocketData,
  SocketSchema,
  type Subchannel,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { OwnConnection } from "../own-connection.js";
import type { ReadOptions, Source } from "../source.js";
import { type LostStreams, openStreams, readWithLostStreams, type SocketParent } from "./lost-cancels.js";
import { hasUnsetTime, removeUnsetTimes } from "./unset-times.js";

/** Corrects sockets, based on other responses of the peer. */
export interface SocketCorrector {
  /** Remembers the sockets of a channel or subchannel. */
  rememberSockets(parent: SocketParent, object: Channel | Subchannel): void;
  /** A corrected copy of a socket, or the socket itself if there is nothing to correct. */
  correct(
    socket: Socket,
    options: ReadOptions & { readonly summary?: boolean },
  ): Promise<{ readonly socket: Socket; readonly applied: readonly AppliedCorrection[] }>;
}

// A peer may have many sockets with open streams, and each check costs three reads.
const maxStreamChecks = 256;
const maxParents = 100_000;
const maxChannels = 1000;
/** The timeout for proving a deviation, in milliseconds: a peer may take long for each of many reads. */
const maxProofMs = 5000;

/** A corrector for the sockets of one peer. */
export function createSocketCorrector(
  source: Source,
  ownConnection: (() => OwnConnection | undefined) | undefined,
  proofMs: number = maxProofMs,
): SocketCorrector {
  const parents = new Map<bigint, SocketParent>();
  let windowOrder: Promise<WindowOrder> | undefined;
  let channelsRead: Promise<void> | undefined;
  let streamChecks = 0;

  /** Measured once. A measurement that fails proves nothing. */
  async function areWindowsSwapped({ data }: Socket): Promise<boolean> {
    if (data === undefined || data.localFlowControlWindow === data.remoteFlowControlWindow) return false;
    const own = ownConnection?.();
    if (windowOrder === undefined && own !== undefined) {
      windowOrder = findOwnSocket(source, own, { signal: AbortSignal.timeout(proofMs) }).then(
        (socket) => (socket === undefined ? "unknown" : windowOrderOf(socket)),
        () => "unknown",
      );
    }
    return (await windowOrder) === "swapped";
  }

  function remember(parent: SocketParent, { socketRef }: Channel | Subchannel): void {
    for (const { socketId } of socketRef) if (parents.size < maxParents) parents.set(socketId, parent);
  }

  /** A socket that is read only by its id has a parent too; all channels are read once to find it. */
  async function findParent(socketId: bigint): Promise<SocketParent | undefined> {
    if (!parents.has(socketId)) {
      channelsRead ??= readChannels().catch(() => {});
      await channelsRead;
    }
    return parents.get(socketId);
  }

  async function readChannels(): Promise<void> {
    const signal = AbortSignal.timeout(proofMs);
    for await (const { kind, id, object } of walkAllChannels(source, { maxObjects: maxChannels, signal })) {
      if (object !== undefined) remember({ kind, id }, object);
    }
  }

  async function findLostStreams(
    socket: Socket,
    options: ReadOptions & { readonly summary?: boolean },
  ): Promise<LostStreams | undefined> {
    // Only the client's end has a channel that shows whether its calls have ended.
    const isClient = socket.data?.lastLocalStreamCreatedTimestamp !== undefined;
    if (openStreams(socket) <= 0n || !isClient || streamChecks >= maxStreamChecks) return undefined;
    streamChecks += 1;
    try {
      const parent = await findParent(socket.ref?.socketId ?? 0n);
      if (parent === undefined) return undefined;
      return await readWithLostStreams(source, parent, socket.ref?.socketId ?? 0n, options);
    } catch (error) {
      // The socket or its parent closed meanwhile, so nothing is proven.
      if (ChannelzError.is(error) && !options.signal?.aborted) return undefined;
      throw error;
    }
  }

  return {
    rememberSockets: remember,
    async correct(read, options) {
      const lost = await findLostStreams(read, options);
      const original = lost?.socket ?? read;
      const isSwapped = await areWindowsSwapped(original);
      if (lost === undefined && !isSwapped && !hasUnsetTime(original)) return { socket: read, applied: [] };
      const socket = clone(SocketSchema, original);
      const { data } = socket;
      if (data === undefined) return { socket: read, applied: [] };
      const applied = [
        ...(lost === undefined ? [] : countLostStreams(data, lost)),
        ...(isSwapped ? swapWindows(data) : []),
        ...removeUnsetTimes(socket),
      ];
      return { socket, applied };
    },
  };
}

function countLostStreams(data: SocketData, { socket, parent }: LostStreams): AppliedCorrection[] {
  const lost = openStreams(socket);
  data.streamsFailed += lost;
  // No values that change with each call: recordings store the text again when it changes.
  const detail = `streams_failed without ${lost} streams that have ended: ${parent.kind} ${parent.id} has no call in progress`;
  return [{ id: "lost-cancels", detail }];
}

/** Without the values, which change all the time. */
const swappedWindows =
  "the remote window as local_flow_control_window, and the local one as remote_flow_control_window";

function swapWindows(data: SocketData): AppliedCorrection[] {
  const { localFlowControlWindow: local, remoteFlowControlWindow: remote } = data;
  delete data.localFlowControlWindow;
  delete data.remoteFlowControlWindow;
  if (remote !== undefined) data.localFlowControlWindow = remote;
  if (local !== undefined) data.remoteFlowControlWindow = local;
  return [{ id: "swapped-windows", detail: swappedWindows }];
}
