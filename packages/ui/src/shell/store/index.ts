export {
  callStatistics,
  type ServerStatistics,
  watchCallStatistics,
} from "./call-statistics.js";
export {
  type CallDetail,
  type CallRow,
  calls,
  capture,
  missedCalls,
  type Outcome,
  readCall,
  setCapture,
} from "./calls.js";
export { addCommands, type Command, commandSources, useCommands } from "./commands.js";
export { type ConnectionState, connection, lastHeardMs } from "./connection.js";
export { type FoldedChange, foldRetries } from "./fold-retries.js";
export { watchLive } from "./live.js";
export { recording } from "./recording.js";
export { admin, followPastServers, putServer, reloadFailure, serverNamed, servers, shownServers } from "./servers.js";
export { isAdministrator, isRecordedTarget, type Session, session, sessionState } from "./session.js";
export { readSocket } from "./socket-details.js";
export {
  changes,
  chooseTime,
  chosenTime,
  closeRecording,
  distinctChanges,
  followMoment,
  liveSnapshot,
  missingTime,
  openRecording,
  rates,
  readHistory,
  readMoment,
  recordingError,
  samplingCost,
  shownTimeMs,
  snapshot,
  timeRange,
} from "./timeline.js";
