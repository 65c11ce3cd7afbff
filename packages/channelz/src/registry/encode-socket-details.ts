import type { ChannelzPackage } from "../channelz-package.js";
import type { ByteWriter } from "../wire/byte-writer.js";
import { parseIpAddress } from "./ip-address.js";
import type { AnyPayload, SocketAddress, SocketDetails, SocketEndpoints, SocketSecurity } from "./socket-details.js";

/** Writes the details that belong to SocketData: the windows and the options. */
export function encodeSocketOptions(
  writer: ByteWriter,
  details: SocketDetails,
  channelzPackage: ChannelzPackage,
): void {
  encodeWindow(writer, 0x5a, details.localFlowControlWindow);
  encodeWindow(writer, 0x62, details.remoteFlowControlWindow);
  for (const { name, value, additional } of details.options ?? []) {
    const option = writer.openSmall(0x6a);
    writer.string(0x0a, name);
    if (value !== undefined) writer.string(0x12, value);
    if (additional !== undefined) encodeAny(writer, 0x1a, additional, channelzPackage);
    writer.closeSmall(option);
  }
}

/** Writes the details that belong to Socket itself; those of the describer take precedence over those known when it was added. */
export function encodeSocketDetails(
  writer: ByteWriter,
  endpoints: SocketEndpoints | undefined,
  details: SocketDetails | undefined,
  channelzPackage: ChannelzPackage,
): void {
  const local = details?.local ?? endpoints?.local;
  const remote = details?.remote ?? endpoints?.remote;
  const security = details?.security ?? endpoints?.security;
  if (local !== undefined) encodeAddress(writer, 0x1a, local, channelzPackage);
  if (remote !== undefined) encodeAddress(writer, 0x22, remote, channelzPackage);
  if (security !== undefined) encodeSecurity(writer, 0x2a, security, channelzPackage);
  writer.string(0x32, details?.remoteName ?? endpoints?.remoteName ?? "");
}

function encodeWindow(writer: ByteWriter, tag: number, bytes: number | undefined): void {
  if (bytes === undefined) return;
  // A wrapper: the message is present even for 0, so that 0 differs from "unknown".
  const value = writer.openSmall(tag);
  writer.int(0x08, bytes);
  writer.closeSmall(value);
}

function encodeAddress(
  writer: ByteWriter,
  tag: number,
  address: SocketAddress,
  channelzPackage: ChannelzPackage,
): void {
  const message = writer.openSmall(tag);
  if ("ip" in address) {
    const ip = parseIpAddress(address.ip);
    if (ip === undefined) {
      const other = writer.openSmall(0x1a);
      writer.string(0x0a, `${address.ip}:${address.port}`);
      writer.closeSmall(other);
    } else {
      const tcpip = writer.openSmall(0x0a);
      writer.bytes(0x0a, ip);
      writer.int(0x10, address.port);
      writer.closeSmall(tcpip);
    }
  } else if ("path" in address) {
    const uds = writer.openSmall(0x12);
    writer.string(0x0a, address.path);
    writer.closeSmall(uds);
  } else {
    const other = writer.openSmall(0x1a);
    writer.string(0x0a, address.name);
    if (address.value !== undefined) encodeAny(writer, 0x12, address.value, channelzPackage);
    writer.closeSmall(other);
  }
  writer.closeSmall(message);
}

function encodeSecurity(
  writer: ByteWriter,
  tag: number,
  security: SocketSecurity,
  channelzPackage: ChannelzPackage,
): void {
  const message = writer.openLarge(tag);
  if ("tls" in security) {
    const { standardName, otherName, localCertificate, remoteCertificate } = security.tls;
    const tls = writer.openLarge(0x0a);
    if (standardName !== undefined) writer.stringAlways(0x0a, standardName);
    else if (otherName !== undefined) writer.stringAlways(0x12, otherName);
    if (localCertificate !== undefined) writer.bytes(0x1a, localCertificate);
    if (remoteCertificate !== undefined) writer.bytes(0x22, remoteCertificate);
    writer.closeLarge(tls);
  } else {
    const other = writer.openSmall(0x12);
    writer.string(0x0a, security.other.name);
    if (security.other.value !== undefined) encodeAny(writer, 0x12, security.other.value, channelzPackage);
    writer.closeSmall(other);
  }
  writer.closeLarge(message);
}

function encodeAny(writer: ByteWriter, tag: number, payload: AnyPayload, channelzPackage: ChannelzPackage): void {
  const typeName = payload.type.includes(".") ? payload.type : `${channelzPackage}.${payload.type}`;
  const any = writer.openSmall(tag);
  writer.string(0x0a, `type.googleapis.com/${typeName}`);
  writer.bytes(0x12, payload.value);
  writer.closeSmall(any);
}
