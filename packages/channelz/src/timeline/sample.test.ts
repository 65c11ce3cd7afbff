import { describe, expect, onTestFinished, test, vi } from "vitest";
import { channel, peerWith } from "../client/fixed-peer.test.helper.js";
import { ChannelzError, type ChannelzErrorParts } from "../errors.js";
import { createRegistry } from "../registry/registry.js";
import type { Source } from "../source.js";
import { sample } from "./sample.js";

const world = { top: [channel(1), channel(2)] };

describe("sample", () => {
  test("appends a snapshot at each beat, until it is stopped", async () => {
    const registry = createRegistry();
    const handle = registry.addChannel({ name: "orders", target: "dns:///orders" });
    const sampler = sample(registry, { intervalMs: 5 });
    await expect.poll(() => sampler.cost().samples).toBeGreaterThan(3);
    handle.callStarted();
    await expect.poll(() => sampler.timeline.newest()?.objects.get(`|channel|${handle.id}`)?.counters.started).toBe(1);
    sampler.stop();
    await sampler.ended;
    const { samples } = sampler.cost();
    expect(sampler.timeline.range()).toBeDefined();
    expect(sampler.cost().samples).toBe(samples);
    expect(sampler.cost().meanMs).toBeGreaterThan(0);
  });

  test("takes no additional sample after a timer that ended early, and never counts fewer than 0 as skipped", async () => {
    const real = globalThis.setTimeout;
    const early = vi.spyOn(globalThis, "setTimeout");
    // Only the first half of each delay, which is much earlier than Node's timers may end.
    early.mockImplementation(((run: () => void, delayMs = 0) => real(run, delayMs / 2)) as typeof setTimeout);
    onTestFinished(() => early.mockRestore());
    const startedAt = performance.now();
    const sampler = sample(createRegistry(), { intervalMs: 100 });
    await expect.poll(() => sampler.cost().samples).toBeGreaterThan(5);
    sampler.stop();
    await sampler.ended;
    const { samples, skipped } = sampler.cost();
    expect(skipped).toBeGreaterThanOrEqual(0);
    // Each is up to an interval early.
    expect(samples).toBeLessThan((performance.now() - startedAt) / 100 + 3);
  });

  test.each([0, -1, Number.NaN])("refuses %s as the interval, which would sample without a pause", (intervalMs) => {
    expect(() => sample(createRegistry(), { intervalMs })).toThrow(TypeError);
  });

  test("[CZ-D-HISTORY-8] skips beats while a read is slow, and never reads twice at a time", async () => {
    let underway = 0;
    let most = 0;
    const peer = peerWith(world);
    const getTopChannels: Source["getTopChannels"] = async (...args) => {
      underway += 1;
      most = Math.max(most, underway);
      await new Promise((resolve) => setTimeout(resolve, 20));
      underway -= 1;
      return await peer.getTopChannels(...args);
    };
    const sampler = sample({ ...peer, getTopChannels }, { intervalMs: 3 });
    await expect.poll(() => sampler.cost().samples).toBeGreaterThan(2);
    sampler.stop();
    await sampler.ended;
    expect(most).toBe(1);
    expect(sampler.cost().skipped).toBeGreaterThan(2);
  });

  test("forgets what an earlier error was about", async () => {
    let message: string | ChannelzErrorParts = { subject: "127.0.0.1:1", problem: "cannot be reached." };
    const fail = (): Promise<never> => Promise.reject(new ChannelzError("PEER_UNAVAILABLE", message));
    const source = { ...peerWith(world), getTopChannels: fail, getServers: fail };
    const sampler = sample(source, { intervalMs: 3, target: "127.0.0.1:1" });
    const origins = (): unknown => sampler.timeline.newest()?.origins;
    const origin = { name: "", target: "127.0.0.1:1" };
    const error = "127.0.0.1:1 cannot be reached.";
    await expect.poll(origins).toStrictEqual([{ ...origin, error, errorSubject: "127.0.0.1:1" }]);
    message = "The read timed out.";
    await expect.poll(origins).toStrictEqual([{ ...origin, error: message }]);
    sampler.stop();
    await sampler.ended;
  });

  test("[CZ-D-HISTORY-9] keeps the objects of a process that does not respond, marked with the reason", async () => {
    const peer = peerWith(world);
    let isDown = false;
    const failing =
      <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        if (isDown) throw new ChannelzError("PEER_UNAVAILABLE", "The connection was refused.");
        return await read(...args);
      };
    const source = { ...peer, getTopChannels: failing(peer.getTopChannels), getServers: failing(peer.getServers) };
    const sampler = sample(source, { intervalMs: 3, target: "127.0.0.1:1" });
    const { timeline } = sampler;
    await expect.poll(() => timeline.newest()?.objects.size).toBe(2);
    isDown = true;
    await expect.poll(() => timeline.newest()?.isComplete).toBe(false);
    expect(timeline.newest()?.objects.get("|channel|1")).toMatchObject({
      name: "channel 1",
      unreadable: "The connection was refused.",
    });
    expect(timeline.newest()?.origins).toEqual([
      { name: "", target: "127.0.0.1:1", error: "The connection was refused." },
    ]);
    isDown = false;
    await expect.poll(() => timeline.newest()?.isComplete).toBe(true);
    sampler.stop();
    await sampler.ended;
    expect(timeline.newest()?.objects.get("|channel|1")?.unreadable).toBeUndefined();
    const texts = timeline.changes().map(({ kind, text }) => [kind, text]);
    expect(texts).toEqual([
      ["origin", "127.0.0.1:1: The connection was refused."],
      ["origin", "127.0.0.1:1 responds again."],
    ]);
  });

  test("stops at once if the signal aborts during a read that never ends", async () => {
    const controller = new AbortController();
    const getTopChannels = vi.fn(() => new Promise<never>(() => {}));
    const sampler = sample({ ...peerWith(world), getTopChannels }, { signal: controller.signal });
    await expect.poll(() => getTopChannels.mock.calls.length).toBe(1);
    controller.abort();
    await sampler.ended;
    expect(sampler.timeline.newest()).toBeUndefined();
  });
});
