import { clone, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { carryCorrections } from "../correction-marks.js";
import {
  type Channel,
  type ChannelRef,
  ChannelSchema,
  type ChannelTrace,
  type GetChannelResponse,
  type GetServerResponse,
  type GetSocketResponse,
  type GetSubchannelResponse,
  type Server,
  type ServerRef,
  ServerSchema,
  type Socket,
  type SocketRef,
  SocketSchema,
  type Subchannel,
  type SubchannelRef,
  SubchannelSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { OriginIds } from "./origin-ids.js";

/** Converts the messages of one process, and responses with them; undefined for an object whose id cannot be merged. */
export interface MergedMessages {
  socketRef(origin: string, ref: SocketRef): SocketRef | undefined;
  channel(origin: string, original: Channel): Channel | undefined;
  server(origin: string, original: Server): Server | undefined;
  getChannel(origin: string, response: GetChannelResponse): GetChannelResponse;
  getSubchannel(origin: string, response: GetSubchannelResponse): GetSubchannelResponse;
  getServer(origin: string, response: GetServerResponse): GetServerResponse;
  getSocket(origin: string, response: GetSocketResponse): GetSocketResponse;
}

/**
 * The messages of one process as they are among several: ids are merged ids, and names begin with the origin. The given messages are not
 * changed. A ref whose id cannot be merged is left out.
 */
export function createMergedMessages(ids: OriginIds): MergedMessages {
  const named = (origin: string, name: string): string => (name === "" ? `[${origin}]` : `[${origin}] ${name}`);

  const refs = <R extends { name: string }>(
    origin: string,
    all: R[],
    idOf: (ref: R) => bigint,
    merged: (ref: R, id: bigint) => R,
  ): R[] =>
    all.flatMap((ref) => {
      const id = ids.encode(origin, idOf(ref));
      return id === undefined ? [] : [{ ...merged(ref, id), name: named(origin, ref.name) }];
    });
  const channelRefs = (origin: string, all: ChannelRef[]): ChannelRef[] =>
    refs(
      origin,
      all,
      (ref) => ref.channelId,
      (ref, channelId) => ({ ...ref, channelId }),
    );
  const subchannelRefs = (origin: string, all: SubchannelRef[]): SubchannelRef[] =>
    refs(
      origin,
      all,
      (ref) => ref.subchannelId,
      (ref, subchannelId) => ({ ...ref, subchannelId }),
    );
  const serverRefs = (origin: string, all: ServerRef[]): ServerRef[] =>
    refs(
      origin,
      all,
      (ref) => ref.serverId,
      (ref, serverId) => ({ ...ref, serverId }),
    );
  const socketRefs = (origin: string, all: SocketRef[]): SocketRef[] =>
    refs(
      origin,
      all,
      (ref) => ref.socketId,
      (ref, socketId) => ({ ...ref, socketId }),
    );

  function mergeTrace(origin: string, trace: ChannelTrace | undefined): void {
    for (const event of trace?.events ?? []) {
      const { childRef } = event;
      if (childRef.case === "channelRef") {
        const [value] = channelRefs(origin, [childRef.value]);
        event.childRef = value === undefined ? { case: undefined } : { case: "channelRef", value };
      } else if (childRef.case === "subchannelRef") {
        const [value] = subchannelRefs(origin, [childRef.value]);
        event.childRef = value === undefined ? { case: undefined } : { case: "subchannelRef", value };
      }
    }
  }

  function mergeBelow(origin: string, object: Channel | Subchannel): void {
    object.channelRef = channelRefs(origin, object.channelRef);
    object.subchannelRef = subchannelRefs(origin, object.subchannelRef);
    object.socketRef = socketRefs(origin, object.socketRef);
    mergeTrace(origin, object.data?.trace);
  }

  const messages = {
    socketRef: (origin: string, ref: SocketRef): SocketRef | undefined => socketRefs(origin, [ref])[0],
    channel(origin: string, original: Channel): Channel | undefined {
      const channel = copyOf(ChannelSchema, original);
      const [ref] = channelRefs(origin, channel.ref === undefined ? [] : [channel.ref]);
      if (ref === undefined) return undefined;
      channel.ref = ref;
      mergeBelow(origin, channel);
      return channel;
    },
    subchannel(origin: string, original: Subchannel): Subchannel | undefined {
      const subchannel = copyOf(SubchannelSchema, original);
      const [ref] = subchannelRefs(origin, subchannel.ref === undefined ? [] : [subchannel.ref]);
      if (ref === undefined) return undefined;
      subchannel.ref = ref;
      mergeBelow(origin, subchannel);
      return subchannel;
    },
    server(origin: string, original: Server): Server | undefined {
      const server = copyOf(ServerSchema, original);
      const [ref] = serverRefs(origin, server.ref === undefined ? [] : [server.ref]);
      if (ref === undefined) return undefined;
      server.ref = ref;
      server.listenSocket = socketRefs(origin, server.listenSocket);
      mergeTrace(origin, server.data?.trace);
      return server;
    },
    socket(origin: string, original: Socket): Socket | undefined {
      const socket = copyOf(SocketSchema, original);
      const [ref] = socketRefs(origin, socket.ref === undefined ? [] : [socket.ref]);
      if (ref === undefined) return undefined;
      socket.ref = ref;
      return socket;
    },
    getChannel: (origin: string, response: GetChannelResponse): GetChannelResponse =>
      withObject(response, "channel", response.channel && messages.channel(origin, response.channel)),
    getSubchannel: (origin: string, response: GetSubchannelResponse): GetSubchannelResponse =>
      withObject(response, "subchannel", response.subchannel && messages.subchannel(origin, response.subchannel)),
    getServer: (origin: string, response: GetServerResponse): GetServerResponse =>
      withObject(response, "server", response.server && messages.server(origin, response.server)),
    getSocket: (origin: string, response: GetSocketResponse): GetSocketResponse =>
      withObject(response, "socket", response.socket && messages.socket(origin, response.socket)),
  };
  return messages;
}

/** A copy of a response with this object in place of its own. */
function withObject<R extends object, K extends keyof R>(response: R, field: K, object: R[K] | undefined): R {
  const copy = { ...response };
  if (object === undefined) delete copy[field];
  else copy[field] = object;
  return copy;
}

function copyOf<D extends DescMessage>(schema: D, original: MessageShape<D>): MessageShape<D> {
  const copy = clone(schema, original);
  carryCorrections(original, copy);
  return copy;
}
