import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { type SamplingCost as CostMessage, TimelineService } from "../gen/wirescope/v1/timeline_pb.js";
import type { TimelineChange } from "./changes.js";
import { applyDelta, type Delta } from "./delta.js";
import { decodeDelta } from "./encode-delta.js";
import { decodeSnapshot } from "./encode-snapshot.js";
import type { SamplingCost } from "./sample.js";
import type { Series, SeriesRequest } from "./series.js";
import type { Snapshot } from "./snapshot.js";
import type { TimelineRange } from "./timeline.js";
import { changeKinds, counterNumbers } from "./timeline-enums.js";

/** A moment of a watched timeline. */
export interface TimelineUpdate {
  /** Objects that did not change are those of the snapshot before. */
  readonly snapshot: Snapshot;
  /** What changed since the update before; absent in the first. */
  readonly delta?: Delta | undefined;
  /** Absent if the process that serves the timeline does not sample it. */
  readonly cost?: SamplingCost | undefined;
}

/** What a timeline keeps. */
export interface TimelineHistory {
  /** Absent if nothing is kept. */
  readonly range?: TimelineRange | undefined;
  /** Oldest first. */
  readonly changes: readonly TimelineChange[];
  /** Whether older changes in the range were left out. */
  readonly hasMoreChanges: boolean;
  readonly series: readonly Series[];
  readonly cost?: SamplingCost | undefined;
}

/** Which part of a history to read. */
export interface HistoryRequest extends Partial<TimelineRange> {
  /** The newest so many. Default 1000. */
  readonly maxChanges?: number | undefined;
  readonly series?: readonly SeriesRequest[] | undefined;
  /** Default 300, at most 2000. */
  readonly maxPoints?: number | undefined;
}

/** Reads the timeline of another process. All methods reject with a ConnectError. */
export interface TimelineClient {
  /**
   * The newest snapshot, then each change, until the loop ends or the signal aborts. If the connection breaks, it throws:
   * call it again to continue.
   */
  watch(options?: WatchOptions): AsyncGenerator<TimelineUpdate, void, undefined>;
  /** The snapshot at a time; undefined if the timeline has none that old. */
  at(timeMs: number, options?: { readonly signal?: AbortSignal | undefined }): Promise<Snapshot | undefined>;
  history(request?: HistoryRequest, options?: { readonly signal?: AbortSignal | undefined }): Promise<TimelineHistory>;
}

/** How a timeline is watched. */
export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
  /** The shortest time between two updates. Default 250, which is also the minimum. */
  readonly minIntervalMs?: number | undefined;
}

/** Creates a client for the timeline service, for browsers and Node. */
export function createTimelineClient(transport: Transport): TimelineClient {
  const client = createClient(TimelineService, transport);
  return {
    async *watch({ signal, minIntervalMs = 0 } = {}) {
      const left = new AbortController();
      const both = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
      let snapshot: Snapshot | undefined;
      try {
        for await (const { frame, cost } of client.watch({ minIntervalMs }, { signal: both })) {
          let delta: Delta | undefined;
          if (frame?.content.case === "snapshot") snapshot = decodeSnapshot(frame.content.value);
          else if (frame?.content.case === "delta" && snapshot !== undefined) {
            delta = decodeDelta(snapshot, frame.content.value);
            snapshot = applyDelta(snapshot, delta);
          } else throw new ConnectError("The server sent a change before a snapshot.", Code.Internal);
          yield { snapshot, delta, cost: decodeCost(cost) };
        }
      } catch (error) {
        if (!signal?.aborted) throw ConnectError.from(error);
      } finally {
        // Connect keeps a stream open until its signal aborts, also if the loop ended.
        left.abort();
      }
    },
    async at(timeMs, { signal } = {}) {
      try {
        const { snapshot } = await client.getSnapshot({ timeMs: BigInt(Math.trunc(timeMs)) }, signal && { signal });
        return snapshot && decodeSnapshot(snapshot);
      } catch (error) {
        if (ConnectError.from(error).code === Code.NotFound) return undefined;
        throw error;
      }
    },
    async history(request = {}, { signal } = {}) {
      const { firstMs = 0, lastMs = 0, maxChanges = 0, maxPoints = 0, series = [] } = request;
      const response = await client.getHistory(
        {
          fromMs: BigInt(Math.trunc(firstMs)),
          toMs: BigInt(Math.trunc(lastMs)),
          maxChanges,
          maxPoints,
          series: series.map(({ key, field }) => ({ key, field: counterNumbers.numberOf(field) })),
        },
        signal && { signal },
      );
      const isEmpty = response.lastMs === 0n;
      return {
        ...(isEmpty ? {} : { range: { firstMs: Number(response.firstMs), lastMs: Number(response.lastMs) } }),
        changes: response.changes.map(({ timeMs, kind, key, text }) => ({
          timeMs: Number(timeMs),
          kind: changeKinds.nameOf(kind),
          key,
          text,
        })),
        hasMoreChanges: response.hasMoreChanges,
        series: response.series.map(({ key, field, timesMs, values }) => {
          let timeMs = 0;
          const points = values.map((value, index) => {
            timeMs += Number(timesMs[index] ?? 0n);
            return { timeMs, value };
          });
          return { key, field: counterNumbers.nameOf(field), points };
        }),
        cost: decodeCost(response.cost),
      };
    },
  };
}

function decodeCost(cost: CostMessage | undefined): SamplingCost | undefined {
  if (cost === undefined) return undefined;
  const { samples, skipped, intervalMs, lastMs, meanMs } = cost;
  return { samples: Number(samples), skipped: Number(skipped), intervalMs: Number(intervalMs), lastMs, meanMs };
}
