import type { ChannelTraceEvent } from "@wirescope/channelz/client";
import { printableText, timeOf } from "@wirescope/channelz/internal/text";
import { type ObjectKey, objectKey, type SnapshotObject } from "@wirescope/channelz/timeline";
import type { Tone } from "../design/state-mark.js";

/** A trace event, as it is shown. */
export interface TraceEntry {
  /** Milliseconds since 1970; undefined if the peer gave no time. */
  readonly timeMs: number | undefined;
  /** Since the previous event; undefined for the oldest one that is kept. */
  readonly sincePreviousMs: number | undefined;
  readonly severity: "info" | "warning" | "error" | "unknown";
  readonly tone: Tone;
  readonly description: string;
  /** The object that the event is about. */
  readonly child: { readonly key: ObjectKey; readonly label: string } | undefined;
}

/** A trace, as it is shown. */
export interface TraceSummary {
  readonly createdMs: number | undefined;
  /** The number of all events that were ever logged. */
  readonly logged: bigint;
  /** Newest first. */
  readonly entries: readonly TraceEntry[];
}

/** Peers may send megabytes. */
const maxDescriptionLength = 12_000;
const maxEntries = 1_000;

const severities: readonly (readonly [TraceEntry["severity"], Tone])[] = [
  ["unknown", "idle"],
  ["info", "idle"],
  ["warning", "waiting"],
  ["error", "failing"],
];

/** The trace of a channel, subchannel or server; undefined if it has none. */
export function readTrace(object: SnapshotObject): TraceSummary | undefined {
  const trace = object.kind === "socket" ? undefined : object.message?.data?.trace;
  if (trace === undefined) return undefined;
  let previous: number | undefined;
  const entries = trace.events.slice(-maxEntries).map((event): TraceEntry => {
    const timeMs = timeOf(event.timestamp)?.getTime();
    const sincePreviousMs = timeMs === undefined || previous === undefined ? undefined : Math.max(0, timeMs - previous);
    previous = timeMs ?? previous;
    const [severity, tone] = severities[event.severity] ?? severities[0]!;
    const description = printableText(event.description, maxDescriptionLength);
    return { timeMs, sincePreviousMs, severity, tone, description, child: childOf(event.childRef, object.origin) };
  });
  return {
    createdMs: timeOf(trace.creationTimestamp)?.getTime(),
    logged: trace.numEventsLogged,
    entries: entries.reverse(),
  };
}

function childOf(child: ChannelTraceEvent["childRef"], origin: string): TraceEntry["child"] {
  switch (child.case) {
    case "channelRef":
      return { key: objectKey(origin, "channel", child.value.channelId), label: `channel ${child.value.channelId}` };
    case "subchannelRef":
      return {
        key: objectKey(origin, "subchannel", child.value.subchannelId),
        label: `subchannel ${child.value.subchannelId}`,
      };
    default:
      return undefined;
  }
}
