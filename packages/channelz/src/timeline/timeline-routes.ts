import { create, type DescFile, toBinary } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ServiceImpl,
} from "@connectrpc/connect";
import {
  file_wirescope_v1_timeline,
  GetHistoryResponseSchema,
  GetSnapshotResponseSchema,
  SamplingCostSchema,
  SeriesSchema,
  TimelineChangeSchema,
  TimelineService,
  type WatchTimelineResponse,
  WatchTimelineResponseSchema,
} from "../gen/wirescope/v1/timeline_pb.js";
import { payloadRegistry } from "../schema.js";
import { diffSnapshots } from "./delta.js";
import { encodeSnapshot } from "./encode-snapshot.js";
import { deltaFrame, snapshotFrame } from "./frame.js";
import { type SamplingCost, wait } from "./sample.js";
import { readSeries } from "./series.js";
import type { Snapshot } from "./snapshot.js";
import type { Timeline } from "./timeline.js";
import { changeKinds, counterNumbers } from "./timeline-enums.js";

/** The timeline that the routes serve. */
export interface ServedTimeline {
  readonly timeline: Timeline;
  /** The cost of sampling; missing if this process does not sample. */
  readonly cost?: (() => SamplingCost) | undefined;
}

/** The schema of the service, for reflection. */
export const timelineFiles: readonly DescFile[] = [file_wirescope_v1_timeline];

/** The minimum time between two messages to one watcher. */
const minIntervalMs = 250;

/**
 * Serves a timeline, or a sampler, in any Connect router: `routes(router) { timelineRoutes(sampler)(router); }`. Every client that
 * can reach the server can read it: protect it like Channelz.
 */
export function timelineRoutes(
  served: ServedTimeline,
  options: ConnectRouterOptions = {},
): (router: ConnectRouter) => void {
  return (router) => {
    router.service(TimelineService, implement(served), {
      ...options,
      jsonOptions: { ...options.jsonOptions, registry: payloadRegistry },
    });
  };
}

/** The encoded messages of Watch. */
export async function* timelineMessages(
  { timeline, cost }: ServedTimeline,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const message of watch(timeline, cost, minIntervalMs, signal)) {
    yield toBinary(WatchTimelineResponseSchema, message);
  }
}

function implement({ timeline, cost }: ServedTimeline): ServiceImpl<typeof TimelineService> {
  return {
    watch: (request, { signal }) => watch(timeline, cost, Math.max(minIntervalMs, request.minIntervalMs), signal),
    getSnapshot({ timeMs }) {
      const snapshot = timeMs === 0n ? timeline.newest() : timeline.at(Number(timeMs));
      if (snapshot === undefined) {
        const reason =
          timeline.newest() === undefined
            ? "The timeline has no snapshot yet. Try again after the first sample."
            : "The timeline has no snapshot that old.";
        throw new ConnectError(reason, Code.NotFound);
      }
      return create(GetSnapshotResponseSchema, { snapshot: encodeSnapshot(snapshot) });
    },
    async getHistory(request) {
      if (request.series.length > 100) {
        throw new ConnectError("At most 100 series are read at a time.", Code.InvalidArgument);
      }
      const kept = timeline.range();
      const within = {
        ...(request.fromMs === 0n ? {} : { firstMs: Number(request.fromMs) }),
        ...(request.toMs === 0n ? {} : { lastMs: Number(request.toMs) }),
      };
      const maxChanges = Math.min(request.maxChanges > 0 ? request.maxChanges : 1000, 10_000);
      const maxPoints = Math.min(request.maxPoints > 0 ? request.maxPoints : 300, 2000);
      const changes = timeline.changes(within);
      const series = await readSeries(
        timeline,
        request.series.map(({ key, field }) => ({ key, field: counterNumbers.nameOf(field) })),
        { ...within, maxPoints },
      );
      return create(GetHistoryResponseSchema, {
        firstMs: BigInt(kept?.firstMs ?? 0),
        lastMs: BigInt(kept?.lastMs ?? 0),
        changes: changes.slice(-maxChanges).map((change) =>
          create(TimelineChangeSchema, {
            ...change,
            timeMs: BigInt(change.timeMs),
            kind: changeKinds.numberOf(change.kind),
          }),
        ),
        hasMoreChanges: changes.length > maxChanges,
        series: series.map(({ key, field, points }) =>
          create(SeriesSchema, {
            key,
            field: counterNumbers.numberOf(field),
            timesMs: points.map(({ timeMs }, index) => BigInt(timeMs - (points[index - 1]?.timeMs ?? 0))),
            values: points.map(({ value }) => value),
          }),
        ),
        ...encodeCost(cost),
      });
    },
  };
}

/**
 * Yields the newest snapshot, then the changes since the last message. The generator continues when the client has read the last
 * message, so a slow client gets one delta with everything it missed, and nothing queues.
 */
async function* watch(
  timeline: Timeline,
  cost: ServedTimeline["cost"],
  intervalMs: number,
  signal: AbortSignal,
): AsyncGenerator<WatchTimelineResponse> {
  let sent: Snapshot | undefined;
  let wake = (): void => {};
  const wakeUp = (): void => wake();
  const unsubscribe = timeline.subscribe(wakeUp);
  signal.addEventListener("abort", wakeUp);
  try {
    while (!signal.aborted) {
      const newest = timeline.newest();
      if (newest === undefined || newest === sent) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const frame = sent === undefined ? snapshotFrame(newest) : deltaFrame(sent, diffSnapshots(sent, newest));
      sent = newest;
      yield create(WatchTimelineResponseSchema, { frame, ...encodeCost(cost) });
      await wait(intervalMs, signal);
    }
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", wakeUp);
  }
}

function encodeCost(cost: ServedTimeline["cost"]): object {
  if (cost === undefined) return {};
  const { samples, skipped, intervalMs, lastMs, meanMs } = cost();
  return {
    cost: create(SamplingCostSchema, {
      samples: BigInt(samples),
      skipped: BigInt(skipped),
      intervalMs: BigInt(intervalMs),
      lastMs,
      meanMs,
    }),
  };
}
