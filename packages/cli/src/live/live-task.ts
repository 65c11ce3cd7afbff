import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type Sampler,
  type SamplingCost,
  type Snapshot,
  sample,
  type Timeline,
  type TimelineRange,
} from "@wirescope/channelz/timeline";
import type { TargetConnections } from "../connect-by-options.js";
import type { Io } from "../io.js";
import { parseCount, parseDuration } from "../option-values.js";
import type { Screen } from "../output/screen.js";
import { UsageError } from "../usage-error.js";

/** The history that a command shows: one that grows while processes are sampled, or a recording. */
export interface LiveHistory {
  readonly timeline: Timeline;
  cost(): SamplingCost;
  /** Undefined if processes are sampled. */
  readonly recorded?: RecordedHistory | undefined;
}

/** Which part of a recording is shown. */
export interface RecordedHistory {
  /** The moment that the user chose; undefined if none. */
  readonly chosenMs: number | undefined;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Samples that follow each other more closely are skipped. */
  readonly intervalMs: number;
}

/** The context of a command that samples processes. */
export interface LiveTask<T> {
  readonly sampler: LiveHistory;
  readonly screen: Screen;
  readonly io: Io;
  readonly values: T;
  readonly positionals: readonly string[];
  /** Aborted when the user interrupts the command. */
  readonly signal: AbortSignal;
  /** Ends the command as an interrupt does. */
  stop(): void;
}

/** About a minute of history, enough for rates and recent changes. */
const historyBytes = 2 ** 24;

/** Samples all targets of a command. */
export function startSampling(
  { source, parts }: Pick<TargetConnections, "source" | "parts">,
  options: {
    readonly interval: string | undefined;
    readonly "max-objects": string | undefined;
    readonly socketDetails?: boolean | undefined;
  },
  signal: AbortSignal,
): Sampler {
  const { interval, socketDetails } = options;
  const intervalMs = interval === undefined ? 1000 : parseDuration(interval, "--interval");
  const maxObjects = parseCount(options["max-objects"], "--max-objects");
  // With several targets, the error names the first if none responds.
  const target = parts.length === 1 ? (parts[0]?.name ?? "") : "";
  return sample(source, { intervalMs, signal, socketDetails, maxObjects, maxBytes: historyBytes, target });
}

/** Opens the recording that is the only target of a command; undefined if the targets are processes. Throws a UsageError. */
export async function openHistory(
  { parts }: Pick<TargetConnections, "parts">,
  interval: string | undefined,
): Promise<(LiveHistory & { close(): void }) | undefined> {
  const { openMoment, recordingPrefix } = await import("../recorded-target.js");
  const [first] = parts;
  if (first === undefined || !parts.some(({ target }) => target.startsWith(recordingPrefix))) return undefined;
  if (parts.length > 1) {
    throw new UsageError(
      "This command reads one recording at a time. To see several processes together, record them into one file: wirescope record FILE --target A --target B",
    );
  }
  const { recording, timeMs, isChosen } = openMoment(first.target);
  const { firstMs, lastMs } = recording.range() ?? { firstMs: 0, lastMs: 0 };
  const intervalMs = interval === undefined ? 0 : parseDuration(interval, "--interval");
  return {
    timeline: recording,
    cost: () => ({ samples: 0, skipped: 0, intervalMs, lastMs: 0, meanMs: 0 }),
    recorded: { chosenMs: isChosen ? timeMs : undefined, firstMs, lastMs, intervalMs },
    close: recording.close,
  };
}

/**
 * Calls back for every snapshot, including the newest one, until the callback returns a value or the signal aborts. For a recording:
 * for those `within` a range, as fast as they can be read.
 */
export function eachSnapshot<T>(
  { timeline, recorded }: LiveHistory,
  signal: AbortSignal,
  onSnapshot: (snapshot: Snapshot, before: Snapshot | undefined) => T | undefined,
  within: Partial<TimelineRange> = {},
): Promise<T | undefined> {
  if (recorded !== undefined) return eachRecorded(timeline, { ...recorded, ...within }, signal, onSnapshot);
  return new Promise((resolve, reject) => {
    let last: Snapshot | undefined;
    const finish = (value: T | undefined): void => {
      unsubscribe();
      signal.removeEventListener("abort", onAbort);
      resolve(value);
    };
    const onAbort = (): void => finish(undefined);
    const take = (snapshot: Snapshot): void => {
      try {
        const value = onSnapshot(snapshot, last);
        last = snapshot;
        if (value !== undefined) finish(value);
      } catch (error) {
        finish(undefined);
        reject(error);
      }
    };
    const unsubscribe = timeline.subscribe(take);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) return finish(undefined);
    const newest = timeline.newest();
    if (newest !== undefined) take(newest);
  });
}

async function eachRecorded<T>(
  timeline: Timeline,
  { firstMs, lastMs, intervalMs }: RecordedHistory,
  signal: AbortSignal,
  onSnapshot: (snapshot: Snapshot, before: Snapshot | undefined) => T | undefined,
): Promise<T | undefined> {
  let last: Snapshot | undefined;
  for (const snapshot of timeline.snapshots({ firstMs, lastMs })) {
    // Lets Ctrl-C interrupt a long recording.
    await nextTurn();
    if (signal.aborted) return undefined;
    if (last !== undefined && snapshot.timeMs - last.timeMs < intervalMs) continue;
    const value = onSnapshot(snapshot, last);
    if (value !== undefined) return value;
    last = snapshot;
  }
  return undefined;
}
