import { randomBytes } from "node:crypto";
import type { PhaseSubject } from "@wirescope/tool-server";
import { InFlightMap } from "@wirescope/tool-server/internal";
import type { CallObserver } from "../../call-observer.js";
import { targetOf } from "../../call-target.js";
import type { ClientCall } from "../../client-call.js";
import { loggedReason } from "../../logged-reason.js";
import { CallRecord, maxTextLength } from "./call-record.js";
import { type CallStatistics, createCallStatistics } from "./call-statistics.js";
import { type Capture, type CaptureOptions, createCapture } from "./capture.js";
import { type ObjectIds, RecordedPhases } from "./recorded-phases.js";
import { createSharedWork } from "./shared-work.js";

/** Keeps the latest calls in memory, with their phases. */
export interface CallLog extends CallObserver {
  readonly statistics: CallStatistics;
  readonly capture: Capture;
  /** The start of every id, which distinguishes this gateway from those that ran before. */
  readonly prefix: string;
  /** Calls that have not ended, in the order in which they started. */
  running(): Iterable<CallRecord>;
  /** How many calls have ended since the start. */
  readonly endedCount: number;
  /** The calls that ended after the first `count` ones, as far as they are kept, in the order in which they ended. */
  endedSince(count: number): readonly CallRecord[];
  find(id: string): CallRecord | undefined;
  /** The Channelz ids of the objects that a phase uses. */
  idsOf(subject: PhaseSubject): ObjectIds;
  /** Calls the listener when a call starts or ends, or the capture changes. Returns an unsubscribe function. */
  watch(listener: () => void): () => void;
  readonly watchers: number;
  close(): void;
}

export interface CallLogOptions extends CaptureOptions {
  /** How many ended calls are kept. Default 2000. */
  readonly maxCalls?: number | undefined;
  /** How much memory they take, without bodies, in bytes. Default 4 MiB. */
  readonly maxBytes?: number | undefined;
  /** The id of the Channelz object that shows a connection, a transport or a socket. */
  readonly objectId: (subject: PhaseSubject) => number | undefined;
  readonly now: () => number;
  /** Reports an exception of the log, which must not disturb the call. */
  readonly onDefect: (error: unknown) => void;
}

export function createCallLog(options: CallLogOptions): CallLog {
  const { maxCalls = 2000, maxBytes = 4 * 1024 * 1024, objectId, now, redact } = options;
  const shared = createSharedWork(options.onDefect);
  const statistics = createCallStatistics(now);
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  const capture = createCapture({ ...options, onChange: changed });
  const prefix = `${randomBytes(3).toString("hex")}-`;
  const running = new InFlightMap<ClientCall, CallRecord>();
  const kept: (CallRecord | undefined)[] = new Array(maxCalls);
  let startedCount = 0;
  let endedCount = 0;
  let keptCount = 0;
  let bytes = 0;

  /** Calls use the same few sockets again and again. */
  const knownIds = new WeakMap<PhaseSubject, ObjectIds>();
  const idsOf = (subject: PhaseSubject): ObjectIds => {
    let ids = knownIds.get(subject);
    if (ids === undefined) {
      ids = readIds(subject, objectId);
      knownIds.set(subject, ids);
    }
    return ids;
  };

  const dropOldest = (): void => {
    const index = (endedCount - keptCount) % maxCalls;
    const oldest = kept[index];
    kept[index] = undefined;
    keptCount -= 1;
    if (oldest === undefined) return;
    bytes -= oldest.bytes;
    capture.drop(oldest);
  };
  const keep = (record: CallRecord): void => {
    if (keptCount === maxCalls) dropOldest();
    kept[endedCount % maxCalls] = record;
    endedCount += 1;
    keptCount += 1;
    bytes += record.bytes;
    while (bytes > maxBytes && keptCount > 1) dropOldest();
  };
  const endedSince = (count: number): CallRecord[] => {
    const found: CallRecord[] = [];
    for (let at = Math.max(count, endedCount - keptCount); at < endedCount; at += 1) {
      const record = kept[at % maxCalls];
      if (record !== undefined) found.push(record);
    }
    return found;
  };

  return {
    statistics,
    capture,
    prefix,
    get endedCount() {
      return endedCount;
    },
    get watchers() {
      return listeners.size;
    },
    started(call) {
      const phases = new RecordedPhases(call.startedAt, shared);
      call.phases = phases;
      startedCount += 1;
      const record = new CallRecord(startedCount, now(), call, phases);
      running.add(call, record);
      if (capture.isOn()) capture.request(record, call);
      if (listeners.size > 0) changed();
    },
    ended(call, ending) {
      const record = running.get(call);
      if (record === undefined) return;
      running.delete(call);
      call.phases = undefined;
      const { kind, error, durationMs } = ending;
      const target = targetOf(call, error);
      const { server } = target;
      const durationUs = Math.round(durationMs * 1000);
      record.phases.finish(durationUs, kind === "error" || kind === "cancelled", idsOf);
      const reason =
        error && loggedReason(error.message, call.params, maxTextLength, (text) => redact(text, server, "own"));
      record.end(target, kind, durationUs, reason);
      if (record.body !== undefined) capture.response(record, call);
      keep(record);
      // Not the current time: reading the clock costs as much as the rest.
      if (server !== undefined || call.method === "tools/call") {
        statistics.count(server ?? "", kind, durationMs, record.startMs + durationMs);
      }
      if (listeners.size > 0) changed();
    },
    *running() {
      for (const [call, record] of running.entries()) {
        record.setTarget(targetOf(call));
        yield record;
      }
    },
    endedSince,
    idsOf,
    find(id) {
      if (!id.startsWith(prefix)) return undefined;
      const number = Number(id.slice(prefix.length));
      for (const [call, record] of running.entries()) {
        if (record.number !== number) continue;
        record.setTarget(targetOf(call));
        return record;
      }
      return endedSince(0).find((record) => record.number === number);
    },
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      shared.close();
      capture.close();
      listeners.clear();
    },
  };
}

/** The ids of an object and of those above it. */
function readIds(subject: PhaseSubject, objectId: CallLogOptions["objectId"]): ObjectIds {
  const socket = "transport" in subject ? subject : undefined;
  const transport = socket?.transport ?? ("connection" in subject ? subject : undefined);
  const connection = transport === undefined ? subject : transport.connection;
  return {
    channel: objectId(connection) ?? 0,
    subchannel: (transport && objectId(transport)) ?? 0,
    socket: (socket && objectId(socket)) ?? 0,
  };
}
