import { ChannelzError } from "../errors.js";
import type { Server, Socket } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Source } from "../source.js";
import { isOfOneObject, lookUp, type Unreadable } from "./look-up.js";
import { mapBounded } from "./map-bounded.js";
import type { Inventory } from "./tree.js";
import { defaultConcurrency, type WalkedChannel, type WalkGraphOptions, walkAllChannels, walkServers } from "./walk.js";
import { defaultMaxObjects, limitReached } from "./walk-pages.js";
import { type OwnedSocketRef, walkSocketsOfServer } from "./walk-sockets.js";

/** Options for reading an inventory. `maxObjects` counts channels with subchannels, servers, and sockets, each separately. */
export interface ReadInventoryOptions<S = "details" | "summary" | "refs"> extends WalkGraphOptions {
  /**
   * Read each socket in full, read its summary, or show only its ref, which saves one call per socket. Default "summary".
   */
  readonly sockets?: S | undefined;
}

/**
 * Reads every object that can be reached. Objects that close meanwhile are left out. If reading stops early, the inventory contains
 * what was read until then, and `stoppedBy` the reason; it rejects if nothing was read.
 */
export async function readInventory(source: Source, options: ReadInventoryOptions = {}): Promise<Inventory> {
  const { signal, pageSize, maxObjects = defaultMaxObjects } = options;
  let stoppedBy: ChannelzError | undefined;
  const keepWhatWasRead = async (reading: Promise<void>): Promise<void> => {
    try {
      await reading;
    } catch (error) {
      if (!ChannelzError.is(error)) throw error;
      stoppedBy ??= error;
    }
  };

  const channels = { channel: new Map<bigint, WalkedChannel>(), subchannel: new Map<bigint, WalkedChannel>() };
  const servers: { server: Server; sockets: OwnedSocketRef[]; unreadable?: ChannelzError }[] = [];
  const socketIds = new Set<bigint>();
  const addSocket = (id: bigint): void => {
    if (id <= 0n || socketIds.has(id)) return;
    if (socketIds.size >= maxObjects) throw limitReached("sockets", maxObjects);
    socketIds.add(id);
  };

  async function readChannels(): Promise<void> {
    for await (const walked of walkAllChannels(source, options)) {
      if (channels.channel.size + channels.subchannel.size >= maxObjects) throw limitReached("channels", maxObjects);
      channels[walked.kind].set(walked.id, walked);
      for (const { socketId } of walked.object?.socketRef ?? []) addSocket(socketId);
    }
  }

  async function readServers(): Promise<void> {
    for await (const server of walkServers(source, { signal, pageSize, maxObjects })) {
      const entry: (typeof servers)[number] = { server, sockets: [] };
      servers.push(entry);
      try {
        for await (const owned of walkSocketsOfServer(source, server, options)) {
          addSocket(owned.ref.socketId);
          entry.sockets.push(owned);
        }
      } catch (error) {
        if (!isOfOneObject(error, signal)) throw error;
        entry.unreadable = error;
      }
    }
  }

  const sockets = new Map<bigint, Socket | Unreadable | undefined>();
  async function readSockets(): Promise<void> {
    const summary = options.sockets !== "details";
    const read = async (id: bigint) => ({
      id,
      found: await lookUp(source.getSocket(id, { signal, summary }), signal),
    });
    for await (const { id, found } of mapBounded(socketIds, options.concurrency ?? defaultConcurrency, read)) {
      if (found === undefined) continue;
      if ("unreadable" in found) sockets.set(id, found);
      else if (found.socket !== undefined) sockets.set(id, found.socket);
    }
  }

  await keepWhatWasRead(readChannels());
  await keepWhatWasRead(readServers());
  if (options.sockets === "refs") for (const id of socketIds) sockets.set(id, undefined);
  else await keepWhatWasRead(readSockets());
  if (stoppedBy !== undefined && channels.channel.size === 0 && servers.length === 0) throw stoppedBy;
  return { ...channels, servers, sockets, stoppedBy };
}
