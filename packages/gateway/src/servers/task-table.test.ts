import type { Clock } from "@wirescope/tool-server";
import { expect, test } from "vitest";
import type { ClientCall } from "../client-call.js";
import { createTaskTable, type TaskTable } from "./task-table.js";

const hourMs = 3_600_000;

function callOf(principal: string): ClientCall {
  return { account: { principal }, session: undefined, method: "tasks/get" } as unknown as ClientCall;
}

function tableOf(max: number): { table: TaskTable; advance: (ms: number) => void } {
  let now = 0;
  const clock: Clock = { now: () => now, after: () => () => {} };
  const advance = (ms: number): void => {
    now += ms;
  };
  return { table: createTaskTable({ max, clock }), advance };
}

test("forgets the task that was used least recently when a client exceeds its limit on a server [TS-D-EXT-4]", () => {
  const { table } = tableOf(2);
  const [alice, bob] = [callOf("alice"), callOf("bob")];
  const others = table.add("one", "modern", bob, { taskId: "bob's" });
  const first = table.add("one", "modern", alice, { taskId: "1" });
  const second = table.add("one", "modern", alice, { taskId: "2" });
  table.find(first.id, alice);
  table.add("one", "modern", alice, { taskId: "3" });
  expect(() => table.find(second.id, alice)).toThrow("unknown or has expired");
  expect(table.find(first.id, alice)).toBe(first);
  expect(table.find(others.id, bob)).toBe(others);
  expect(table.size).toBe(3);
});

test("bounds the tasks of all clients together, even if each request has another name [TS-D-EXT-4]", () => {
  const { table } = tableOf(2);
  for (let index = 0; index < 1000; index += 1)
    table.add("one", "modern", callOf(`name ${index}`), { taskId: String(index) });
  expect(table.size).toBe(128);
});

test("keeps a task for its ttl, and one without a limit for a day after its last use [TS-D-EXT-4]", () => {
  const { table, advance } = tableOf(10);
  const alice = callOf("alice");
  const brief = table.add("one", "modern", alice, { taskId: "brief", ttlMs: hourMs });
  const unlimited = table.add("one", "modern", alice, { taskId: "unlimited", ttl: null });
  advance(hourMs);
  expect(table.find(brief.id, alice)).toBe(brief);
  advance(120_000);
  expect(() => table.find(brief.id, alice)).toThrow("unknown or has expired");
  expect(table.find(unlimited.id, alice)).toBe(unlimited);
  advance(23 * hourMs);
  expect(table.find(unlimited.id, alice)).toBe(unlimited);
  advance(25 * hourMs);
  expect(() => table.find(unlimited.id, alice)).toThrow("unknown or has expired");
});

test("removes expired tasks that no client requests when another is added [TS-D-EXT-4]", () => {
  const { table, advance } = tableOf(10);
  table.add("one", "modern", callOf("alice"), { taskId: "1", ttlMs: 1000 });
  advance(hourMs);
  table.add("one", "modern", callOf("bob"), { taskId: "2" });
  expect(table.size).toBe(1);
});

test.each([undefined, 7, "", "x".repeat(2000)])("refuses the task id %s from a server [TS-D-EXT-4]", (taskId) => {
  expect(() => tableOf(10).table.add("one", "modern", callOf("alice"), { taskId })).toThrow("1 to 1024 characters");
});
