import { fromBinary } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { EncodedRead } from "../encoded-source.js";
import {
  type GetChannelResponse,
  GetChannelResponseSchema,
  type GetServerResponse,
  GetServerResponseSchema,
  type GetServerSocketsResponse,
  GetServerSocketsResponseSchema,
  type GetServersResponse,
  GetServersResponseSchema,
  type GetSocketResponse,
  GetSocketResponseSchema,
  type GetSubchannelResponse,
  GetSubchannelResponseSchema,
  type GetTopChannelsResponse,
  GetTopChannelsResponseSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";

/** The response type of each read. */
export interface Responses extends Record<EncodedRead["method"], unknown> {
  readonly GetTopChannels: GetTopChannelsResponse;
  readonly GetServers: GetServersResponse;
  readonly GetServer: GetServerResponse;
  readonly GetServerSockets: GetServerSocketsResponse;
  readonly GetChannel: GetChannelResponse;
  readonly GetSubchannel: GetSubchannelResponse;
  readonly GetSocket: GetSocketResponse;
}

const schemas: { readonly [M in keyof Responses]: GenMessage<Responses[M]> } = {
  GetTopChannels: GetTopChannelsResponseSchema,
  GetServers: GetServersResponseSchema,
  GetServer: GetServerResponseSchema,
  GetServerSockets: GetServerSocketsResponseSchema,
  GetChannel: GetChannelResponseSchema,
  GetSubchannel: GetSubchannelResponseSchema,
  GetSocket: GetSocketResponseSchema,
};

/** Decodes the bytes of a response. */
export function decodeResponse<M extends keyof Responses>(method: M, bytes: Uint8Array): Responses[M] {
  // As a plain Uint8Array, or bytes fields would be Buffers.
  const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  return fromBinary<GenMessage<Responses[M]>>(schemas[method], plain);
}
