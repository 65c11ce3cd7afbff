import { createRegistry, type Registry } from "@wirescope/channelz";
import { diffSnapshots, readSnapshot, type Snapshot, sample } from "@wirescope/channelz/timeline";
import { expect, onTestFinished, test } from "vitest";
import { createPalette } from "../output/screen.js";
import { eachSnapshot } from "./live-task.js";
import { objectLines } from "./object-lines.js";
import { arrangeRows, topRows } from "./top-rows.js";
import { eventToJson, formatEvent, watchEvents } from "./watch-events.js";

const plain = createPalette(false);

/** Reads a registry before and after a change to it. */
async function change(registry: Registry, act: () => void): Promise<{ before: Snapshot; after: Snapshot }> {
  const before = await readSnapshot(registry);
  act();
  return { before, after: { ...(await readSnapshot(registry)), timeMs: before.timeMs + 2000 } };
}

test("reports a new state, a trace event, and objects that appear and disappear, each once", async () => {
  const registry = createRegistry();
  const api = registry.addChannel({ name: "api", target: "dns:///api" });
  const old = registry.addChannel({ name: "old", target: "dns:///old" });
  const { before, after } = await change(registry, () => {
    api.setState("CONNECTING");
    api.trace("resolved \u001b[31mred", { severity: "warning" });
    old.close();
    registry.addChannel({ name: "new", target: "dns:///new" });
  });
  const { events, omitted } = watchEvents(diffSnapshots(before, after), before.origins);
  const lines = events.map((event) => formatEvent(event, plain).replace(/^\S+ {2}/, ""));
  expect(omitted).toBe(0);
  expect(lines).toContain("channel 3 new  appeared, IDLE");
  expect(lines).toContain("channel 2 old  gone");
  expect(lines.filter((line) => line === "channel 1 api  IDLE → CONNECTING")).toHaveLength(1);
  expect(lines.find((line) => line.includes("resolved"))).not.toContain("\u001b");
  expect(events.map(eventToJson)).toContainEqual(
    expect.objectContaining({
      kind: "state",
      from: "IDLE",
      to: "CONNECTING",
      object: expect.objectContaining({ id: "1" }),
    }),
  );
});

test("shows at most 1000 events of one moment, and counts the others", async () => {
  const registry = createRegistry();
  const { before, after } = await change(registry, () => {
    for (let index = 0; index < 1010; index += 1) registry.addChannel({ name: `c${index}`, target: "t" });
  });
  const { events, omitted } = watchEvents(diffSnapshots(before, after), before.origins);
  expect([events.length, omitted]).toEqual([1000, 10]);
});

test("computes rates, calls in flight and the failure rate between two reads, and puts problems first", async () => {
  const registry = createRegistry();
  const good = registry.addChannel({ name: "good", target: "t" });
  const bad = registry.addChannel({ name: "bad", target: "t" });
  const down = registry.addChannel({ name: "down", target: "t" });
  const { before, after } = await change(registry, () => {
    for (let count = 0; count < 10; count += 1) good.callStarted();
    for (let count = 0; count < 6; count += 1) good.callSucceeded();
    for (let count = 0; count < 4; count += 1) bad.callStarted();
    bad.callSucceeded();
    for (let count = 0; count < 3; count += 1) bad.callFailed();
    down.setState("CONNECTING");
    down.setState("TRANSIENT_FAILURE");
  });
  const rows = arrangeRows(topRows(after, before), "problems");
  expect(rows.map(({ object }) => object.name)).toEqual(["down", "bad", "good"]);
  expect(rows[2]).toMatchObject({ rates: { started: 5 }, inFlight: 4, failureRate: 0 });
  expect(rows[1]?.failureRate).toBe(0.75);
  expect(arrangeRows(rows, "rate").map(({ object }) => object.name)).toEqual(["good", "bad", "down"]);
  expect(arrangeRows(rows, "name", "oo").map(({ object }) => object.name)).toEqual(["good"]);
});

test("limits the lines about an object, and keeps the end of its trace", async () => {
  const registry = createRegistry();
  const channel = registry.addChannel({ name: "api", target: "dns:///api" });
  for (let count = 0; count < 20; count += 1) channel.trace(`event ${count} ${"x".repeat(100)}`);
  const [object] = (await readSnapshot(registry)).objects.values();
  if (object === undefined) return expect.unreachable("The channel is missing.");
  const lines = objectLines(object, 60, 8);
  expect(lines).toHaveLength(8);
  expect(lines.every((line) => line.length <= 104)).toBe(true);
  expect(lines.at(-2)).toContain("event 19");
});

test("calls back for the newest snapshot at once, and ends with the value of the callback or the signal", async () => {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const sampler = sample(createRegistry(), { intervalMs: 5, signal: stop.signal });
  await expect.poll(() => sampler.timeline.newest()).toBeDefined();
  let count = 0;
  const third = await eachSnapshot(sampler, stop.signal, () => {
    count += 1;
    return count === 3 ? "third" : undefined;
  });
  expect(third).toBe("third");
  const waiting = eachSnapshot(sampler, stop.signal, () => undefined);
  stop.abort();
  expect(await waiting).toBeUndefined();
});
