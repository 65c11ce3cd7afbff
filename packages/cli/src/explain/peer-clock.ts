import type { ChannelTrace } from "@wirescope/channelz";
import { timeOf } from "@wirescope/channelz/internal/text";
import type { Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";

/**
 * A lower bound of each process's own clock at the last read: the newest time that it reported, plus the time since that read by our
 * clock. An age that is computed with it is never too long, however wrong a clock is.
 */
export function newestTimes(snapshots: readonly Snapshot[]): ReadonlyMap<string, number> {
  const lastMs = snapshots.at(-1)?.timeMs ?? 0;
  const times = new Map<string, number>();
  for (const { timeMs, objects } of snapshots) {
    for (const object of objects.values()) {
      // It was not read at this time.
      if (object.unreadable !== undefined) continue;
      const newest = newestTime(object);
      if (newest === undefined) continue;
      times.set(object.origin, Math.max(times.get(object.origin) ?? 0, newest + lastMs - timeMs));
    }
  }
  return times;
}

function newestTime(object: SnapshotObject): number | undefined {
  const times = timesOf(object).flatMap((time) => timeOf(time)?.getTime() ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

function timesOf(object: SnapshotObject): Parameters<typeof timeOf>[0][] {
  if (object.kind !== "socket") {
    const { lastCallStartedTimestamp, trace } = object.message?.data ?? {};
    return [lastCallStartedTimestamp, ...timesOfTrace(trace)];
  }
  const { data } = object.message ?? {};
  return [
    data?.lastLocalStreamCreatedTimestamp,
    data?.lastRemoteStreamCreatedTimestamp,
    data?.lastMessageSentTimestamp,
    data?.lastMessageReceivedTimestamp,
  ];
}

function timesOfTrace(trace: ChannelTrace | undefined): Parameters<typeof timeOf>[0][] {
  return [trace?.creationTimestamp, trace?.events.at(-1)?.timestamp];
}
