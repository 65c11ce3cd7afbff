import type { ObjectKey, Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";
import type { Tone } from "../design/index.js";
import { visibleLine } from "../design/visible-text.js";

/** An object that needs attention, and why. */
export interface Problem {
  readonly object: SnapshotObject;
  readonly tone: Tone;
  readonly reason: string;
}

export interface ProcessSummary {
  readonly counts: {
    readonly channels: number;
    readonly subchannels: number;
    readonly servers: number;
    readonly sockets: number;
  };
  /** Top channels by state. */
  readonly channelStates: ReadonlyMap<string, number>;
  /** The objects whose counters add up to the traffic of the process, each call once. */
  readonly topKeys: readonly ObjectKey[];
  readonly problems: readonly Problem[];
}

/** Peers may send megabytes. */
const maxReasonLength = 1000;

/** Summarizes the objects of a process. */
export function summarizeProcess({ objects }: Snapshot): ProcessSummary {
  const counts = { channels: 0, subchannels: 0, servers: 0, sockets: 0 };
  const channelStates = new Map<string, number>();
  const topKeys: ObjectKey[] = [];
  const problems: Problem[] = [];
  for (const object of objects.values()) {
    if (object.kind === "channel" && object.isTop) {
      counts.channels += 1;
      const state = object.state ?? "UNKNOWN";
      channelStates.set(state, (channelStates.get(state) ?? 0) + 1);
    }
    if (object.kind === "subchannel") counts.subchannels += 1;
    if (object.kind === "server") counts.servers += 1;
    if (object.kind === "socket") counts.sockets += 1;
    if (object.kind === "server" || object.isTop) topKeys.push(object.key);
    problems.push(...problemsOf(object));
  }
  return { counts, channelStates, topKeys, problems };
}

function problemsOf(object: SnapshotObject): readonly Problem[] {
  if (object.unreadable !== undefined) return [{ object, tone: "failing", reason: object.unreadable }];
  if (object.kind === "channel" && object.isTop && object.state === "TRANSIENT_FAILURE") {
    return [{ object, tone: "failing", reason: lastReason(object) }];
  }
  return [];
}

/** The newest warning or error in a trace; peers write the reason for a failure there. */
function lastReason(object: SnapshotObject): string {
  const events = object.kind === "socket" ? [] : (object.message?.data?.trace?.events ?? []);
  const warning = events.findLast(({ severity }) => severity >= 2) ?? events.at(-1);
  if (warning === undefined) return "The channel cannot connect. Its trace has no reason.";
  return visibleLine(warning.description, maxReasonLength);
}
