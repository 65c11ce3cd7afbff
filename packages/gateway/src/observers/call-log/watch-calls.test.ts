import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { CallSchema, type WatchCallsResponse } from "../../gen/wirescope/v1/calls_pb.js";
import type { CallLog } from "./call-log.js";
import type { CallRecord } from "./call-record.js";
import { watchCalls } from "./watch-calls.js";

/** A log of numbers, of which the last 1000 are kept. */
function createNumbers() {
  const listeners = new Set<() => void>();
  const ended: CallRecord[] = [];
  const running: CallRecord[] = [];
  const recordOf = (number: number, server?: string): CallRecord => ({ number, server }) as CallRecord;
  const log = {
    capture: { isAllowed: false, isOn: () => false, untilMs: () => undefined },
    get endedCount() {
      return ended.length;
    },
    endedSince: (count: number) => ended.slice(Math.max(count, ended.length - 1000)),
    running: () => running,
    watch(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as unknown as CallLog;
  return {
    log,
    listeners,
    start: (number: number) => running.push(recordOf(number, "notes")),
    end(count: number) {
      for (let added = 0; added < count; added += 1) ended.push(recordOf(ended.length + 1));
      for (const listener of listeners) listener();
    },
  };
}

const idsOf = (response: WatchCallsResponse | undefined): string[] => (response?.calls ?? []).map(({ id }) => id);

test("[TS-D-CALLS-2] reports how many calls a slow watcher missed, and sends all running calls with that message", async () => {
  const { log, listeners, start, end } = createNumbers();
  const left = new AbortController();
  const stream = watchCalls(log, 3, ({ number }) => create(CallSchema, { id: String(number) }), left.signal);
  end(10);
  expect(idsOf((await stream.next()).value ?? undefined)).toEqual(["8", "9", "10"]);
  start(99_000);
  end(1);
  const second = (await stream.next()).value ?? undefined;
  expect([idsOf(second), second?.skipped]).toEqual([["11", "99000"], 0n]);
  end(2000);
  const third = (await stream.next()).value ?? undefined;
  expect(third?.skipped).toBe(1500n);
  expect(idsOf(third)).toHaveLength(501);
  expect(idsOf(third).at(-1)).toBe("99000");
  left.abort();
  expect((await stream.next()).done).toBe(true);
  expect(listeners.size).toBe(0);
});
