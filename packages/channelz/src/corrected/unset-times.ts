import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { AppliedCorrection } from "../correction-marks.js";
import type { Channel, Server, Socket, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";

// The day on which HTTP/2 became a standard (RFC 7540): no connection that Channelz reports is older.
const earliestSeconds = BigInt(Date.UTC(2015, 4, 14) / 1000);

/** Whether a time was never set: some peers write "never" as 1970 or year 1, and one wrote counters into times. */
export function isUnsetTime(time: Timestamp | undefined): boolean {
  return time !== undefined && time.seconds < earliestSeconds;
}

/** Whether an object has a time that was never set. */
export function hasUnsetTime(object: Channel | Subchannel | Server | Socket): boolean {
  return timesOf(object).some(({ holder, field }) => isUnsetTime(holder[field]));
}

/** Removes the times of an object that were never set. The object is a copy. */
export function removeUnsetTimes(object: Channel | Subchannel | Server | Socket): AppliedCorrection[] {
  const removed = new Set<string>();
  for (const { holder, field, name } of timesOf(object)) {
    const time = holder[field];
    if (time === undefined || !isUnsetTime(time)) continue;
    removed.add(`${name} was ${formatSeconds(time)}`);
    delete holder[field];
  }
  return [...removed].map((detail) => ({ id: "unset-times", detail }));
}

interface TimeField {
  readonly holder: Record<string, Timestamp | undefined>;
  readonly field: string;
  readonly name: string;
}

function timesOf(object: Channel | Subchannel | Server | Socket): TimeField[] {
  const { data } = object;
  if (data === undefined) return [];
  const field = (holder: object, name: string, title: string): TimeField => ({
    holder: holder as TimeField["holder"],
    field: name,
    name: title,
  });
  if (data.$typeName === "rpc.channelz.v1.SocketData") {
    return [
      field(data, "lastLocalStreamCreatedTimestamp", "last_local_stream_created_timestamp"),
      field(data, "lastRemoteStreamCreatedTimestamp", "last_remote_stream_created_timestamp"),
      field(data, "lastMessageSentTimestamp", "last_message_sent_timestamp"),
      field(data, "lastMessageReceivedTimestamp", "last_message_received_timestamp"),
    ];
  }
  const { trace } = data;
  return [
    field(data, "lastCallStartedTimestamp", "last_call_started_timestamp"),
    ...(trace === undefined ? [] : [field(trace, "creationTimestamp", "creation_timestamp")]),
    ...(trace?.events ?? []).map((event) => field(event, "timestamp", "the timestamp of a trace event")),
  ];
}

function formatSeconds({ seconds }: Timestamp): string {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} seconds since 1970` : date.toISOString();
}
