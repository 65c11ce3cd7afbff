import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import type { ChannelHandle, SubchannelHandle } from "./handles.js";
import { createRegistry, type Registry } from "./registry.js";

function failure(act: () => unknown): ChannelzError {
  try {
    act();
  } catch (error) {
    if (ChannelzError.is(error)) return error;
    throw error;
  }
  throw new Error("It did not throw.");
}

async function childIds(registry: Registry, node: ChannelHandle | SubchannelHandle): Promise<number[]> {
  const reported =
    node.kind === "channel"
      ? (await registry.getChannel(node.id)).channel!
      : (await registry.getSubchannel(node.id)).subchannel!;
  return [
    ...reported.channelRef.map(({ channelId }) => Number(channelId)),
    ...reported.subchannelRef.map(({ subchannelId }) => Number(subchannelId)),
    ...reported.socketRef.map(({ socketId }) => Number(socketId)),
  ];
}

describe("links", () => {
  test("[CZ-CHANNEL-2] [CZ-SUBCHANNEL-2] [CZ-D-LINK-1] refuses to mix sockets and channels under a parent, names both, and changes nothing", async () => {
    const registry = createRegistry();
    const parent = registry.addChannel({ target: "dns:///orders" });
    const subchannel = registry.addSubchannel({ parent, name: "first" });
    const socket = registry.addSocket({ name: "loose" });
    const mixed = failure(() => parent.link(socket));
    expect(mixed.code).toBe("LINK_MIXED_CHILDREN");
    expect(mixed.message).toContain(`socket ${socket.id} (loose)`);
    expect(mixed.message).toContain(`channel ${parent.id} (dns:///orders)`);
    expect(failure(() => registry.addSocket({ parent })).code).toBe("LINK_MIXED_CHILDREN");
    subchannel.link(socket);
    expect(failure(() => registry.addChannel({ parent: subchannel })).code).toBe("LINK_MIXED_CHILDREN");
    expect(failure(() => registry.addSubchannel({ parent: subchannel })).code).toBe("LINK_MIXED_CHILDREN");
    expect(await childIds(registry, parent)).toEqual([subchannel.id]);
    expect(await childIds(registry, subchannel)).toEqual([socket.id]);
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 1, sockets: 1 });
  });

  test("[CZ-CHANNEL-2] [CZ-SUBCHANNEL-2] allows channels and subchannels together as children, or sockets, whichever came first", async () => {
    const registry = createRegistry();
    const children = {
      channel: (parent: ChannelHandle | SubchannelHandle) => registry.addChannel({ parent }),
      subchannel: (parent: ChannelHandle | SubchannelHandle) => registry.addSubchannel({ parent }),
      socket: (parent: ChannelHandle | SubchannelHandle) => registry.addSocket({ parent }),
    };
    for (const [first, addFirst] of Object.entries(children)) {
      for (const [second, addSecond] of Object.entries(children)) {
        for (const parent of [registry.addChannel(), registry.addSubchannel()]) {
          const added = [addFirst(parent)];
          if ((first === "socket") === (second === "socket")) added.push(addSecond(parent));
          else expect(failure(() => addSecond(parent)).code).toBe("LINK_MIXED_CHILDREN");
          const found = await childIds(registry, parent);
          expect(new Set(found), `${second} after ${first}`).toEqual(new Set(added.map(({ id }) => id)));
        }
      }
    }
  });

  test("[CZ-CHANNEL-2] allows another kind of children once the parent has none left", async () => {
    const registry = createRegistry();
    const parent = registry.addSubchannel();
    registry.addSocket({ parent }).close();
    const child = registry.addChannel({ parent });
    expect(await childIds(registry, parent)).toEqual([child.id]);
  });

  test("[CZ-D-LINK-2] refuses a link that would close a cycle, and names both ends", () => {
    const registry = createRegistry();
    const top = registry.addChannel({ name: "top" });
    const middle = registry.addSubchannel({ parent: top });
    const bottom = registry.addChannel({ parent: middle, name: "bottom" });
    const cycle = failure(() => bottom.link(top));
    expect(cycle.code).toBe("LINK_CYCLE");
    expect(cycle.message).toContain(`channel ${top.id} (top)`);
    expect(cycle.message).toContain(`channel ${bottom.id} (bottom) is already below it`);
    expect(failure(() => top.link(top)).message).toContain("its own child");
    for (const parent of [registry.addChannel(), registry.addSubchannel()]) {
      const nested = registry.addChannel({ parent });
      expect(failure(() => nested.link(parent)).code, `a ${parent.kind} with only channels`).toBe("LINK_CYCLE");
    }
  });

  test("[CZ-CHANNEL-5] links a channel or subchannel to several parents, and shows it once under each", async () => {
    const registry = createRegistry();
    for (const shared of [registry.addSubchannel(), registry.addChannel()]) {
      const parents = [registry.addChannel(), registry.addChannel(), registry.addSubchannel()];
      for (const parent of [...parents, ...parents]) parent.link(shared);
      for (const parent of parents) expect(await childIds(registry, parent)).toEqual([shared.id]);
      expect(parents[0]!.unlink(shared)).toBe(true);
      expect(parents[0]!.unlink(shared)).toBe(false);
      expect(await childIds(registry, parents[0]!)).toEqual([]);
      expect(await childIds(registry, parents[1]!)).toEqual([shared.id]);
    }
  });

  test("links a child once, and unlinks only through its own registry", async () => {
    const registry = createRegistry();
    const parent = registry.addChannel();
    const child = registry.addSubchannel({ parent });
    parent.link(child);
    const { trace } = (await registry.getChannel(parent.id)).channel!.data!;
    expect(trace?.events.map(({ description }) => description)).toEqual(["Created", `Created subchannel ${child.id}`]);
    const other = createRegistry();
    const twin = [other.addChannel(), other.addSubchannel()][1] as SubchannelHandle;
    expect(twin.id).toBe(child.id);
    expect(parent.unlink(twin)).toBe(false);
    expect(await childIds(registry, parent)).toEqual([child.id]);
  });

  test("links and unlinks a socket once, after which it can get another owner", async () => {
    const registry = createRegistry();
    const [first, second] = [registry.addSubchannel(), registry.addSubchannel()];
    const socket = registry.addSocket({ parent: first });
    const eventsOfFirst = async () => (await registry.getSubchannel(first.id)).subchannel!.data!.trace!.events.length;
    const before = await eventsOfFirst();
    first.link(socket);
    expect(await eventsOfFirst()).toBe(before);
    expect(second.unlink(socket)).toBe(false);
    expect(failure(() => second.link(socket)).code).toBe("LINK_REFUSED");
    expect(await childIds(registry, first)).toEqual([socket.id]);
    expect(first.unlink(socket)).toBe(true);
    expect(first.unlink(socket)).toBe(false);
    second.link(socket);
    expect(await childIds(registry, first)).toEqual([]);
    expect(await childIds(registry, second)).toEqual([socket.id]);
  });

  test("logs to a parent which channels and subchannels were unlinked, and not which sockets", async () => {
    const registry = createRegistry();
    const parent = registry.addChannel();
    for (const child of [registry.addSubchannel({ parent }), registry.addChannel({ parent })]) {
      parent.unlink(child);
      const { trace } = (await registry.getChannel(parent.id)).channel!.data!;
      expect(trace?.events.at(-1)).toMatchObject({
        description: `Unlinked ${child.kind} ${child.id}`,
        severity: 1,
        childRef: { case: `${child.kind}Ref`, value: { [`${child.kind}Id`]: BigInt(child.id) } },
      });
    }
    const eventsLogged = async () => (await registry.getChannel(parent.id)).channel?.data?.trace?.numEventsLogged;
    const before = await eventsLogged();
    parent.unlink(registry.addSocket({ parent }));
    expect(await eventsLogged()).toBe(before);
  });

  test("[CZ-CHANNEL-2] refuses to link a socket to a parent that has only nested channels", async () => {
    const registry = createRegistry();
    const parent = registry.addChannel();
    const nested = registry.addChannel({ parent });
    expect(failure(() => registry.addSocket({ parent })).code).toBe("LINK_MIXED_CHILDREN");
    expect(await childIds(registry, parent)).toEqual([nested.id]);
  });

  test("refuses to link anything but channels, subchannels and sockets", () => {
    const registry = createRegistry();
    const parent = registry.addChannel();
    const server = registry.addServer();
    for (const child of [server, undefined, {}]) {
      expect(() => parent.link(child as never)).toThrow(TypeError);
      expect(() => parent.unlink(child as never)).toThrow(TypeError);
    }
  });

  test("refuses to link closed objects, objects of another registry, and sockets that have an owner", () => {
    const registry = createRegistry();
    const other = createRegistry();
    const channel = registry.addChannel();
    const closed = registry.addSubchannel();
    closed.close();
    expect(failure(() => channel.link(closed)).code).toBe("LINK_REFUSED");
    expect(failure(() => registry.addSocket({ parent: closed })).code).toBe("LINK_REFUSED");
    expect(failure(() => channel.link(other.addChannel())).code).toBe("LINK_REFUSED");
    expect(failure(() => registry.addSubchannel({ parent: other.addChannel() })).code).toBe("LINK_REFUSED");
    const server = registry.addServer();
    const owned = registry.addSocket({ server });
    const refused = failure(() => registry.addSubchannel().link(owned));
    expect(refused.code).toBe("LINK_REFUSED");
    expect(refused.message).toContain(`server ${server.id}`);
    server.close();
    expect(failure(() => registry.addListenSocket({ server })).code).toBe("LINK_REFUSED");
    expect(() => registry.addSocket({ server, parent: channel })).toThrow(TypeError);
  });
});

test("[CZ-CHANNEL-4] [CZ-SUBCHANNEL-2] keeps the graph free of cycles, whatever is linked, unlinked and closed", async () => {
  const step = fc.record({
    act: fc.constantFrom("link", "link", "link", "unlink", "close", "add"),
    a: fc.nat(),
    b: fc.nat(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const registry = createRegistry();
      const nodes: (ChannelHandle | SubchannelHandle)[] = [];
      for (let i = 0; i < 8; i += 1) nodes.push(i % 2 === 0 ? registry.addChannel() : registry.addSubchannel());
      for (const { act, a, b } of steps) {
        const one = nodes[a % nodes.length]!;
        const two = nodes[b % nodes.length]!;
        try {
          if (act === "link") one.link(two);
          else if (act === "unlink") one.unlink(two);
          else if (act === "add") nodes.push(registry.addChannel({ parent: one }));
          else one.close();
        } catch (error) {
          if (!ChannelzError.is(error, "LINK_CYCLE") && !ChannelzError.is(error, "LINK_REFUSED")) throw error;
        }
      }
      // As a reader sees it: no walk down the refs comes back to where it has been.
      const done = new Set<number>();
      const walk = async (node: ChannelHandle | SubchannelHandle, path: readonly number[]): Promise<void> => {
        expect(path).not.toContain(node.id);
        if (done.has(node.id)) return;
        for (const id of await childIds(registry, node)) {
          await walk(nodes.find((child) => child.id === id)!, [...path, node.id]);
        }
        done.add(node.id);
      };
      for (const node of nodes) await walk(node, []);
    }),
    { numRuns: 80 },
  );
});
