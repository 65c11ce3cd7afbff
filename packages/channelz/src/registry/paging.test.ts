import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChannelHandle, type ServerHandle } from "./handles.js";
import { createRegistry, type Registry } from "./registry.js";

interface Page {
  readonly ids: number[];
  readonly end: boolean;
}

interface List {
  readonly name: string;
  /** Adds the owner of the list, if it has one. */
  readonly addOwner?: (registry: Registry) => ServerHandle;
  readonly add: (registry: Registry, owner: ServerHandle | undefined) => { id: number; close(): void };
  readonly page: (registry: Registry, ownerId: number, startId: bigint, maxResults: bigint) => Promise<Page>;
}

const lists: readonly List[] = [
  {
    name: "GetTopChannels",
    add: (registry) => registry.addChannel(),
    page: async (registry, _ownerId, startId, maxResults) => {
      const { channel, end } = await registry.getTopChannels({ startId, maxResults });
      return { ids: channel.map(({ ref }) => Number(ref?.channelId)), end };
    },
  },
  {
    name: "GetServers",
    add: (registry) => registry.addServer(),
    page: async (registry, _ownerId, startId, maxResults) => {
      const { server, end } = await registry.getServers({ startId, maxResults });
      return { ids: server.map(({ ref }) => Number(ref?.serverId)), end };
    },
  },
  {
    name: "GetServerSockets",
    addOwner: (registry) => registry.addServer(),
    add: (registry, server) => registry.addSocket({ server: server! }),
    page: async (registry, ownerId, startId, maxResults) => {
      const { socketRef, end } = await registry.getServerSockets(ownerId, { startId, maxResults });
      return { ids: socketRef.map(({ socketId }) => Number(socketId)), end };
    },
  },
];

/** Nests channels and subchannels, links a listed channel under another, and closes the parents again: no list changes. */
function nest(registry: Registry, listed: unknown, count: number): void {
  for (let i = 0; i < count; i += 1) {
    const parent = registry.addSubchannel();
    const middle = registry.addChannel({ parent });
    nested.push(middle, registry.addChannel({ parent: middle }));
    if (listed instanceof ChannelHandle) parent.link(listed);
    parent.close();
    if (i % 2 === 0) middle.close();
  }
}

/** Keeps nested objects alive, because the registry removes dropped objects. */
const nested: ChannelHandle[] = [];

describe.each(lists)("$name", ({ addOwner, add, page }) => {
  test("[CZ-PAGE-1] [CZ-PAGE-2] [CZ-PAGE-3] [CZ-PAGE-4] [CZ-PAGE-5] [CZ-D-PAGE-3] [CZ-LIMIT-1] yields every object that lives through a walk exactly once, whatever is added and removed meanwhile", async () => {
    const step = fc.record({
      add: fc.nat(6),
      remove: fc.array(fc.nat(), { maxLength: 6 }),
      others: fc.nat(3),
      maxResults: fc.integer({ min: 1, max: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.nat(300), fc.array(step, { minLength: 1, maxLength: 40 }), async (initial, steps) => {
        const registry = createRegistry({ maxClosed: 5 });
        const owner = addOwner?.(registry);
        const ownerId = owner?.id ?? 0;
        const living = Array.from({ length: initial }, () => add(registry, owner));
        const throughout = new Set(living.map(({ id }) => id));
        const everAdded = new Set(throughout);
        const seen: number[] = [];
        let startId = 0n;
        let end = false;
        for (let turn = 0; !end; turn += 1) {
          const { add: adds, remove, others, maxResults } = steps[turn % steps.length]!;
          const found = await page(registry, ownerId, startId, BigInt(maxResults));
          end = found.end;
          expect(found.ids.length).toBeLessThanOrEqual(maxResults);
          expect(found.ids.length > 0 || end).toBe(true);
          expect(found.ids.every((id) => BigInt(id) >= startId)).toBe(true);
          seen.push(...found.ids);
          // Objects that a later call finds beyond the end were created after this one.
          if (end) expect(living.every(({ id }) => BigInt(id) < startId || found.ids.includes(id))).toBe(true);
          if (found.ids.length > 0) startId = BigInt(found.ids.at(-1)!) + 1n;
          // Later objects would keep the walk going forever; a real walk follows them too, but must end here.
          if (turn < 60) {
            for (let i = 0; i < adds; i += 1) {
              const added = add(registry, owner);
              living.push(added);
              everAdded.add(added.id);
            }
          }
          for (let i = 0; i < others; i += 1) registry.addSubchannel().close();
          nest(registry, living.at(-1), others);
          for (const pick of remove) {
            if (living.length === 0) break;
            const [gone] = living.splice(pick % living.length, 1);
            gone!.close();
            throughout.delete(gone!.id);
          }
        }
        expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
        expect(seen.every((id) => everAdded.has(id))).toBe(true);
        const sawAll = new Set(seen);
        for (const id of throughout) expect(sawAll.has(id)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  test("[CZ-LIMIT-2] [CZ-D-PAGE-1] [CZ-D-PAGE-2] returns 100 items per page by default and never more than 1000", async () => {
    const registry = createRegistry();
    const owner = addOwner?.(registry);
    const ownerId = owner?.id ?? 0;
    const kept = Array.from({ length: 1500 }, () => add(registry, owner));
    expect((await page(registry, ownerId, BigInt(ownerId + 1), 0n)).ids.length).toBe(100);
    for (const maxResults of [1000n, 1001n, 1_000_000n, 2n ** 63n - 1n]) {
      const found = await page(registry, ownerId, BigInt(ownerId + 1), maxResults);
      expect(found.ids.length).toBe(1000);
      expect(found.end).toBe(false);
    }
    for (const one of kept) one.close();
  });

  test("[CZ-D-ARG-1] rejects a negative page size with INVALID_ARGUMENT and says what to send", async () => {
    const registry = createRegistry();
    const owner = addOwner?.(registry);
    const ownerId = owner?.id ?? 0;
    for (const maxResults of [-1n, -(2n ** 63n)]) {
      await expect(page(registry, ownerId, 0n, maxResults)).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining("Send 0"),
      });
    }
  });

  test("[CZ-D-ARG-2] returns the first page for a start id below 0", async () => {
    const registry = createRegistry();
    const owner = addOwner?.(registry);
    const ownerId = owner?.id ?? 0;
    const first = add(registry, owner);
    expect((await page(registry, ownerId, -(2n ** 63n), 0n)).ids).toEqual([first.id]);
  });

  test("[CZ-ERR-2] returns an empty last page after the last item, even for the largest id", async () => {
    const registry = createRegistry();
    const owner = addOwner?.(registry);
    const ownerId = owner?.id ?? 0;
    expect(await page(registry, ownerId, BigInt(ownerId + 1), 0n)).toEqual({ ids: [], end: true });
    const { id } = add(registry, owner);
    expect(await page(registry, ownerId, BigInt(id + 1), 0n)).toEqual({ ids: [], end: true });
    expect(await page(registry, ownerId, 2n ** 63n - 1n, 1n)).toEqual({ ids: [], end: true });
  });

  test("[CZ-PAGE-5] sets end on a page that ends exactly at the last item", async () => {
    const registry = createRegistry();
    const owner = addOwner?.(registry);
    const ownerId = owner?.id ?? 0;
    const kept = Array.from({ length: 10 }, () => add(registry, owner));
    expect((await page(registry, ownerId, BigInt(ownerId + 1), 10n)).end).toBe(true);
    expect((await page(registry, ownerId, BigInt(ownerId + 1), 9n)).end).toBe(false);
    for (const one of kept) one.close();
  });
});

test("[CZ-OP-2] [CZ-PAGE-5] treats a channel as a top channel exactly if the application added it without a parent, for its whole life", async () => {
  const registry = createRegistry();
  const top = registry.addChannel();
  const nested = registry.addChannel({ parent: top });
  const subchannel = registry.addSubchannel();
  const later = registry.addChannel();
  const ids = async (): Promise<number[]> =>
    (await registry.getTopChannels()).channel.map(({ ref }) => Number(ref?.channelId));
  expect(await ids()).toEqual([top.id, later.id]);
  top.link(later);
  expect(await ids()).toEqual([top.id, later.id]);
  top.unlink(later);
  expect(await ids()).toEqual([top.id, later.id]);
  top.link(later);
  top.unlink(nested);
  expect(await ids()).toEqual([top.id, later.id]);
  top.link(nested);
  top.close();
  expect(await ids()).toEqual([later.id]);
  expect((await registry.getChannel(nested.id)).channel?.ref?.channelId).toBe(BigInt(nested.id));
  subchannel.close();
});

test("[CZ-PAGE-5] [CZ-D-PAGE-3] keeps a page below the size that clients accept, and continues the walk after it", async () => {
  const registry = createRegistry({ maxTraceBytes: 64 * 1024 * 1024 });
  const channels = Array.from({ length: 300 }, () => registry.addChannel());
  for (const channel of channels) for (let i = 0; i < 31; i += 1) channel.trace(`${i} `.padEnd(1000, "x"));
  const seen: bigint[] = [];
  let startId = 0n;
  let pages = 0;
  for (let end = false; !end; pages += 1) {
    const bytes = registry.encode({ method: "GetTopChannels", startId, maxResults: 1000n }, "rpc.channelz.v1", 0);
    expect(bytes.length).toBeLessThan(4 * 1024 * 1024);
    const page = await registry.getTopChannels({ startId, maxResults: 1000 });
    seen.push(...page.channel.map(({ ref }) => ref!.channelId));
    startId = seen.at(-1)! + 1n;
    end = page.end;
  }
  expect(pages).toBeGreaterThan(1);
  expect(seen).toEqual(channels.map(({ id }) => BigInt(id)));
});
