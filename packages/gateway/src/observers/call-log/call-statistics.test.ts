import { expect, test } from "vitest";
import { createCallStatistics, intervalMs } from "./call-statistics.js";

const minuteMs = 60_000;

function createWorld() {
  const world = { nowMs: 1_000_000_000_000 };
  return Object.assign(world, { statistics: createCallStatistics(() => world.nowMs) });
}

test("[TS-D-CALLS-4] quantiles are accurate to 5 %", () => {
  const { statistics } = createWorld();
  for (let ms = 1; ms <= 1000; ms += 1) statistics.count("notes", "ok", ms);
  const { p50Ms = 0, p95Ms = 0 } = statistics.report().total;
  expect(Math.abs(p50Ms / 500 - 1)).toBeLessThan(0.05);
  expect(Math.abs(p95Ms / 950 - 1)).toBeLessThan(0.05);
});

test("a call leaves the window after a minute, and the history after 15 minutes", () => {
  const world = createWorld();
  const { statistics } = world;
  world.nowMs += 5 * minuteMs;
  statistics.count("notes", "error", 10);
  const thenMs = world.nowMs;
  expect(statistics.report()).toMatchObject({ total: { calls: 1, failed: 1 } });
  world.nowMs += minuteMs + intervalMs;
  expect(statistics.report().total).toMatchObject({ calls: 0, p50Ms: undefined });
  expect(statistics.report(thenMs).total).toMatchObject({ calls: 1 });
  const { points } = statistics.report(undefined, 180).total;
  expect(points).toHaveLength(180);
  expect(points.findIndex(({ calls }) => calls === 1)).toBe(180 - 14);
  expect(statistics.report().servers.map(({ server }) => server)).toEqual(["notes"]);
  world.nowMs += 15 * minuteMs;
  expect(statistics.report(undefined, 180).servers).toEqual([]);
});

test("a reused interval contains no counts of the old one", () => {
  const world = createWorld();
  for (let count = 0; count < 400; count += 1) {
    world.statistics.count("notes", "ok", 1);
    world.nowMs += intervalMs;
  }
  expect(world.statistics.report(undefined, 1000).total.points.reduce((sum, { calls }) => sum + calls, 0)).toBe(179);
});

test("counts calls that were cancelled or wait for input, but not their latency", () => {
  const { statistics } = createWorld();
  statistics.count("notes", "cancelled", 60_000);
  statistics.count("notes", "input", 60_000);
  expect(statistics.report().total).toMatchObject({ calls: 2, failed: 0, p95Ms: undefined });
  statistics.count("notes", "tool-error", 1);
  expect(statistics.report().total.failed).toBe(1);
});

test("computes rates over the time since the start, and limits the number of servers", () => {
  const world = createWorld();
  world.nowMs += 2000;
  const { windowMs } = world.statistics.report();
  expect(windowMs).toBe(2000);
  const bounded = createCallStatistics(() => world.nowMs, 2);
  for (const server of ["a", "b", "c"]) bounded.count(server, "ok", 1);
  expect(bounded.report().servers.map(({ server }) => server)).toEqual(["a", "b"]);
});
