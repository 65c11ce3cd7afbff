import type { Clock, Connection } from "@wirescope/tool-server";
import { beforeEach, expect, test } from "vitest";
import { completeLimits } from "../limits.js";
import { createServerLists, type ServerLists } from "./server-lists.js";

/** The delays of the timers that are pending, in milliseconds, and how to end each. */
let timers: { readonly delayMs: number; wake(): void }[];
let loads: number;
let isFailing: boolean;
let tools: object[];
/** For each load, whether the tools could be listed. */
let listed: boolean[];
/** How often clients were notified of changed tools. */
let changes: number;
let now: number;
let lists: ServerLists;

const clock: Clock = {
  now: () => now,
  after(delayMs, wake) {
    const timer = {
      delayMs,
      wake() {
        timers = timers.filter((each) => each !== timer);
        wake();
      },
    };
    timers.push(timer);
    return () => {
      timers = timers.filter((each) => each !== timer);
    };
  },
};

const connection = {
  state: "READY",
  server: { capabilities: { tools: {} } },
  listProblems: () => [],
  async request() {
    loads += 1;
    if (isFailing) throw new Error("The database is down.");
    return { tools };
  },
} as unknown as Connection;

beforeEach(() => {
  [timers, loads, isFailing, tools, listed, changes, now] = [[], 0, true, [], [], 0, 0];
  lists = createServerLists({
    server: "orders",
    limits: completeLimits(),
    clock,
    filter: undefined,
    isUnprefixed: false,
    events: {
      emit(event) {
        if (event.kind === "list-changed" && event.list === "tools") changes += 1;
      },
    },
    open: async () => connection,
    onOmitted: () => {},
    onTools: () => {},
    onToolsListed: (failure) => void listed.push(failure === undefined),
  });
});

const delays = (): number[] => timers.map(({ delayMs }) => delayMs);

/** Ends the delay before the retry, and returns the next delays. */
async function retry(): Promise<number[]> {
  timers[0]?.wake();
  await lists.tools.get();
  return delays();
}

test("lists tools that could not be listed again after increasing delays, until they are listed", async () => {
  await lists.tools.get();
  expect(delays()).toEqual([2000]);
  for (const delayMs of [4000, 8000, 16_000, 32_000, 60_000, 60_000]) expect(await retry()).toEqual([delayMs]);
  isFailing = false;
  expect(await retry()).toEqual([]);
  expect(loads).toBe(8);
  isFailing = true;
  lists.refresh("tools");
  await lists.tools.get();
  expect(delays()).toEqual([2000]);
});

test("does not report a list that is too long to be offered as listed", async () => {
  isFailing = false;
  const name = "n".repeat(50);
  // Below the limit as the server sends it, and above with the prefix of the server.
  const empty = JSON.stringify({ name, inputSchema: { type: "object", pattern: "" } });
  const pattern = "d".repeat(16 * 1024 * 1024 - empty.length);
  tools = [{ name, inputSchema: { type: "object", pattern } }];
  await lists.tools.get();
  expect(await retry()).toEqual([4000]);
  expect(listed).toEqual([false, false]);
});

test.each(["clear", "close"] as const)("does not list tools again after %s", async (method) => {
  await lists.tools.get();
  expect(delays()).toHaveLength(1);
  lists[method]();
  expect(delays()).toEqual([]);
});

test("starts no timer if the list fails after the server was closed", async () => {
  const loading = lists.tools.get();
  lists.close();
  await loading;
  expect(delays()).toEqual([]);
});

test("lists tools again when reports of changes may have been lost, but not often, and notifies clients only of changes", async () => {
  isFailing = false;
  tools = [{ name: "search", inputSchema: { type: "object" } }];
  await lists.tools.get();
  expect([loads, changes]).toEqual([1, 1]);
  for (let round = 0; round < 3; round += 1) {
    lists.recheck();
    await lists.tools.get();
  }
  expect([loads, changes, delays()]).toEqual([2, 1, [30_000]]);
  tools = [];
  now += 30_000;
  timers[0]?.wake();
  await lists.tools.get();
  expect([loads, changes, delays()]).toEqual([3, 2, []]);
});

test.each(["clear", "close"] as const)(
  "does not list tools after %s because reports of changes were lost before",
  async (method) => {
    isFailing = false;
    for (let round = 0; round < 2; round += 1) {
      lists.recheck();
      await lists.tools.get();
    }
    expect([loads, delays()]).toEqual([1, [30_000]]);
    lists[method]();
    expect(delays()).toEqual([]);
  },
);
