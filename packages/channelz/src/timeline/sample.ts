import { isEncodedSource } from "../encoded-source.js";
import type { Source } from "../source.js";
import { createEncodedReader } from "./encoded-reader.js";
import { originError, type ReadSnapshotOptions, readSnapshot } from "./read-snapshot.js";
import { createSnapshot, type Snapshot, type SnapshotObject } from "./snapshot.js";
import { createTimeline, type GrowingTimeline, type TimelineOptions } from "./timeline.js";

/** Options for sampling a source. */
export interface SampleOptions extends Omit<ReadSnapshotOptions, "signal">, TimelineOptions {
  /** The sampling interval, in milliseconds. Default 1000. */
  readonly intervalMs?: number | undefined;
  /** Ends sampling. */
  readonly signal?: AbortSignal | undefined;
  /** The timeline to append to. Default: a new one. */
  readonly timeline?: GrowingTimeline | undefined;
}

/** The cost of sampling for this process. */
export interface SamplingCost {
  readonly samples: number;
  /** The number of samples that were skipped, because the previous one was not finished. */
  readonly skipped: number;
  readonly intervalMs: number;
  /** The duration of the last sample: reading, comparing and storing. */
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
 * Samples a source at an interval into a timeline. If a sample takes longer than the interval, the next ones are skipped, so nothing
 * queues. If a process does not respond, its last objects are kept, marked as unreadable, until a read succeeds. Throws a TypeError if
 * the interval is not positive.
 */
export function sample(source: Source, options: SampleOptions = {}): Sampler {
  const { intervalMs = 1000, timeline = createTimeline(options), ...readOptions } = options;
  if (!(intervalMs > 0)) throw new TypeError(`intervalMs must be a positive number, not ${intervalMs}.`);
  const maxObjects = options.maxObjects ?? 100_000;
  const stopped = new AbortController();
  const signal = options.signal === undefined ? stopped.signal : AbortSignal.any([options.signal, stopped.signal]);
  // The wall clock may be set back, but samples must stay in order.
  const startMs = Date.now() - performance.now();
  const cost = { samples: 0, skipped: 0, intervalMs, lastMs: 0, meanMs: 0 };

  // The faster reader for registries of this process, which may be sampled all the time in production.
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
      const failure = originError(error);
      const origins = last?.origins ?? [{ name: "", target: options.target ?? "" }];
      snapshot = createSnapshot({
        timeMs: 0,
        origins: origins.map(({ name, target }) => ({ name, target, ...failure })),
        objects: [],
        stoppedBy: failure.error,
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
    let dueAt = performance.now();
    while (!signal.aborted) {
      await takeSample();
      // Not negative: a timer may end up to a millisecond early, and then the next sample would be taken at once.
      const missed = Math.max(0, Math.floor((performance.now() - dueAt) / intervalMs));
      cost.skipped += missed;
      dueAt += (missed + 1) * intervalMs;
      await wait(dueAt - performance.now(), signal);
    }
  }

  return { timeline, cost: () => ({ ...cost }), stop: () => stopped.abort(), ended: run() };
}

/** Adds the objects of the last snapshot that could not be read this time: they are unknown, but may still exist. */
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

/** Waits until the delay has passed or the signal is aborted. */
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
