import { expect, test } from "vitest";
import { createFakeClock, type FakeClock } from "../../fake-clock.test.helper.js";
import type { RpcMessage } from "../rpc/json-rpc.js";
import { requestOf } from "./watched-transport.test.helper.js";
import { createWriteBacklog, type WriteBacklog } from "./write-backlog.js";

const full = 16 * 1024 * 1024 + 1;

interface Subject {
  readonly backlog: WriteBacklog;
  readonly clock: FakeClock;
  wait(bytes: number): void;
  isAccepted(message?: RpcMessage): boolean;
  stalls(): number;
}

function start(): Subject {
  let [bytes, stalls] = [0, 0];
  const clock = createFakeClock();
  const backlog = createWriteBacklog({
    server: "files",
    clock,
    stallMs: 1000,
    waitingBytes: () => bytes,
    onStalled: () => {
      stalls += 1;
    },
  });
  return {
    backlog,
    clock,
    wait: (now) => {
      bytes = now;
    },
    isAccepted(message = requestOf(1)) {
      try {
        backlog.assertRoom(message);
        return true;
      } catch {
        return false;
      }
    },
    stalls: () => stalls,
  };
}

test("accepts messages as long as no more than 16 MiB wait for the server, and starts no timer", () => {
  const { clock, wait, isAccepted } = start();
  for (const bytes of [0, full - 1]) {
    wait(bytes);
    expect(isAccepted()).toBe(true);
  }
  expect(clock.waiting).toBe(0);
});

test("rejects requests and notifications while more waits for the server, but no cancellation", () => {
  const { backlog, wait, isAccepted } = start();
  wait(full);
  expect(() => backlog.assertRoom(requestOf(1))).toThrow(
    expect.objectContaining({
      code: "SERVER_BUSY",
      details: { wasSent: false },
      message:
        'The server "files" does not read its input: more than 16 MiB wait for it. The request was not sent. Try again later, or check what the server is doing.',
    }),
  );
  expect(isAccepted({ jsonrpc: "2.0", method: "notifications/progress" })).toBe(false);
  expect(isAccepted({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })).toBe(true);
  wait(full - 1);
  expect(isAccepted()).toBe(true);
});

test("reports a stall when nothing was written for the time limit, once", () => {
  const { clock, wait, isAccepted, stalls } = start();
  wait(full);
  expect(isAccepted()).toBe(false);
  clock.advance(999);
  expect(isAccepted()).toBe(false);
  expect(stalls()).toBe(0);
  clock.advance(1);
  expect(stalls()).toBe(1);
  expect(clock.waiting).toBe(0);
});

test("reports no stall of a server that reads slowly, until it stops", () => {
  const { backlog, clock, wait, isAccepted, stalls } = start();
  wait(full);
  expect(isAccepted()).toBe(false);
  for (let round = 0; round < 10; round += 1) {
    backlog.written();
    clock.advance(1000);
    expect(stalls()).toBe(0);
  }
  clock.advance(1000);
  expect(stalls()).toBe(1);
});

test("reports no stall once the server has read enough, or after the end", () => {
  const { backlog, clock, wait, isAccepted, stalls } = start();
  wait(full);
  expect(isAccepted()).toBe(false);
  wait(0);
  clock.advance(1000);
  expect(clock.waiting).toBe(0);
  wait(full);
  expect(isAccepted()).toBe(false);
  backlog.end();
  expect(clock.waiting).toBe(0);
  expect(stalls()).toBe(0);
});
