import { type Duration, durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { CallStatistics } from "@wirescope/gateway/admin";
import { applySoon } from "./batch.js";
import { callClient } from "./calls.js";
import { connection, keepStream } from "./connection.js";
import { chosenTime } from "./timeline.js";

/** Calls of one server in the minute before the moment that the page shows. Latencies are in milliseconds. */
export interface ServerStatistics {
  /** Empty for all servers together. */
  readonly server: string;
  readonly calls: number;
  readonly failed: number;
  readonly callsPerSecond: number;
  /** From 0 to 1. */
  readonly failureRate: number;
  /** Undefined without calls. */
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
  /** The last five minutes in intervals of five seconds, oldest first. */
  readonly points: readonly StatisticsPoint[];
}

export interface StatisticsPoint {
  readonly calls: number;
  readonly failed: number;
  readonly p95Ms: number | undefined;
}

/** The statistics of all servers together, and of each by name. */
export interface GatewayStatistics {
  readonly total: ServerStatistics;
  readonly servers: ReadonlyMap<string, ServerStatistics>;
}

const pollMs = 2000;
/** Five minutes. */
const points = 60;

const current = signal<GatewayStatistics | undefined>(undefined);

/** Rates and latencies at the moment that the page shows; undefined until they are loaded. */
export const callStatistics: ReadonlySignal<GatewayStatistics | undefined> = computed(() => current.value);

/** Reads the statistics every two seconds, and at once when another moment is chosen. */
export function watchCallStatistics(): () => void {
  return keepStream(false, async (session, signal, onMessage) => {
    if (!session.features.calls) {
      onMessage();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    }
    while (!signal.aborted) {
      const timeMs = chosenTime.peek();
      const endTime = timeMs === undefined ? {} : { endTime: timestampFromMs(timeMs) };
      const { total, servers } = await callClient.getCallStatistics({ points, ...endTime }, { signal });
      onMessage();
      if (total !== undefined) {
        const next = { total: read(total), servers: new Map(servers.map((each) => [each.server, read(each)])) };
        applySoon(current, () => {
          current.value = next;
        });
      }
      await nextRead(timeMs, signal);
      // The gateway may have been replaced meanwhile; then the session must be opened again first.
      if (connection.peek() !== "live" && connection.peek() !== "waiting") return;
    }
  });
}

/** Waits for the next poll, or until another moment is chosen. */
function nextRead(timeMs: number | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, pollMs);
    const stop = chosenTime.subscribe((now) => {
      if (now !== timeMs) queueMicrotask(end);
    });
    signal.addEventListener("abort", end);
  });
}

function read(statistics: CallStatistics): ServerStatistics {
  const { server, calls, failed, callsPerSecond, failureRate, p50, p95 } = statistics;
  return {
    server,
    calls: Number(calls),
    failed: Number(failed),
    callsPerSecond,
    failureRate,
    p50Ms: msOf(p50),
    p95Ms: msOf(p95),
    points: statistics.points.map((point) => ({ calls: point.calls, failed: point.failed, p95Ms: msOf(point.p95) })),
  };
}

function msOf(duration: Duration | undefined): number | undefined {
  return duration && durationMs(duration);
}
