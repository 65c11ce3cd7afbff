import { setTimeout as pause } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { eachChange } from "@wirescope/channelz/internal";
import {
  type Call as CallMessage,
  type WatchCallsResponse,
  WatchCallsResponseSchema,
} from "../../gen/wirescope/v1/calls_pb.js";
import type { CallLog } from "./call-log.js";
import { captureToMessage } from "./call-message.js";
import type { CallRecord } from "./call-record.js";

/** Minimum milliseconds between two messages to one watcher. */
const pauseMs = 250;
/** The maximum number of ended calls in one message after the first. */
const maxBatch = 500;

/**
 * Yields the latest calls, then those that started or ended, until the signal aborts. Nothing is buffered for a watcher: each message is
 * read from the log when the watcher is ready for it.
 */
export async function* watchCalls(
  log: CallLog,
  recent: number,
  toMessage: (record: CallRecord) => CallMessage,
  signal: AbortSignal,
): AsyncGenerator<WatchCallsResponse> {
  let cursor: number | undefined;
  let lastStarted = 0;
  /** Calls that were sent before their server was known. */
  let withoutServer: ReadonlySet<number> = new Set();
  for await (const _ of eachChange(log.watch, signal)) {
    const isFirst = cursor === undefined;
    const ended = isFirst ? lastOf(log.endedSince(0), recent) : lastOf(log.endedSince(cursor ?? 0), maxBatch);
    const skipped = cursor === undefined ? 0 : log.endedCount - cursor - ended.length;
    cursor = log.endedCount;
    const running = [...log.running()];
    const shown = running.filter(
      ({ number, server }) =>
        skipped > 0 || number > lastStarted || (server !== undefined && withoutServer.has(number)),
    );
    withoutServer = new Set(running.filter(({ server }) => server === undefined).map(({ number }) => number));
    lastStarted = Math.max(lastStarted, ...running.map(({ number }) => number));
    const calls = [...ended, ...shown].sort((a, b) => a.number - b.number).map(toMessage);
    yield create(WatchCallsResponseSchema, { calls, skipped: BigInt(skipped), capture: captureToMessage(log.capture) });
    await pause(pauseMs, undefined, { signal }).catch(() => {});
  }
}

function lastOf(records: readonly CallRecord[], count: number): readonly CallRecord[] {
  return count === 0 ? [] : records.slice(-count);
}
