import type { ChannelTraceEvent } from "@wirescope/channelz";
import { keepaliveFailureIn, timeOf } from "@wirescope/channelz/internal/text";
import { inFlight, ratesBetween, type Snapshot, type SnapshotObject } from "@wirescope/channelz/timeline";
import { newestTimes } from "./peer-clock.js";
import { defaultThresholds, type Thresholds } from "./thresholds.js";

/** How bad a finding is, worst first. */
export const severities = ["error", "warning", "note"] as const;
export type Severity = (typeof severities)[number];

/** A problem, or a possible one. */
export interface Finding {
  readonly severity: Severity;
  /** What is wrong, in one sentence. */
  readonly problem: string;
  /** What was seen. */
  readonly evidence: readonly string[];
  /** What to do next. */
  readonly advice: string;
  /** The objects that it is about. */
  readonly objects: readonly SnapshotObject[];
  /** Since when, by the clock of the peer. */
  readonly since?: Date | undefined;
}

/** The input of the rules: the reads of one run or of a recording, oldest first. There is at least one. */
export interface Observation {
  readonly snapshots: readonly Snapshot[];
  readonly first: Snapshot;
  readonly last: Snapshot;
  readonly elapsedMs: number;
  /** The objects of the last read. */
  readonly objects: readonly SnapshotObject[];
  readonly thresholds: Thresholds;
  /** A lower bound of a process's own clock at the last read: the newest time it reported, plus the time since then. */
  peerTimeMs(origin: string): number | undefined;
}

/** A rule: what it finds, its threshold, and the search itself. */
export interface Rule {
  readonly id: string;
  /** What it finds, for the documentation. */
  readonly finds: string;
  /** The threshold, for the documentation. */
  readonly threshold: string;
  find(seen: Observation): Finding[];
}

/** Creates the input of the rules; undefined if there are no reads. */
export function createObservation(
  snapshots: readonly Snapshot[],
  thresholds: Partial<Thresholds> = {},
): Observation | undefined {
  const [first, last] = [snapshots[0], snapshots.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const peerTimes = newestTimes(snapshots);
  return {
    snapshots,
    first,
    last,
    elapsedMs: last.timeMs - first.timeMs,
    objects: [...last.objects.values()],
    thresholds: { ...defaultThresholds, ...thresholds },
    peerTimeMs: (origin) => peerTimes.get(origin),
  };
}

/** The name of an object in findings. */
export function nameOf({ kind, id, name, target, origin }: SnapshotObject): string {
  const label = name || target;
  return [`${kind} ${id}`, label ? ` (${label})` : "", origin === "" ? "" : ` of ${origin}`].join("");
}

/** The rates of an object over the whole observation; zero if there was only one read. */
export function rateOf({ first, elapsedMs }: Observation, object: SnapshotObject): ReturnType<typeof ratesBetween> {
  return ratesBetween(first.objects.get(object.key) ?? object, object, elapsedMs);
}

/** The lowest number of calls or streams of an object in progress, over all reads. */
export function alwaysInFlight({ snapshots }: Observation, { key }: SnapshotObject): number {
  return snapshots.reduce((least, { objects }) => {
    const object = objects.get(key);
    return Math.min(least, object === undefined ? 0 : inFlight(object.counters));
  }, Number.POSITIVE_INFINITY);
}

/** How long ago a time of a process was at least, by the clock of that process; 0 if unknown. */
export function ageOf({ peerTimeMs }: Observation, { origin }: SnapshotObject, timeMs: number): number {
  return Math.max(0, (peerTimeMs(origin) ?? timeMs) - timeMs);
}

/** Whether a time of a process is within the last `spanMs`, by its clock and by ours. */
export function isRecent(
  seen: Observation,
  { origin }: SnapshotObject,
  time: Date | undefined,
  spanMs: number,
): boolean {
  // An idle process reports no newer time, so its own clock cannot show that an event is old.
  const nowMs = Math.max(seen.last.timeMs, seen.peerTimeMs(origin) ?? 0);
  return time !== undefined && time.getTime() > nowMs - spanMs;
}

/** The last trace event of an object that reports failed keepalives; undefined if there is no recent one. */
export function keepaliveFailure(seen: Observation, object: SnapshotObject): ChannelTraceEvent | undefined {
  const events = object.kind === "socket" ? [] : (object.message?.data?.trace?.events ?? []);
  const event = events.findLast(({ description }) => keepaliveFailureIn(description) !== undefined);
  // The trace of a quiet channel keeps a failure for days.
  return isRecent(seen, object, timeOf(event?.timestamp), seen.thresholds.recentMs) ? event : undefined;
}

/** What to do about keepalives that failed. */
export function keepaliveAdvice({ description }: ChannelTraceEvent): string {
  return keepaliveFailureIn(description) === "too-many"
    ? "Send keepalives less often, or allow them at the server (permit_keepalive_time)."
    : "The peer or the network went away without a reset: check the machine, and idle timeouts of load balancers.";
}

/** A number of things, with its noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The first few names of objects, and how many more there are. */
export function listNames(objects: readonly SnapshotObject[], max = 3): string {
  const shown = objects.slice(0, max).map(nameOf).join(", ");
  return objects.length <= max ? shown : `${shown} and ${objects.length - max} more`;
}
