import { createServer, type Server } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ChannelzConnection, connectChannelz } from "../dial/connect.js";
import { ChannelzError } from "../errors.js";
import { type ChannelzListener, listenChannelz } from "../listener/index.js";
import { createRegistry } from "../registry/index.js";
import type { Source } from "../source.js";
import { channel, peerWith, socketRefs } from "./fixed-peer.test.helper.js";
import { gatherOrigins, type OriginSource } from "./gather.js";
import { isMergedSource, mergeSources } from "./merge-sources.js";
import { createOriginIds } from "./origin-ids.js";
import { walkTopChannels } from "./walk.js";

const held: unknown[] = [];
const listeners: ChannelzListener[] = [];
const connections: ChannelzConnection[] = [];
let silent: Server;
let parts: OriginSource[];
const dead = new Set(["p7", "p8", "p50"]);

function connectTo(origin: string, target: string, timeoutMs = 20_000): OriginSource {
  const source = connectChannelz(target, { timeoutMs });
  connections.push(source);
  return { origin, target, source };
}

const part = (origin: string, source: Source): OriginSource => ({ origin, target: `${origin}:1`, source });
const unavailable = (message: string) => () => Promise.reject(new ChannelzError("PEER_UNAVAILABLE", message));
const failing = (message: string): Source => ({ ...peerWith({}), getTopChannels: unavailable(message) });

beforeAll(async () => {
  const registries = Array.from({ length: 60 }, (_, n) => {
    const registry = createRegistry();
    const api = registry.addChannel({ target: `dns:///api-${n}.example`, name: "api" });
    held.push(api, registry.addSubchannel({ parent: api, target: "192.0.2.1:443" }));
    return registry;
  });
  listeners.push(...(await Promise.all(registries.map((registry) => listenChannelz(registry)))));
  // Accepts connections, and never says anything.
  silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = silent.address();
  const silentPort = typeof address === "object" ? address?.port : 0;
  parts = listeners.map(({ address: live }, n) => {
    // Nothing listens on port 1. The port of a closed listener may get another owner meanwhile.
    const target = dead.has(`p${n}`) ? "127.0.0.1:1" : n === 33 ? `127.0.0.1:${silentPort}` : live;
    return connectTo(`p${n}`, target);
  });
});

afterAll(async () => {
  await Promise.all(connections.map((each) => each.close()));
  silent.close();
  await Promise.all(listeners.map((each) => each.close()));
});

describe("60 processes, three of them dead and one silent", () => {
  test("[CZ-D-CLI-2] [CZ-D-CLI-3] lists the objects of all that respond, and reports the others", async () => {
    // The call of the silent process would end with another error, after 20 seconds.
    const merged = mergeSources(parts, { graceMs: 2000, retryAfterMs: 60_000 });
    const names = new Set<string>();
    for await (const { ref } of walkTopChannels(merged, { pageSize: 30 })) names.add(ref?.name ?? "");
    expect(names.size).toBe(56);
    expect(names).toContain("[p0] api");
    const failed = merged.origins().filter(({ error }) => error !== undefined);
    expect(failed.map(({ name }) => name).sort()).toEqual(["p33", "p50", "p7", "p8"]);
    for (const { name, error } of failed) {
      expect(error).toMatch(
        name === "p33" ? /Stopped reading .*: it has not responded/ : /cannot be reached: .*ECONNREFUSED/,
      );
    }
  });

  test("[CZ-D-CLI-2] reads at most as many at a time as allowed, and all of them", async () => {
    let open = 0;
    let most = 0;
    const gathered = await gatherOrigins(
      parts.filter(({ origin }) => origin !== "p33"),
      async (source, signal) => {
        open += 1;
        most = Math.max(most, open);
        try {
          return (await source.getTopChannels({}, { signal })).channel.length;
        } finally {
          open -= 1;
        }
      },
      { concurrency: 10 },
    );
    expect(most).toBe(10);
    expect(gathered.filter(({ value }) => value === 1)).toHaveLength(56);
    expect(gathered.map(({ origin }) => origin.origin)).toEqual(
      parts.map(({ origin }) => origin).filter((origin) => origin !== "p33"),
    );
  });

  test("follows refs into the process that they belong to", async () => {
    const merged = mergeSources(parts.slice(0, 5));
    for await (const { ref, data, subchannelRef } of walkTopChannels(merged)) {
      const origin = merged.ids.decode(ref?.channelId ?? 0n)?.origin;
      expect(data?.target).toBe(`dns:///api-${origin?.slice(1)}.example`);
      const { subchannel } = await merged.getSubchannel(subchannelRef[0]?.subchannelId ?? 0n);
      expect(subchannel?.ref?.name).toMatch(new RegExp(`^\\[${origin}\\]`));
    }
  });
});

test("[CZ-D-CLI-3] rejects with the reason if no process responds, and asks none of them again at once", async () => {
  let reads = 0;
  const failing: Source = {
    ...peerWith({}),
    getTopChannels: async () => {
      reads += 1;
      throw new ChannelzError("PEER_UNAVAILABLE", "a:1 cannot be reached.");
    },
  };
  const merged = mergeSources(["a:1", "b:1"].map((origin) => ({ origin, target: origin, source: failing })));
  const message = "None of the 2 targets responds. The first: a:1 cannot be reached.";
  await expect(merged.getTopChannels()).rejects.toMatchObject({ code: "PEER_UNAVAILABLE", message });
  await expect(merged.getTopChannels()).rejects.toMatchObject({ code: "PEER_UNAVAILABLE", message });
  expect(reads).toBe(2);
});

test("shows a process again when it responds again", async () => {
  let isDown = true;
  const peer = peerWith({ top: [channel(1)] });
  const flaky: Source = {
    ...peer,
    getTopChannels: async (request, options) => {
      if (isDown) throw new ChannelzError("PEER_UNAVAILABLE", "down");
      return peer.getTopChannels(request, options);
    },
  };
  const merged = mergeSources(
    [
      { origin: "a", target: "a:1", source: flaky },
      { origin: "b", target: "b:1", source: peer },
    ],
    { retryAfterMs: 0 },
  );
  expect((await merged.getTopChannels()).channel).toHaveLength(1);
  expect(merged.origins().find(({ name }) => name === "a")?.error).toBe("down");
  isDown = false;
  expect((await merged.getTopChannels()).channel).toHaveLength(2);
  expect(merged.origins().every(({ error }) => error === undefined)).toBe(true);
});

test("leaves out objects whose id is too large to be merged, and ends", async () => {
  const huge = { ref: { channelId: 2n ** 62n, name: "huge" }, socketRef: socketRefs(1) };
  const mixed = channel(1, { subchannelRef: [{ subchannelId: 2n ** 62n }, { subchannelId: 2n }] });
  const merged = mergeSources([{ origin: "a", target: "a:1", source: peerWith({ top: [mixed, huge] }) }]);
  const { channel: channels, end } = await merged.getTopChannels();
  expect(end).toBe(true);
  expect(channels.map(({ ref }) => ref?.name)).toEqual(["[a] channel 1"]);
  expect(channels[0]?.subchannelRef).toHaveLength(1);
});

test("refuses two sources with the same origin", () => {
  const source = peerWith({});
  const same = [1, 2].map(() => ({ origin: "a", target: "a:1", source }));
  expect(() => mergeSources(same)).toThrow(TypeError);
});

test("recognizes a merged Source, and keeps its processes in the order of their ids", () => {
  const merged = mergeSources(["c", "a", "b"].map((origin) => part(origin, peerWith({}))));
  expect(isMergedSource(merged)).toBe(true);
  expect(isMergedSource(createRegistry())).toBe(false);
  for (const list of [merged.parts, merged.views]) expect(list.map(({ origin }) => origin)).toEqual(merged.ids.origins);
});

test("lists nothing without sources", async () => {
  expect(await mergeSources([]).getTopChannels()).toMatchObject({ channel: [], end: true });
});

describe("a page", () => {
  // The order of their ids.
  const [low = "", high = ""] = createOriginIds(["a", "b"]).origins;

  test("asks each process once, and only those that can have ids at or after its start", async () => {
    const top = Array.from({ length: 10 }, (_, index) => channel(index + 1));
    const peers = { low: peerWith({ top }), high: peerWith({ top }) };
    const merged = mergeSources([part(low, peers.low), part(high, peers.high)]);
    const first = await merged.getTopChannels({ maxResults: 3 });
    expect(first.channel.map(({ ref }) => ref?.name)).toEqual([1, 2, 3].map((id) => `[${low}] channel ${id}`));
    expect(first.end).toBe(false);
    expect([peers.low.reads, peers.high.reads]).toEqual([1, 1]);
    await merged.getTopChannels({ startId: merged.ids.encode(high, 1n) ?? 0n });
    expect([peers.low.reads, peers.high.reads]).toEqual([1, 2]);
    expect(await merged.getTopChannels({ startId: 2n ** 63n - 1n })).toMatchObject({ channel: [], end: true });
    expect([peers.low.reads, peers.high.reads]).toEqual([1, 2]);
  });

  test("ends the list if it contains exactly the objects that remain", async () => {
    const merged = mergeSources([part(low, peerWith({ top: [channel(1), channel(2)] })), part(high, peerWith({}))]);
    expect((await merged.getTopChannels({ maxResults: 1 })).end).toBe(false);
    expect((await merged.getTopChannels({ maxResults: 2 })).end).toBe(true);
  });

  test("contains the object with the highest id that can be merged", async () => {
    const highest = { ref: { channelId: 10n ** 12n - 1n, name: "highest" } };
    const merged = mergeSources([part("a", peerWith({ top: [channel(1), highest] }))]);
    const { channel: channels } = await merged.getTopChannels({
      startId: merged.ids.encode("a", 10n ** 12n - 1n) ?? 0n,
    });
    expect(channels.map(({ ref }) => ref?.name)).toEqual(["[a] highest"]);
  });

  test("contains at most 1000 objects", async () => {
    const top = Array.from({ length: 1001 }, (_, index) => channel(index + 1));
    const merged = mergeSources([part("a", peerWith({ top }))]);
    for (const maxResults of [0, 1000, 5000, 2n ** 63n - 1n]) {
      const { channel: channels, end } = await merged.getTopChannels({ maxResults });
      expect([channels.length, end]).toEqual([1000, false]);
    }
    const { channel: channels } = await merged.getTopChannels({ maxResults: 999 });
    expect(channels).toHaveLength(999);
  });

  test("rejects a negative size", async () => {
    const reading = mergeSources([]).getServers({ maxResults: -1 });
    await expect(reading).rejects.toMatchObject({ name: "ChannelzError", code: "INVALID_ARGUMENT" });
  });

  test("[CZ-D-CLI-3] keeps the reason why a process is missing if it begins after all ids of that process", async () => {
    const top = [channel(1), channel(2)];
    const merged = mergeSources([part(low, failing("down")), part(high, peerWith({ top }))], { retryAfterMs: 0 });
    const names: (string | undefined)[] = [];
    for await (const { ref } of walkTopChannels(merged, { pageSize: 1 })) names.push(ref?.name);
    expect(names).toEqual([`[${high}] channel 1`, `[${high}] channel 2`]);
    expect(merged.origins()).toEqual([
      { name: low, target: `${low}:1`, error: "down" },
      { name: high, target: `${high}:1` },
    ]);
  });

  test("[CZ-D-CLI-3] lists nothing if one process fails and the others have no objects", async () => {
    const merged = mergeSources([part(low, failing("down")), part(high, peerWith({}))]);
    expect(await merged.getTopChannels()).toMatchObject({ channel: [], end: true });
  });
});

describe("a process that fails", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("asks a process that failed again after the retry time, and not before", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
    const peer = peerWith({ top: [channel(1)] });
    let reads = 0;
    const flaky: Source = {
      ...peer,
      getTopChannels: async (...args) => {
        reads += 1;
        if (reads === 1) throw new ChannelzError("PEER_UNAVAILABLE", "down");
        return await peer.getTopChannels(...args);
      },
    };
    const merged = mergeSources([part("a", flaky)], { retryAfterMs: 500 });
    await expect(merged.getTopChannels()).rejects.toThrow("down");
    vi.setSystemTime(1_000_499);
    await expect(merged.getTopChannels()).rejects.toThrow("down");
    expect(reads).toBe(1);
    vi.setSystemTime(1_000_500);
    expect((await merged.getTopChannels()).channel).toHaveLength(1);
  });

  test("rejects with the error of the only process", async () => {
    const error = new ChannelzError("PEER_REFUSED", "no");
    const merged = mergeSources([part("a", { ...peerWith({}), getServers: () => Promise.reject(error) })]);
    await expect(merged.getServers()).rejects.toBe(error);
  });

  test("names the error of the first process as the cause if all fail", async () => {
    const merged = mergeSources(["a", "b"].map((origin) => part(origin, failing("down"))));
    const cause = { code: "PEER_UNAVAILABLE", message: "down" };
    await expect(merged.getTopChannels()).rejects.toMatchObject({ code: "PEER_UNAVAILABLE", cause });
  });

  test.each(["PEER_TIMEOUT", "PEER_REFUSED", "PEER_WITHOUT_CHANNELZ", "PEER_FAILED"] as const)(
    "remains in lists after a read of one object failed with %s",
    async (code) => {
      const getSocket = () => Promise.reject(new ChannelzError(code, "failed"));
      const merged = mergeSources([part("a", { ...peerWith({ top: [channel(1)] }), getSocket })]);
      await expect(merged.getSocket(merged.ids.encode("a", 7n) ?? 0n)).rejects.toMatchObject({ code });
      expect((await merged.getTopChannels()).channel).toHaveLength(1);
    },
  );

  test("leaves a process out of lists for a moment after a read of an object finds it gone, but not if only the object does not exist", async () => {
    const peer = peerWith({ top: [channel(1)] });
    const merged = mergeSources([part("a", { ...peer, getSubchannel: unavailable("gone") }), part("b", peer)]);
    const idOf = (id: bigint): bigint => merged.ids.encode("a", id) ?? 0n;
    await expect(merged.getChannel(idOf(7n))).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await merged.getTopChannels()).channel).toHaveLength(2);
    await expect(merged.getSubchannel(idOf(7n))).rejects.toThrow("gone");
    expect((await merged.getTopChannels()).channel.map(({ ref }) => ref?.name)).toEqual(["[b] channel 1"]);
    expect(merged.origins().find(({ name }) => name === "a")).toEqual({ name: "a", target: "a:1", error: "gone" });
  });

  test("[CZ-D-CLI-2] gives up a process at the deadline of the merged source", async () => {
    const silentPeer: Source = { ...peerWith({}), getTopChannels: () => new Promise(() => {}) };
    const merged = mergeSources([part("a", silentPeer)], { deadlineMs: 10 });
    const message = "Stopped reading a:1: reading it took longer than 10 ms.";
    await expect(merged.getTopChannels()).rejects.toMatchObject({ code: "PEER_TIMEOUT", message });
  });
});

describe("a caller that gives up", () => {
  const peer = peerWith({ top: [channel(1)] });

  /** Rejects as a client does when the caller aborts. */
  const untilAborted = (signal: AbortSignal | undefined) =>
    new Promise<never>((_, reject) => {
      const fail = () => reject(new ChannelzError("PEER_TIMEOUT", "The caller gave up."));
      if (signal?.aborted) fail();
      signal?.addEventListener("abort", fail);
    });

  test("gets the error of its own list, and no process counts as failed", async () => {
    let reads = 0;
    const slow: Source = {
      ...peer,
      getTopChannels: async (request, options) => {
        reads += 1;
        return reads === 1 ? await untilAborted(options?.signal) : await peer.getTopChannels(request, options);
      },
    };
    const merged = mergeSources([part("a", slow), part("b", peer)]);
    const controller = new AbortController();
    const reading = merged.getTopChannels({}, { signal: controller.signal });
    controller.abort();
    await expect(reading).rejects.toMatchObject({ code: "PEER_TIMEOUT", message: "The caller gave up." });
    expect(merged.origins().flatMap(({ error }) => error ?? [])).toEqual([]);
    expect((await merged.getTopChannels()).channel).toHaveLength(2);
  });

  test("gets the error of its own object, and the process does not count as failed", async () => {
    const slow: Source = { ...peer, getChannel: (_, options) => untilAborted(options?.signal) };
    const merged = mergeSources([part("a", slow)]);
    const reading = merged.getChannel(merged.ids.encode("a", 1n) ?? 0n, { signal: AbortSignal.abort() });
    await expect(reading).rejects.toThrow("The caller gave up.");
    expect((await merged.getTopChannels()).channel).toHaveLength(1);
  });

  test("gets its list if all processes respond nevertheless", async () => {
    const merged = mergeSources([part("a", peer)]);
    expect((await merged.getTopChannels({}, { signal: AbortSignal.abort() })).channel).toHaveLength(1);
  });
});

test("names the number of targets if none of them can have an object", async () => {
  const merged = mergeSources(["a", "b"].map((origin) => part(origin, peerWith({}))));
  const error = { code: "NOT_FOUND", message: "None of the 2 targets has channel 7." };
  await expect(merged.getChannel(7)).rejects.toMatchObject(error);
});

describe("gatherOrigins", () => {
  const peer = (origin: string): OriginSource => ({
    origin,
    target: `${origin}:1`,
    source: peerWith({ top: [channel(1)] }),
  });

  test("[CZ-D-CLI-2] does not wait longer than the grace for a process that has never responded", async () => {
    const never: OriginSource = {
      ...peer("slow"),
      source: { ...peerWith({}), getTopChannels: () => new Promise(() => {}) },
    };
    const gathered = await gatherOrigins(
      [never, peer("a")],
      async (source, signal) => (await source.getTopChannels({}, { signal })).channel.length,
      { graceMs: 10, deadlineMs: 0 },
    );
    expect(gathered[1]?.value).toBe(1);
    expect(gathered[0]?.error).toMatchObject({ code: "PEER_TIMEOUT" });
    expect(gathered[0]?.error?.message).toBe("Stopped reading slow:1: it has not responded, and all others have.");
  });

  test("continues to read a process that responds, long after all others are complete", async () => {
    let pages = 0;
    const long = async (source: Source): Promise<number> => {
      for (; pages < 30; pages += 1) {
        await source.getTopChannels();
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      return pages;
    };
    const gathered = await gatherOrigins(
      [peer("long"), peer("short")],
      async (source, _signal, { origin }) => (origin === "long" ? long(source) : 0),
      { graceMs: 1 },
    );
    expect(gathered.map(({ value }) => value)).toEqual([30, 0]);
  });

  test("ends each process at its deadline, even if the reader ignores the signal", async () => {
    const gathered = await gatherOrigins([peer("a")], () => new Promise<never>(() => {}), { deadlineMs: 10 });
    expect(gathered[0]?.error?.message).toBe("Stopped reading a:1: reading it took longer than 10 ms.");
  });

  test("keeps what a reader returns when its signal aborts", async () => {
    const gathered = await gatherOrigins(
      [peer("a")],
      (_source, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("partial"))),
      { deadlineMs: 10 },
    );
    expect(gathered[0]?.value).toBe("partial");
  });

  test("aborts all reads with the signal of the caller", async () => {
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const gathering = gatherOrigins(
      [peer("a"), peer("b")],
      (_source, signal) => new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("partial"))),
      { signal: controller.signal },
    );
    controller.abort();
    expect((await gathering).map(({ value }) => value)).toEqual(["partial", "partial"]);
  });
});
