import type { CallEnding } from "../../call-observer.js";
import { LatencyHistogram } from "./latency-histogram.js";

/** Call counts and latencies of a period. Latencies are in milliseconds, undefined without calls. */
export interface Figures {
  readonly calls: number;
  readonly failed: number;
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
}

export interface ServerFigures extends Figures {
  readonly server: string;
  /** Oldest first. */
  readonly points: readonly Figures[];
}

/** Figures of all servers at one moment. */
export interface StatisticsReport {
  readonly endMs: number;
  readonly windowMs: number;
  readonly total: ServerFigures;
  readonly servers: readonly ServerFigures[];
}

/** Counts the calls of each server in short intervals. */
export interface CallStatistics {
  /** Counts a call that ended at this time, default now. A call without a known server has an empty server name, and is part of the total only. */
  count(server: string, kind: CallEnding["kind"], durationMs: number, endMs?: number): void;
  /** The figures of the minute before a time, default now, and this many points of history. */
  report(endMs?: number, points?: number): StatisticsReport;
}

/** The length of an interval, in milliseconds, and how many are kept: 15 minutes. */
export const intervalMs = 5000;
const maxIntervals = 180;
/** How many intervals rates and latencies cover: one minute. */
const windowIntervals = 12;

/** The calls of one server that ended in one interval. */
interface Interval {
  /** The number of the interval since the epoch. */
  at: number;
  calls: number;
  failed: number;
  readonly latencies: LatencyHistogram;
}

export function createCallStatistics(now: () => number, maxServers = 1000): CallStatistics {
  const startMs = now();
  /** For each server a ring of intervals by their number: each is reused, so that counting allocates nothing. */
  const servers = new Map<string, Interval[]>();

  const ringOf = (server: string): Interval[] | undefined => {
    const known = servers.get(server);
    if (known !== undefined) return known;
    if (servers.size >= maxServers) {
      const oldest = Math.floor(now() / intervalMs) - maxIntervals;
      for (const [name, ring] of servers) if (ring.every(({ at }) => at <= oldest)) servers.delete(name);
      if (servers.size >= maxServers) return undefined;
    }
    const added: Interval[] = [];
    servers.set(server, added);
    return added;
  };

  const intervalsOf = (ring: readonly Interval[], from: number, to: number): Interval[] =>
    ring.filter(({ at }) => at > from && at <= to);

  const figuresOf = (intervals: readonly Interval[]): Figures => {
    const latencies = new LatencyHistogram();
    let [calls, failed] = [0, 0];
    for (const interval of intervals) {
      calls += interval.calls;
      failed += interval.failed;
      latencies.add(interval.latencies);
    }
    return { calls, failed, p50Ms: latencies.quantile(0.5), p95Ms: latencies.quantile(0.95) };
  };

  return {
    count(server, kind, durationMs, endMs = now()) {
      const ring = ringOf(server);
      if (ring === undefined) return;
      const at = Math.floor(endMs / intervalMs);
      let interval = ring[at % maxIntervals];
      if (interval === undefined) {
        interval = { at, calls: 0, failed: 0, latencies: new LatencyHistogram() };
        ring[at % maxIntervals] = interval;
      } else if (interval.at !== at) {
        interval.at = at;
        interval.calls = 0;
        interval.failed = 0;
        interval.latencies.clear();
      }
      interval.calls += 1;
      if (kind === "error" || kind === "tool-error") interval.failed += 1;
      if (kind !== "cancelled" && kind !== "input") interval.latencies.count(durationMs);
    },
    report(endMs = now(), points = 0) {
      const end = Math.min(endMs, now());
      const last = Math.floor(end / intervalMs);
      const first = Math.max(last - windowIntervals, Math.floor(startMs / intervalMs) - 1);
      const windowMs = Math.max(1000, end - Math.max((first + 1) * intervalMs, startMs));
      const oldest = Math.floor(now() / intervalMs) - maxIntervals;
      const shown = Math.min(points, maxIntervals);
      const describe = (server: string, ring: readonly Interval[]): ServerFigures => {
        return {
          server,
          ...figuresOf(intervalsOf(ring, first, last)),
          points: Array.from({ length: shown }, (_, index) => {
            const at = last - shown + 1 + index;
            return figuresOf(intervalsOf(ring, at - 1, at));
          }),
        };
      };
      const kept = [...servers].map(([name, ring]) => [name, intervalsOf(ring, oldest, last)] as const);
      const used = kept.filter(([, ring]) => ring.length > 0);
      return {
        endMs: end,
        windowMs,
        total: describe(
          "",
          used.flatMap(([, ring]) => ring),
        ),
        servers: used
          .filter(([name]) => name !== "")
          .map(([name, ring]) => describe(name, ring))
          .sort((a, b) => (a.server < b.server ? -1 : 1)),
      };
    },
  };
}
