import type { ChannelzPackage } from "../channelz-package.js";
import type { ByteWriter } from "../wire/byte-writer.js";
import { stateNumbers } from "./connectivity.js";
import { encodeSocketDetails, encodeSocketOptions } from "./encode-socket-details.js";
import {
  type ChannelRecord,
  callsFailed,
  callsStarted,
  callsSucceeded,
  keepAlivesSent,
  lastCallStarted,
  lastLocalStream,
  lastMessageReceived,
  lastMessageSent,
  lastRemoteStream,
  messagesReceived,
  messagesSent,
  type ServerRecord,
  type SocketRecord,
  streamsFailed,
  streamsStarted,
  streamsSucceeded,
  type Trace,
} from "./records.js";
import type { SocketDetails } from "./socket-details.js";
import { severityNumbers } from "./trace-log.js";

// The hexadecimal numbers are protobuf tags: field number << 3 | wire type, where 0 is a varint and 2 is length-delimited. So 0x0a
// is field 1, length-delimited, and 0x10 is field 2, a varint. The schema is the reference.

/** Writes a channel or a subchannel as the field `tag` of the open message. */
export function encodeChannel(writer: ByteWriter, tag: number, record: ChannelRecord): void {
  const channel = writer.openLarge(tag);
  encodeChannelRef(writer, 0x0a, record);
  const data = writer.openLarge(0x12);
  const state = writer.openSmall(0x0a);
  writer.int(0x08, stateNumbers[record.state]);
  writer.closeSmall(state);
  writer.string(0x12, record.target);
  encodeTrace(writer, 0x1a, record.trace);
  const { cells, at } = record;
  writer.int(0x20, cells[at + callsStarted]!);
  writer.int(0x28, cells[at + callsSucceeded]!);
  writer.int(0x30, cells[at + callsFailed]!);
  writer.timestamp(0x3a, cells[at + lastCallStarted]!);
  writer.closeLarge(data);
  if (record.channels !== undefined) for (const child of record.channels) encodeChannelRef(writer, 0x1a, child);
  if (record.subchannels !== undefined) for (const child of record.subchannels) encodeChannelRef(writer, 0x22, child);
  if (record.sockets !== undefined) for (const child of record.sockets) encodeSocketRef(writer, 0x2a, child);
  writer.closeLarge(channel);
}

/** Writes a server as the field `tag` of the open message. */
export function encodeServer(writer: ByteWriter, tag: number, record: ServerRecord): void {
  const server = writer.openLarge(tag);
  const ref = writer.openSmall(0x0a);
  writer.int(0x28, record.id);
  writer.string(0x32, record.name);
  writer.closeSmall(ref);
  const data = writer.openLarge(0x12);
  encodeTrace(writer, 0x0a, record.trace);
  const { cells, at } = record;
  writer.int(0x10, cells[at + callsStarted]!);
  writer.int(0x18, cells[at + callsSucceeded]!);
  writer.int(0x20, cells[at + callsFailed]!);
  writer.timestamp(0x2a, cells[at + lastCallStarted]!);
  writer.closeLarge(data);
  for (const socket of record.listenSockets) encodeSocketRef(writer, 0x1a, socket);
  writer.closeLarge(server);
}

/** Writes a socket as the field `tag` of the open message, with the details from its describer. */
export function encodeSocket(
  writer: ByteWriter,
  tag: number,
  record: SocketRecord,
  details: SocketDetails | undefined,
  channelzPackage: ChannelzPackage,
): void {
  const socket = writer.openLarge(tag);
  encodeSocketRef(writer, 0x0a, record);
  const data = writer.openSmall(0x12);
  const { cells, at } = record;
  writer.int(0x08, cells[at + streamsStarted]!);
  writer.int(0x10, cells[at + streamsSucceeded]!);
  writer.int(0x18, cells[at + streamsFailed]!);
  writer.int(0x20, cells[at + messagesSent]!);
  writer.int(0x28, cells[at + messagesReceived]!);
  writer.int(0x30, cells[at + keepAlivesSent]!);
  writer.timestamp(0x3a, cells[at + lastLocalStream]!);
  writer.timestamp(0x42, cells[at + lastRemoteStream]!);
  writer.timestamp(0x4a, cells[at + lastMessageSent]!);
  writer.timestamp(0x52, cells[at + lastMessageReceived]!);
  if (details !== undefined) encodeSocketOptions(writer, details, channelzPackage);
  writer.closeSmall(data);
  encodeSocketDetails(writer, record.endpoints, details, channelzPackage);
  writer.closeLarge(socket);
}

/** Writes the ref of a socket as the field `tag` of the open message. */
export function encodeSocketRef(writer: ByteWriter, tag: number, record: SocketRecord): void {
  const ref = writer.openSmall(tag);
  writer.int(0x18, record.id);
  writer.string(0x22, record.name);
  writer.closeSmall(ref);
}

function encodeChannelRef(writer: ByteWriter, tag: number, record: ChannelRecord): void {
  const isChannel = record.kind === "channel";
  const ref = writer.openSmall(tag);
  writer.int(isChannel ? 0x08 : 0x38, record.id);
  writer.string(isChannel ? 0x12 : 0x42, record.name);
  writer.closeSmall(ref);
}

function encodeTrace(writer: ByteWriter, tag: number, trace: Trace): void {
  const message = writer.openLarge(tag);
  writer.int(0x08, trace.logged);
  writer.timestamp(0x12, trace.createdAt);
  for (const { description, severity, time, child } of trace.events) {
    const event = writer.openSmall(0x1a);
    writer.string(0x0a, description);
    writer.int(0x10, severityNumbers[severity]);
    writer.timestamp(0x1a, time);
    if (child !== undefined) encodeChannelRef(writer, child.kind === "channel" ? 0x22 : 0x2a, child);
    writer.closeSmall(event);
  }
  writer.closeLarge(message);
}
