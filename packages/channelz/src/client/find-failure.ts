import type { Channel, ChannelTraceEvent, Subchannel } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { ReadOptions, Source } from "../source.js";
import { timeOf } from "../text/time.js";
import { becameFailing, becameReady, reasonIn } from "../text/trace-text.js";
import { lookUp } from "./look-up.js";

/** Why a channel cannot connect, according to traces. */
export interface Failure {
  /** The latest reason in the traces of the channel and the objects below it; undefined if they contain none. */
  readonly reason?: string | undefined;
  /** The time of that reason. */
  readonly at?: Date | undefined;
  /** When the failure began, or the oldest event about it that the peer still has. */
  readonly since?: Date | undefined;
}

const maxObjects = 16;
const maxDepth = 3;

// By their numbers, as in ChannelConnectivityState.State and ChannelTraceEvent.Severity.
const connecting = 2;
const transientFailure = 4;
const warning = 2;

/** Whether a channel is in TRANSIENT_FAILURE, or reconnects after a failure in its trace. */
export function isFailing(channel: Channel | Subchannel, failure: Failure | undefined): boolean {
  const state = channel.data?.state?.state ?? 0;
  return state === transientFailure || (state === connecting && failure?.reason !== undefined);
}

/**
 * The failure of a channel from its own trace and from the traces of the channels and subchannels below it, the channel
 * first. Undefined if no trace has an event about one since the last connection.
 */
export function findFailure(objects: readonly (Channel | Subchannel)[]): Failure | undefined {
  let reason: { readonly text: string; readonly at: Date | undefined; readonly isCause: boolean } | undefined;
  let since: Date | undefined;
  let isFound = false;
  for (const object of objects) {
    const events = eventsSinceReady(object.data?.trace?.events ?? []);
    const failing = events.filter((event) => event.severity >= warning || becameFailing(event.description));
    for (const event of events) {
      const text = reasonIn(event.description, event.severity >= warning);
      const at = timeOf(event.timestamp);
      // The cause of a state change is more specific than later events, such as that a subchannel was closed.
      const isCause = becameFailing(event.description);
      if (text === undefined || (reason?.isCause && !isCause)) continue;
      if ((isCause && !reason?.isCause) || !isEarlier(at, reason?.at)) reason = { text, at, isCause };
    }
    if (failing.length === 0) continue;
    isFound = true;
    const first = failing.map(({ timestamp }) => timeOf(timestamp)).find((time) => time !== undefined);
    if (first !== undefined && (since === undefined || first < since)) since = first;
  }
  if (reason === undefined && !isFound) return undefined;
  return { reason: reason?.text, at: reason?.at, since };
}

/** Reads a limited number of objects below a channel, and finds its failure. */
export async function readFailure(
  source: Source,
  channel: Channel,
  options: ReadOptions = {},
): Promise<Failure | undefined> {
  const { signal } = options;
  const objects: (Channel | Subchannel)[] = [channel];
  let level: readonly (Channel | Subchannel)[] = [channel];
  // The refs of a hostile peer may form a cycle.
  const seen = new Set<string>([`channel ${channel.ref?.channelId}`]);
  const isNew = (key: string): boolean => seen.size < seen.add(key).size;
  for (let depth = 1; depth <= maxDepth; depth += 1) {
    const next: (Channel | Subchannel)[] = [];
    for (const parent of level) {
      for (const { subchannelId } of parent.subchannelRef) {
        if (objects.length >= maxObjects) break;
        if (!isNew(`subchannel ${subchannelId}`)) continue;
        const found = await lookUp(source.getSubchannel(subchannelId, { signal }), signal);
        if (found === undefined || "unreadable" in found || found.subchannel === undefined) continue;
        objects.push(found.subchannel);
        next.push(found.subchannel);
      }
      for (const { channelId } of parent.channelRef) {
        if (objects.length >= maxObjects) break;
        if (!isNew(`channel ${channelId}`)) continue;
        const found = await lookUp(source.getChannel(channelId, { signal }), signal);
        if (found === undefined || "unreadable" in found || found.channel === undefined) continue;
        objects.push(found.channel);
        next.push(found.channel);
      }
    }
    level = next;
  }
  return findFailure(objects);
}

/** The events after the object was last connected. */
function eventsSinceReady(events: readonly ChannelTraceEvent[]): readonly ChannelTraceEvent[] {
  return events.slice(events.findLastIndex(({ description }) => becameReady(description)) + 1);
}

function isEarlier(time: Date | undefined, than: Date | undefined): boolean {
  if (than === undefined) return false;
  return time === undefined || time < than;
}
