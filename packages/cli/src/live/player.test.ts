import { createSnapshot, createTimeline, type Timeline } from "@wirescope/channelz/timeline";
import { expect, test } from "vitest";
import { eachSnapshot, type LiveHistory } from "./live-task.js";
import { createPlayer, type Player } from "./player.js";

/** A read at each of these times, in seconds. */
function history(...seconds: number[]): Timeline {
  const timeline = createTimeline();
  for (const second of seconds) {
    timeline.append(createSnapshot({ timeMs: second * 1000, origins: [{ name: "", target: "" }], objects: [] }));
  }
  return timeline;
}

function recorded(timeline: Timeline, chosenMs?: number, intervalMs = 0) {
  const { firstMs, lastMs } = timeline.range() ?? { firstMs: 0, lastMs: 0 };
  return { chosenMs, firstMs, lastMs, intervalMs };
}

const shown = (player: Player): (number | undefined)[] => {
  const { snapshot, before } = player.current() ?? {};
  return [before?.timeMs, snapshot?.timeMs];
};

test("plays a recording from its start in real time, but skips gaps", () => {
  const timeline = history(1, 2, 4, 4000);
  const player = createPlayer(timeline, recorded(timeline));
  const seen: unknown[] = [];
  for (let wait = player.untilNextMs(); wait !== undefined; wait = player.untilNextMs()) {
    seen.push([...shown(player), wait]);
    player.step(1);
  }
  expect(seen).toEqual([
    [undefined, 1000, 1000],
    [1000, 2000, 2000],
    [2000, 4000, 2000],
  ]);
  expect([player.isAtEnd(), ...shown(player)]).toEqual([true, 4000, 4_000_000]);
});

test("steps back and forward, each time with the previous read, so that rates are correct", () => {
  const timeline = history(1, 2, 3, 4);
  const player = createPlayer(timeline, recorded(timeline, 3500));
  expect(shown(player)).toEqual([2000, 3000]);
  player.step(-1);
  expect(shown(player)).toEqual([1000, 2000]);
  player.step(-1);
  player.step(-1);
  expect(shown(player)).toEqual([undefined, 1000]);
  player.step(1);
  expect(shown(player)).toEqual([1000, 2000]);
});

test("moves by a duration within the recording, forward by at least one read", () => {
  const timeline = history(0, 30, 70, 100, 400);
  const player = createPlayer(timeline, recorded(timeline));
  const after = (byMs: number): number | undefined => {
    player.skip(byMs);
    return player.current()?.snapshot.timeMs;
  };
  expect(after(60_000)).toBe(30_000);
  expect(after(60_000)).toBe(70_000);
  expect(after(Number.POSITIVE_INFINITY)).toBe(400_000);
  expect(after(-60_000)).toBe(100_000);
  expect(after(60_000)).toBe(400_000);
  expect(after(Number.NEGATIVE_INFINITY)).toBe(0);
});

test("returns the reads of a part of a recording in order, at least an interval apart, and ends", async () => {
  const timeline = history(1, 2, 3, 4, 5, 6, 7);
  const sampler: LiveHistory = {
    timeline,
    cost: () => ({ samples: 0, skipped: 0, intervalMs: 0, lastMs: 0, meanMs: 0 }),
    recorded: recorded(timeline, undefined, 2000),
  };
  const seen: unknown[] = [];
  const onSnapshot = (snapshot: { timeMs: number }, before: { timeMs: number } | undefined): undefined => {
    seen.push([before?.timeMs, snapshot.timeMs]);
  };
  await eachSnapshot(sampler, new AbortController().signal, onSnapshot, { firstMs: 2000, lastMs: 6500 });
  expect(seen).toEqual([
    [undefined, 2000],
    [2000, 4000],
    [4000, 6000],
  ]);
  seen.length = 0;
  await eachSnapshot(sampler, AbortSignal.abort(), onSnapshot);
  expect(seen).toEqual([]);
});
