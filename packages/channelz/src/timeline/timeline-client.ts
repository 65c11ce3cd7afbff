import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  type SamplingCost as CostMessage,
  TimelineService,
  type WatchTimelineResponse,
  WatchTimelineResponseSchema,
} from "../gen/wirescope/v1/timeline_pb.js";
import type { TimelineChange } from "./changes.js";
import { applyDelta, type Delta } from "./delta.js";
import { decodeDelta } from "./encode-delta.js";
import { decodeSnapshot } from "./encode-snapshot.js";
import type { SamplingCost } from "./sample.js";
import type { Series, SeriesRequest } from "./series.js";
import type { Snapshot } from "./snapshot.js";
import type { TimelineRange } from "./timeline.js";
import { changeKinds, counterNumbers } from "./timeline-enums.js";

/** An update of a watched timeline. */
export interface TimelineUpdate {
  /** Unchanged objects are identical to those of the previous snapshot. */
  readonly snapshot: Snapshot;
  /** The changes since the previous update; missing in the first. */
  readonly delta?: Delta | undefined;
  /** Missing if the process that serves the timeline does not sample it. */
  readonly cost?: SamplingCost | undefined;
}

/** The history of a timeline. */
export interface TimelineHistory {
  /** Missing if the history is empty. */
  readonly range?: TimelineRange | undefined;
  /** Oldest first. */
  readonly changes: readonly TimelineChange[];
  /** Whether older changes in the range were left out. */
  readonly hasMoreChanges: boolean;
  readonly series: readonly Series[];
  readonly cost?: SamplingCost | undefined;
}

/** The part of a history to read. */
export interface HistoryRequest extends Partial<TimelineRange> {
  /** The maximum number of changes; the newest are returned. Default 1000. */
  readonly maxChanges?: number | undefined;
  readonly series?: readonly SeriesRequest[] | undefined;
  /** Default 300, at most 2000. */
  readonly maxPoints?: number | undefined;
}

/** Reads the timeline of another process. All methods reject with a ConnectError. */
export interface TimelineClient {
  /**
   * The newest snapshot, then each change, until the loop ends or the signal is aborted. Throws if the connection is lost: call it
   * again to continue.
   */
  watch(options?: WatchOptions): AsyncGenerator<TimelineUpdate, void, undefined>;
  /** The snapshot at a time; undefined if the timeline has none that old. */
  at(timeMs: number, options?: { readonly signal?: AbortSignal | undefined }): Promise<Snapshot | undefined>;
  history(request?: HistoryRequest, options?: { readonly signal?: AbortSignal | undefined }): Promise<TimelineHistory>;
}

/** Options for watching a timeline. */
export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
  /** The minimum time between two updates, in milliseconds. Default 250, which is also the lowest value. */
  readonly minIntervalMs?: number | undefined;
}

/** Returns a function that reads one encoded message of Watch after the other. It throws if a change arrives before a snapshot. */
export function createTimelineReader(): (message: Uint8Array) => TimelineUpdate {
  const read = createReader();
  return (message) => read(fromBinary(WatchTimelineResponseSchema, message));
}

function createReader(): (message: WatchTimelineResponse) => TimelineUpdate {
  let snapshot: Snapshot | undefined;
  return ({ frame, cost }) => {
    let delta: Delta | undefined;
    if (frame?.content.case === "snapshot") snapshot = decodeSnapshot(frame.content.value);
    else if (frame?.content.case === "delta" && snapshot !== undefined) {
      delta = decodeDelta(snapshot, frame.content.value);
      snapshot = applyDelta(snapshot, delta);
    } else throw new ConnectError("The server sent a change before a snapshot.", Code.Internal);
    return { snapshot, delta, cost: decodeCost(cost) };
  };
}

/** Creates a client for the timeline service, for browsers and Node. */
export function createTimelineClient(transport: Transport): TimelineClient {
  const client = createClient(TimelineService, transport);
  return {
    async *watch({ signal, minIntervalMs = 0 } = {}) {
      const left = new AbortController();
      const both = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
      const read = createReader();
      try {
        for await (const message of client.watch({ minIntervalMs }, { signal: both })) yield read(message);
      } catch (error) {
        if (!signal?.aborted) throw ConnectError.from(error);
      } finally {
        // Connect keeps a stream open until its signal is aborted, even if the loop has ended.
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
        changes: response.changes.map(({ timeMs, kind, key, name, text }) => ({
          timeMs: Number(timeMs),
          kind: changeKinds.nameOf(kind),
          key,
          name,
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
