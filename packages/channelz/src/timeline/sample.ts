import { isEncodedSource } from "../encoded-source.js";
import type { Source } from "../source.js";
import { createEncodedReader } from "./encoded-reader.js";
import { type ReadSnapshotOptions, readSnapshot } from "./read-snapshot.js";
import { createSnapshot, type Snapshot, type SnapshotObject } from "./snapshot.js";
import { createTimeline, type GrowingTimeline, type TimelineOptions } from "./timeline.js";

/** How a source is sampled. */
export interface SampleOptions extends Omit<ReadSnapshotOptions, "signal">, TimelineOptions {
  /** The time from one sample to the next, in milliseconds. Default 1000. */
  readonly intervalMs?: number | undefined;
  /** Ends sampling. */
  readonly signal?: AbortSignal | undefined;
  /** The timeline to append to. Default: a new one. */
  readonly timeline?: GrowingTimeline | undefined;
}

/** What sampling costs this process. */
export interface SamplingCost {
  readonly samples: number;
  /** Beats that were skipped, because the sample before was not finished. */
  readonly skipped: number;
  readonly intervalMs: number;
  /** How long the last sample took: reading, comparing and storing. */
  readonly lastMs: number;
  /** The mean of recent samples. */
  readonly meanMs: number;
}

/** A source that is being sampled. */
export interface Sampler {
  readonly timeline: GrowingTimeline;
  cost(): SamplingCost;
  /** Ends sampling; a read in progress is cancelled. */
  stop(): void;
  /** Resolves when sampling has ended; rejects if a listener of the timeline threw. */
  readonly ended: Promise<void>;
}

/**
 * Samples a source at an interval into a timeline. A sample that takes longer than the interval skips beats, so nothing queues.
 * If a process does not respond, its objects stay as they were, marked as unreadable, until a read succeeds.
 */
export function sample(source: Source, options: SampleOptions = {}): Sampler {
  const { intervalMs = 1000, timeline = createTimeline(options), ...readOptions } = options;
  const maxObjects = options.maxObjects ?? 100_000;
  const stopped = new AbortController();
  const signal = options.signal === undefined ? stopped.signal : AbortSignal.any([options.signal, stopped.signal]);
  // The wall clock may be set back; the time between two samples must not be.
  const startMs = Date.now() - performance.now();
  const cost = { samples: 0, skipped: 0, intervalMs, lastMs: 0, meanMs: 0 };

  // Registries of this process are sampled all the time, also in production.
  const read: (options: ReadSnapshotOptions) => Promise<Snapshot> =
    isEncodedSource(source) && !options.socketDetails
      ? createEncodedReader(source)
      : (each) => readSnapshot(source, each);

  async function takeSample(): Promise<void> {
    const begin = performance.now();
    const last = timeline.newest();
    let snapshot: Snapshot;
    try {
      snapshot = await read({ ...readOptions, signal });
    } catch (error) {
      if (signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      const origins = last?.origins ?? [{ name: "", target: options.target ?? "" }];
      snapshot = createSnapshot({
        timeMs: 0,
        origins: origins.map((origin) => ({ ...origin, error: reason })),
        objects: [],
        stoppedBy: reason,
      });
    }
    if (signal.aborted) return;
    const timeMs = Math.round(startMs + performance.now());
    timeline.append(keepUnread(last, { ...snapshot, timeMs }, maxObjects));
    cost.lastMs = performance.now() - begin;
    cost.samples += 1;
    const weight = Math.max(1 / cost.samples, 1 / 30);
    cost.meanMs += (cost.lastMs - cost.meanMs) * weight;
  }

  async function run(): Promise<void> {
    let beat = performance.now();
    while (!signal.aborted) {
      await takeSample();
      const missed = Math.floor((performance.now() - beat) / intervalMs);
      cost.skipped += missed;
      beat += (missed + 1) * intervalMs;
      await wait(beat - performance.now(), signal);
    }
  }

  return { timeline, cost: () => ({ ...cost }), stop: () => stopped.abort(), ended: run() };
}

/** The snapshot with the objects of the last one that were not read this time: they are unknown, which is not gone. */
function keepUnread(last: Snapshot | undefined, read: Snapshot, maxObjects: number): Snapshot {
  const errors = new Map(read.origins.map(({ name, error }) => [name, error]));
  if (last === undefined || (read.isComplete && [...errors.values()].every((error) => error === undefined)))
    return read;
  const kept: SnapshotObject[] = [];
  for (const object of last.objects.values()) {
    const reason = errors.get(object.origin) ?? read.stoppedBy;
    if (reason === undefined || read.objects.has(object.key)) continue;
    if (read.objects.size + kept.length >= maxObjects) break;
    kept.push(object.unreadable === reason ? object : { ...object, unreadable: reason });
  }
  return kept.length === 0 ? read : createSnapshot({ ...read, objects: [...read.objects.values(), ...kept] });
}

/** Waits, or less if the signal aborts. */
export async function wait(delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.max(0, delayMs));
    signal.addEventListener("abort", finish);
  });
}
