import { expect, onTestFinished, test } from "vitest";
import { createRegistry } from "../registry/registry.js";
import { type SampleWhileWatchedOptions, sampleWhileWatched, type WatchedTimeline } from "./sample-while-watched.js";
import { createSnapshot } from "./snapshot.js";
import { createTimeline } from "./timeline.js";

function start(options: SampleWhileWatchedOptions): WatchedTimeline {
  const watched = sampleWhileWatched(createRegistry(), options);
  onTestFinished(watched.stop);
  return watched;
}

test("[CZ-D-HISTORY-12] takes no sample until somebody watches, and none after the last watcher has left", async () => {
  const { timeline, cost } = start({ intervalMs: 3, lingerMs: 20 });
  expect(cost().samples).toBe(0);
  const stops = [timeline.subscribe(() => {}), timeline.subscribe(() => {})];
  await expect.poll(() => cost().samples).toBeGreaterThan(3);
  stops[0]?.();
  // Twice is once.
  stops[0]?.();
  const before = cost().samples;
  await expect.poll(() => cost().samples).toBeGreaterThan(before + 15);
  stops[1]?.();
  let samples = -1;
  await expect
    .poll(
      () => {
        const isSame = samples === cost().samples;
        samples = cost().samples;
        return isSame;
      },
      { interval: 50 },
    )
    .toBe(true);
  expect(timeline.newest()).toBeDefined();
  const stop = timeline.subscribe(() => {});
  await expect.poll(() => cost().samples).toBeGreaterThan(samples);
  stop();
});

test("[CZ-D-HISTORY-12] samples at once when the first watcher comes, however long the interval was before", async () => {
  const { timeline, cost } = start({ intervalMs: 5, idleIntervalMs: 3_600_000 });
  await expect.poll(() => cost()).toMatchObject({ samples: 1, intervalMs: 3_600_000 });
  const stop = timeline.subscribe(() => {});
  await expect.poll(() => cost().samples).toBeGreaterThan(2);
  expect(cost().intervalMs).toBe(5);
  stop();
});

test("[CZ-D-HISTORY-12] drops history that is older than the maximum age, also if it is small", () => {
  const timeline = createTimeline({ maxAgeMs: 60_000 });
  for (let timeMs = 1_000; timeMs <= 600_000; timeMs += 1_000) {
    timeline.append(createSnapshot({ timeMs, origins: [], objects: [] }));
  }
  const { firstMs = 0 } = timeline.range() ?? {};
  expect(firstMs).toBeLessThanOrEqual(540_000);
  expect(firstMs).toBeGreaterThan(500_000);
  expect(timeline.at(540_000)?.timeMs).toBe(540_000);
});
