import { clone } from "@bufbuild/protobuf";
import type { ObjectKind } from "../client/find-kinds.js";
import { type AppliedCorrection, markCorrected } from "../correction-marks.js";
import { ChannelzError } from "../errors.js";
import {
  type Channel,
  ChannelSchema,
  type Server,
  ServerSchema,
  SubchannelSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { toInt64 } from "../int64.js";
import type { OwnConnection } from "../own-connection.js";
import type { Int64, ReadOptions, Source } from "../source.js";
import { correctPage } from "./correct-page.js";
import { createSocketCorrector } from "./correct-socket.js";
import { findNestedChannels, unlistedChildren } from "./nested-channels.js";
import { correctLookupError } from "./not-found.js";
import { hasUnsetTime, removeUnsetTimes } from "./unset-times.js";

/** Options of a corrected source. */
export interface CorrectSourceOptions {
  /** Our end of the connection to the peer, which proves how it reports windows. Without it, windows are not corrected. */
  readonly ownConnection?: (() => OwnConnection | undefined) | undefined;
  /** Called for each correction, with the object or the method that it concerns. */
  readonly onCorrection?: ((applied: AppliedCorrection, subject: string) => void) | undefined;
}

// Proving a deviation costs reads, and a peer that fails every read must not multiply them.
const maxProofs = 16;
const maxNestedLookups = 256;

/**
 * Wraps the source of one process to undo known deviations of its implementation, which the table of corrections lists. Each is
 * applied only if the responses of this peer prove it. Changes are marked: `correctionsOf(message)` returns them. The messages of
 * the source are not changed.
 */
export function correctSource(source: Source, options: CorrectSourceOptions = {}): Source {
  const sockets = createSocketCorrector(source, options.ownConnection);
  let proofs = 0;
  let nestedLookups = 0;

  function report(message: object, subject: string, applied: readonly AppliedCorrection[]): void {
    markCorrected(message, applied);
    for (const each of applied) options.onCorrection?.(each, subject);
  }

  /** Awaits a lookup, and corrects its error. */
  async function lookup<T>(kind: ObjectKind, id: Int64, reading: Promise<T>, readOptions?: ReadOptions): Promise<T> {
    try {
      return await reading;
    } catch (reason) {
      if (proofs >= maxProofs) throw reason;
      if (ChannelzError.is(reason, "PEER_FAILED")) proofs += 1;
      const { error, detail } = await correctLookupError(source, kind, toInt64(id), reason, readOptions);
      if (detail !== undefined) options.onCorrection?.({ id: "not-found", detail }, `${kind} ${id}`);
      throw error;
    }
  }

  async function correctChannel(channel: Channel, readOptions?: ReadOptions): Promise<Channel> {
    const id = channel.ref?.channelId ?? 0n;
    sockets.rememberSockets({ kind: "channel", id }, channel);
    const unlisted = unlistedChildren(channel).slice(0, maxNestedLookups - nestedLookups);
    nestedLookups += unlisted.length;
    const nested = await findNestedChannels(source, unlisted, { signal: readOptions?.signal });
    if (nested.length === 0 && !hasUnsetTime(channel)) return channel;
    const copy = clone(ChannelSchema, channel);
    copy.channelRef.push(...nested);
    const added = nested.map(({ channelId }): AppliedCorrection => {
      return { id: "nested-channels", detail: `only the trace names channel ${channelId}` };
    });
    report(copy, `channel ${id}`, [...added, ...removeUnsetTimes(copy)]);
    return copy;
  }

  function correctServer(server: Server): Server {
    if (!hasUnsetTime(server)) return server;
    const copy = clone(ServerSchema, server);
    report(copy, `server ${server.ref?.serverId ?? 0n}`, removeUnsetTimes(copy));
    return copy;
  }

  return {
    async getTopChannels(request, readOptions) {
      const response = await source.getTopChannels(request, readOptions);
      const idOf = ({ ref }: Channel): bigint => ref?.channelId ?? 0n;
      const { items, end, applied } = correctPage(response.channel, response.end, idOf, request);
      const channel: Channel[] = [];
      for (const item of items) channel.push(await correctChannel(item, readOptions));
      const corrected = { ...response, channel, end };
      report(corrected, "GetTopChannels", applied);
      return corrected;
    },
    async getServers(request, readOptions) {
      const response = await source.getServers(request, readOptions);
      const idOf = ({ ref }: Server): bigint => ref?.serverId ?? 0n;
      const { items, end, applied } = correctPage(response.server, response.end, idOf, request);
      const corrected = { ...response, server: items.map(correctServer), end };
      report(corrected, "GetServers", applied);
      return corrected;
    },
    async getServer(id, readOptions) {
      const response = await lookup("server", id, source.getServer(id, readOptions), readOptions);
      return response.server === undefined ? response : { ...response, server: correctServer(response.server) };
    },
    async getServerSockets(id, request, readOptions) {
      const reading = source.getServerSockets(id, request, readOptions);
      const response = await lookup("server", id, reading, readOptions);
      const page = correctPage(response.socketRef, response.end, ({ socketId }) => socketId, request);
      const corrected = { ...response, socketRef: page.items, end: page.end };
      report(corrected, `GetServerSockets of server ${id}`, page.applied);
      return corrected;
    },
    async getChannel(id, readOptions) {
      const response = await lookup("channel", id, source.getChannel(id, readOptions), readOptions);
      if (response.channel === undefined) return response;
      return { ...response, channel: await correctChannel(response.channel, readOptions) };
    },
    async getSubchannel(id, readOptions) {
      const response = await lookup("subchannel", id, source.getSubchannel(id, readOptions), readOptions);
      const { subchannel } = response;
      if (subchannel === undefined) return response;
      sockets.rememberSockets({ kind: "subchannel", id: toInt64(id) }, subchannel);
      if (!hasUnsetTime(subchannel)) return response;
      const copy = clone(SubchannelSchema, subchannel);
      report(copy, `subchannel ${id}`, removeUnsetTimes(copy));
      return { ...response, subchannel: copy };
    },
    async getSocket(id, readOptions = {}) {
      const response = await lookup("socket", id, source.getSocket(id, readOptions), readOptions);
      if (response.socket === undefined) return response;
      const { socket, applied } = await sockets.correct(response.socket, readOptions);
      report(socket, `socket ${id}`, applied);
      return { ...response, socket };
    },
  };
}
