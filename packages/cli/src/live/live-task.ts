import { type Sampler, type Snapshot, sample } from "@wirescope/channelz/timeline";
import type { TargetConnections } from "../connect-by-options.js";
import type { Io } from "../io.js";
import { parseCount, parseDuration } from "../option-values.js";
import type { Screen } from "../output/screen.js";

/** What a command that samples processes works with. */
export interface LiveTask<T> {
  readonly sampler: Sampler;
  readonly screen: Screen;
  readonly io: Io;
  readonly values: T;
  readonly positionals: readonly string[];
  /** Aborted when the user interrupts the command. */
  readonly signal: AbortSignal;
  /** Ends the command as an interrupt does. */
  stop(): void;
}

/** A minute of history is enough for rates and for a look at what has just changed. */
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
  const target = parts[0]?.name ?? "";
  return sample(source, { intervalMs, signal, socketDetails, maxObjects, maxBytes: historyBytes, target });
}

/** Calls back for every snapshot, the newest one included, until the callback returns a value or the signal aborts. */
export function eachSnapshot<T>(
  { timeline }: Sampler,
  signal: AbortSignal,
  onSnapshot: (snapshot: Snapshot, before: Snapshot | undefined) => T | undefined,
): Promise<T | undefined> {
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
