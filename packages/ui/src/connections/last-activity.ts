import { timeOf } from "@wirescope/channelz/internal/text";
import type { SnapshotObject } from "@wirescope/channelz/timeline";

/** When an object last started a call, or a socket a stream or a message; undefined if it never did, or does not say. */
export function lastActivity(object: SnapshotObject): number | undefined {
  if (object.kind !== "socket") return timeOf(object.message?.data?.lastCallStartedTimestamp)?.getTime();
  const data = object.message?.data;
  const times = [
    data?.lastLocalStreamCreatedTimestamp,
    data?.lastRemoteStreamCreatedTimestamp,
    data?.lastMessageSentTimestamp,
    data?.lastMessageReceivedTimestamp,
  ].flatMap((timestamp) => timeOf(timestamp)?.getTime() ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}
