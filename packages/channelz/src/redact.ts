import { clone, create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { ChannelzError } from "./errors.js";
import {
  type Address,
  Address_OtherAddressSchema,
  type ChannelData,
  type ChannelRef,
  type ChannelTraceEvent,
  GetChannelResponseSchema,
  GetServerResponseSchema,
  GetServerSocketsResponseSchema,
  GetServersResponseSchema,
  GetSocketResponseSchema,
  GetSubchannelResponseSchema,
  GetTopChannelsResponseSchema,
  type Security_OtherSecurity,
  type Security_Tls,
  type Socket,
  type SocketOption,
  type SocketRef,
  type SubchannelRef,
} from "./gen/rpc/channelz/v1/channelz_pb.js";
import type { Source } from "./source.js";

/** What a redacted source hides. */
export interface RedactOptions {
  /** Both TLS certificates, and the details of other security. Default true. */
  readonly certificates?: boolean;
  /**
   * Addresses. Socket addresses become an OtherAddress named `redacted`. Targets, remote names and the names of channels,
   * subchannels and sockets, which often contain addresses, become `redacted`. In free text (trace events, option values,
   * errors) everything that looks like an address is replaced. Server names are kept. Default true.
   */
  readonly addresses?: boolean;
}

/**
 * Wraps a source to hide certificates or addresses. The messages of the source are not changed; unknown fields are removed,
 * because their content is unknown.
 */
export function redactSource(source: Source, options: RedactOptions = {}): Source {
  const { certificates = true, addresses = true } = options;
  const redactors: Redactors = new Map([
    ...(certificates ? certificateRedactors : []),
    ...(addresses ? addressRedactors : []),
  ]);
  const redacted = async <D extends DescMessage>(
    schema: D,
    response: Promise<MessageShape<D>>,
  ): Promise<MessageShape<D>> => {
    try {
      const copy = clone(schema, await response);
      redact(copy, redactors);
      return copy;
    } catch (error) {
      throw addresses && ChannelzError.is(error) ? new ChannelzError(error.code, maskAddresses(error.message)) : error;
    }
  };
  return {
    getTopChannels: (...args) => redacted(GetTopChannelsResponseSchema, source.getTopChannels(...args)),
    getServers: (...args) => redacted(GetServersResponseSchema, source.getServers(...args)),
    getServer: (...args) => redacted(GetServerResponseSchema, source.getServer(...args)),
    getServerSockets: (...args) => redacted(GetServerSocketsResponseSchema, source.getServerSockets(...args)),
    getChannel: (...args) => redacted(GetChannelResponseSchema, source.getChannel(...args)),
    getSubchannel: (...args) => redacted(GetSubchannelResponseSchema, source.getSubchannel(...args)),
    getSocket: (...args) => redacted(GetSocketResponseSchema, source.getSocket(...args)),
  };
}

const mark = "redacted";

/** Changes a message, by type name; the message is a copy. */
type Redactors = ReadonlyMap<string, (message: never) => void>;

function redactor<M extends { readonly $typeName: string }>(
  typeName: M["$typeName"],
  change: (message: M) => void,
): [string, (message: never) => void] {
  return [typeName, change];
}

const certificateRedactors = [
  redactor<Security_Tls>("rpc.channelz.v1.Security.Tls", (tls) => {
    tls.localCertificate = new Uint8Array();
    tls.remoteCertificate = new Uint8Array();
  }),
  redactor<Security_OtherSecurity>("rpc.channelz.v1.Security.OtherSecurity", (security) => {
    delete security.value;
  }),
];

const addressRedactors = [
  redactor<Address>("rpc.channelz.v1.Address", (address) => {
    address.address = { case: "otherAddress", value: create(Address_OtherAddressSchema, { name: mark }) };
  }),
  redactor<Socket>("rpc.channelz.v1.Socket", (socket) => {
    socket.remoteName = markOf(socket.remoteName);
  }),
  redactor<ChannelData>("rpc.channelz.v1.ChannelData", (data) => {
    data.target = markOf(data.target);
  }),
  ...(["rpc.channelz.v1.ChannelRef", "rpc.channelz.v1.SubchannelRef", "rpc.channelz.v1.SocketRef"] as const).map(
    (typeName) =>
      redactor<ChannelRef | SubchannelRef | SocketRef>(typeName, (ref) => {
        ref.name = markOf(ref.name);
      }),
  ),
  redactor<ChannelTraceEvent>("rpc.channelz.v1.ChannelTraceEvent", (event) => {
    event.description = maskAddresses(event.description);
  }),
  redactor<SocketOption>("rpc.channelz.v1.SocketOption", (option) => {
    option.value = maskAddresses(option.value);
    if (option.additional === undefined || isKnownPayload(option.additional.typeUrl)) return;
    delete option.additional;
    if (option.value === "") option.value = mark;
  }),
];

/** The payloads of the specification hold times and numbers; another may hold anything. */
function isKnownPayload(typeUrl: string): boolean {
  return /\/(rpc|grpc)\.channelz\.v1\.SocketOption(Timeout|Linger|TcpInfo)$/.test(typeUrl);
}

function markOf(text: string): string {
  return text === "" ? "" : mark;
}

const addressPatterns: readonly RegExp[] = [
  // A URI, or a target with its scheme.
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi,
  /\b(?:unix|unix-abstract|dns|ipv4|ipv6|vsock|xds|stdio):[^\s"'<>]+/gi,
  // IPv6, in brackets or bare (when a port looks like another group), with or without a port.
  /\[[0-9a-f:.%]*:[0-9a-f:.%]*\](?::\d+)?/gi,
  /(?<![\w:.])(?:[0-9a-f]{0,4}:){2,8}(?:[0-9a-f]{1,5}|(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])/gi,
  // IPv4, and a host name with a port.
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g,
  /\b[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?:\d{1,5}\b/gi,
  // A domain name, and a file path.
  /\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}\b/gi,
  /(?<![\w/])\/(?:[\w.@-]+\/)*[\w.@-]+/g,
];

function maskAddresses(text: string): string {
  return addressPatterns.reduce((masked, pattern) => masked.replace(pattern, mark), text);
}

function redact(value: unknown, redactors: Redactors): void {
  if (Array.isArray(value)) {
    for (const item of value) redact(item, redactors);
  } else if (typeof value === "object" && value !== null && !(value instanceof Uint8Array)) {
    if ("$unknown" in value) delete value.$unknown;
    if ("$typeName" in value) redactors.get(String(value.$typeName))?.(value as never);
    for (const member of Object.values(value)) redact(member, redactors);
  }
}
