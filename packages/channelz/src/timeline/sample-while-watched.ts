import type { Source } from "../source.js";
import { type SampleOptions, type Sampler, type SamplingCost, sample } from "./sample.js";
import { createTimeline, type Timeline } from "./timeline.js";

/** Options for sampling a source for watchers. */
export interface SampleWhileWatchedOptions extends Omit<SampleOptions, "timeline"> {
  /** The sampling interval without watchers, in milliseconds. Default: no samples are taken then. */
  readonly idleIntervalMs?: number | undefined;
  /** How long sampling continues after the last watcher has left, so that a page reload misses nothing. Default 30,000. */
  readonly lingerMs?: number | undefined;
}

/** A timeline that costs little without watchers. */
export interface WatchedTimeline {
  readonly timeline: Timeline;
  cost(): SamplingCost;
  /** Ends sampling; a read in progress is cancelled. */
  stop(): void;
}

/** Samples a source at `intervalMs` while the timeline has subscribers, and less often, or not at all, while it has none. */
export function sampleWhileWatched(source: Source, options: SampleWhileWatchedOptions = {}): WatchedTimeline {
  const { idleIntervalMs, lingerMs = 30_000, intervalMs = 1000, ...rest } = options;
  const kept = createTimeline(options);
  const past = { samples: 0, skipped: 0 };
  let sampler: Sampler | undefined;
  let last: SamplingCost = { samples: 0, skipped: 0, intervalMs, lastMs: 0, meanMs: 0 };
  let watchers = 0;
  let isStopped = false;
  let leaving: ReturnType<typeof setTimeout> | undefined;

  const cost = (): SamplingCost => {
    const current = sampler?.cost();
    if (current !== undefined && current.samples > 0) last = current;
    return {
      ...last,
      intervalMs: current?.intervalMs ?? last.intervalMs,
      samples: past.samples + (current?.samples ?? 0),
      skipped: past.skipped + (current?.skipped ?? 0),
    };
  };
  const sampleEvery = (everyMs: number | undefined): void => {
    if (everyMs === sampler?.cost().intervalMs || isStopped) return;
    const { samples, skipped } = cost();
    sampler?.stop();
    Object.assign(past, { samples, skipped });
    sampler = everyMs === undefined ? undefined : sample(source, { ...rest, intervalMs: everyMs, timeline: kept });
    // A listener that throws must not end the process.
    sampler?.ended.catch(() => {});
  };
  const onLeft = (): void => {
    leaving = setTimeout(() => sampleEvery(idleIntervalMs), lingerMs);
    // Only in Node: sampling must not keep the process alive.
    if (typeof leaving === "object" && "unref" in leaving) (leaving as { unref(): void }).unref();
  };
  sampleEvery(idleIntervalMs);

  return {
    cost,
    timeline: {
      ...kept,
      subscribe(listener) {
        const unsubscribe = kept.subscribe(listener);
        watchers += 1;
        clearTimeout(leaving);
        sampleEvery(intervalMs);
        let isWatching = true;
        return () => {
          unsubscribe();
          if (!isWatching) return;
          isWatching = false;
          watchers -= 1;
          if (watchers === 0) onLeft();
        };
      },
    },
    stop() {
      isStopped = true;
      clearTimeout(leaving);
      sampler?.stop();
    },
  };
}
