export type { ObjectKind } from "../client/find-kinds.js";
export { type ChangeKind, changesIn, type TimelineChange } from "./changes.js";
export {
  type Counters,
  counterDifference,
  counterFields,
  inFlight,
  noCounters,
  ratesBetween,
  sumCounters,
} from "./counters.js";
export { applyDelta, type Delta, diffSnapshots, type ObjectChange } from "./delta.js";
export { type ReadSnapshotOptions, readSnapshot, readSnapshotOfAll } from "./read-snapshot.js";
export { type RecordingInMemory, readRecording } from "./recording/read-recording.js";
export { type SampleOptions, type Sampler, type SamplingCost, sample } from "./sample.js";
export { readSeries, type Series, type SeriesRequest } from "./series.js";
export {
  type ConnectivityStateName,
  createSnapshot,
  type ObjectKey,
  type Origin,
  objectKey,
  type Snapshot,
  type SnapshotObject,
} from "./snapshot.js";
export { snapshotSource } from "./snapshot-source.js";
export { type SocketEnd, type StitchedConnection, stitch } from "./stitch.js";
export {
  createTimeline,
  type GrowingTimeline,
  type Timeline,
  type TimelineListener,
  type TimelineOptions,
  type TimelineRange,
} from "./timeline.js";
export {
  createTimelineClient,
  createTimelineReader,
  type HistoryRequest,
  type TimelineClient,
  type TimelineHistory,
  type TimelineUpdate,
  type WatchOptions,
} from "./timeline-client.js";
export { type ServedTimeline, timelineRoutes } from "./timeline-routes.js";
export { createTimelineService, type TimelineServiceOptions, type TimelineServiceParts } from "./timeline-service.js";
