import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { SocketOptionTcpInfo } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { SocketOptionInit } from "./socket-details.js";

/** A receive or send timeout (`SO_RCVTIMEO`, `SO_SNDTIMEO`). 0 means no timeout. */
export function timeoutOption(name: string, milliseconds: number): SocketOptionInit {
  const payload = writeDuration(new BinaryWriter(), 1, milliseconds);
  return {
    name,
    value: `${milliseconds} ms`,
    additional: { type: "SocketOptionTimeout", value: payload.finish() },
  };
}

/** `SO_LINGER`. */
export function lingerOption(active: boolean, milliseconds: number): SocketOptionInit {
  const payload = new BinaryWriter();
  if (active) payload.tag(1, WireType.Varint).bool(true);
  writeDuration(payload, 2, milliseconds);
  return {
    name: "SO_LINGER",
    value: active ? `${milliseconds} ms` : "off",
    additional: { type: "SocketOptionLinger", value: payload.finish() },
  };
}

/** The fields of the kernel's `struct tcp_info`. Missing fields are 0. */
export type TcpInfo = Partial<Omit<SocketOptionTcpInfo, "$typeName" | "$unknown">>;

/** `TCP_INFO`. */
export function tcpInfoOption(info: TcpInfo): SocketOptionInit {
  const payload = new BinaryWriter();
  for (const [index, field] of tcpInfoFields.entries()) {
    const value = info[field] ?? 0;
    if (value !== 0) payload.tag(index + 1, WireType.Varint).uint32(value);
  }
  return { name: "TCP_INFO", additional: { type: "SocketOptionTcpInfo", value: payload.finish() } };
}

/** In the order of their field numbers, which start with 1. */
const tcpInfoFields = [
  "tcpiState",
  "tcpiCaState",
  "tcpiRetransmits",
  "tcpiProbes",
  "tcpiBackoff",
  "tcpiOptions",
  "tcpiSndWscale",
  "tcpiRcvWscale",
  "tcpiRto",
  "tcpiAto",
  "tcpiSndMss",
  "tcpiRcvMss",
  "tcpiUnacked",
  "tcpiSacked",
  "tcpiLost",
  "tcpiRetrans",
  "tcpiFackets",
  "tcpiLastDataSent",
  "tcpiLastAckSent",
  "tcpiLastDataRecv",
  "tcpiLastAckRecv",
  "tcpiPmtu",
  "tcpiRcvSsthresh",
  "tcpiRtt",
  "tcpiRttvar",
  "tcpiSndSsthresh",
  "tcpiSndCwnd",
  "tcpiAdvmss",
  "tcpiReordering",
] as const satisfies readonly (keyof TcpInfo)[];

/** Writes a `google.protobuf.Duration`, even if it is 0. */
function writeDuration(writer: BinaryWriter, field: number, milliseconds: number): BinaryWriter {
  const seconds = Math.trunc(milliseconds / 1000);
  const nanos = Math.round((milliseconds - seconds * 1000) * 1e6);
  writer.tag(field, WireType.LengthDelimited).fork();
  if (seconds !== 0) writer.tag(1, WireType.Varint).int64(seconds);
  if (nanos !== 0) writer.tag(2, WireType.Varint).int32(nanos);
  return writer.join();
}
