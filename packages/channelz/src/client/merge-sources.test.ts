import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ChannelzConnection, connectChannelz } from "../dial/connect.js";
import { ChannelzError } from "../errors.js";
import { type ChannelzListener, listenChannelz } from "../listener/index.js";
import { createRegistry } from "../registry/index.js";
import type { Source } from "../source.js";
import { channel, peerWith, socketRefs } from "./fixed-peer.test.helper.js";
import { gatherOrigins, type OriginSource } from "./gather.js";
import { mergeSources } from "./merge-sources.js";
import { walkTopChannels } from "./walk.js";

const held: unknown[] = [];
const listeners: ChannelzListener[] = [];
const connections: ChannelzConnection[] = [];
let silent: Server;
let parts: OriginSource[];
const dead = new Set(["p7", "p8", "p150"]);

function connectTo(origin: string, target: string, timeoutMs = 20_000): OriginSource {
  const source = connectChannelz(target, { timeoutMs });
  connections.push(source);
  return { origin, target, source };
}

beforeAll(async () => {
  const registries = Array.from({ length: 200 }, (_, n) => {
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
  await Promise.all([...dead].map((name) => listeners[Number(name.slice(1))]?.close()));
  parts = listeners.map((listener, n) => connectTo(`p${n}`, n === 99 ? `127.0.0.1:${silentPort}` : listener.address));
});

afterAll(async () => {
  await Promise.all(connections.map((each) => each.close()));
  silent.close();
  await Promise.all(listeners.map((each) => each.close()));
});

describe("200 processes, three of them dead and one silent", () => {
  test("[CZ-D-CLI-2] [CZ-D-CLI-3] lists the objects of all that respond, and reports the others", async () => {
    // The call of the silent process would end with another error, after 20 seconds.
    const merged = mergeSources(parts, { graceMs: 3000 });
    const names = new Set<string>();
    for await (const { ref } of walkTopChannels(merged)) names.add(ref?.name ?? "");
    expect(names.size).toBe(196);
    expect(names).toContain("[p0] api");
    const failed = merged.origins().filter(({ error }) => error !== undefined);
    expect(failed.map(({ name }) => name).sort()).toEqual(["p150", "p7", "p8", "p99"]);
    for (const { name, error } of failed) {
      expect(error).toMatch(
        name === "p99" ? /was given up: it has not responded/ : /cannot be reached: .*ECONNREFUSED/,
      );
    }
  });

  test("[CZ-D-CLI-2] reads at most as many at a time as allowed, and all of them", async () => {
    let open = 0;
    let most = 0;
    const gathered = await gatherOrigins(
      parts.filter(({ origin }) => origin !== "p99"),
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
    expect(gathered.filter(({ value }) => value === 1)).toHaveLength(196);
    expect(gathered.map(({ origin }) => origin.origin)).toEqual(
      parts.map(({ origin }) => origin).filter((origin) => origin !== "p99"),
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
    expect(gathered[0]?.error?.message).toBe("slow:1 was given up: it has not responded, and all others have.");
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
    expect(gathered[0]?.error?.message).toBe("a:1 was given up: reading it took longer than 10 ms.");
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
