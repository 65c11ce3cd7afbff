import { timestampMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import { type ChannelTrace, type ChannelTraceEvent, Channelz } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { type ConnectivityState, isExpectedTransition } from "./connectivity.js";
import type { ChannelHandle, SubchannelHandle } from "./handles.js";
import { createRegistry, type Registry } from "./registry.js";

async function eventsOf(registry: Registry, id: number): Promise<ChannelTraceEvent[]> {
  return (await registry.getChannel(id)).channel!.data!.trace!.events;
}

async function isFound(registry: Registry, id: number): Promise<boolean> {
  for (const read of [() => registry.getChannel(id), () => registry.getSubchannel(id)]) {
    const found = await read().then(
      () => true,
      (error: unknown) => !ChannelzError.is(error, "NOT_FOUND"),
    );
    if (found) return true;
  }
  return false;
}

describe("traces", () => {
  test("[CZ-TRACE-1] [CZ-TRACE-2] [CZ-TRACE-3] [CZ-D-TRACE-1] keeps the latest events with their descriptions, severities and times, and counts all events", async () => {
    let time = 1_700_000_000_000;
    const registry = createRegistry({ maxTraceEvents: 3, clock: { now: () => time } });
    const channel = registry.addChannel();
    time += 1;
    channel.trace("one");
    channel.trace("two", { severity: "warning" });
    time += 1;
    channel.trace("three", { severity: "error" });
    channel.trace("four", { severity: "unknown" });
    const trace = (await registry.getChannel(channel.id)).channel!.data!.trace!;
    expect(trace.numEventsLogged).toBe(5n);
    expect(timestampMs(trace.creationTimestamp!)).toBe(1_700_000_000_000);
    expect(trace.events.map(({ description, severity }) => [description, severity])).toEqual([
      ["two", 2],
      ["three", 3],
      ["four", 0],
    ]);
    expect(trace.events.map(({ timestamp }) => timestampMs(timestamp!))).toEqual([
      1_700_000_000_001, 1_700_000_000_002, 1_700_000_000_002,
    ]);
  });

  test("[CZ-TRACE-3] inserts a past event by its time, and never logs one in the future", async () => {
    let time = 1_700_000_000_000;
    const registry = createRegistry({ maxTraceEvents: 3, clock: { now: () => time } });
    const channel = registry.addChannel();
    time += 100;
    channel.trace("last");
    channel.trace("past", { timeMs: time - 50, severity: "warning" });
    channel.trace("future", { timeMs: time + 50 });
    const events = await eventsOf(registry, channel.id);
    expect(events.map(({ description, timestamp }) => [description, timestampMs(timestamp!) - time])).toEqual([
      ["past", -50],
      ["last", 0],
      ["future", 0],
    ]);
    expect(() => channel.trace("no time", { timeMs: Number.NaN })).toThrow(TypeError);
  });

  test("[CZ-TRACE-3] appends an event at the end of the trace even if the clock was set back", async () => {
    let time = 1_700_000_000_000;
    const registry = createRegistry({ maxTraceEvents: 2, clock: { now: () => time } });
    const channel = registry.addChannel();
    channel.trace("before");
    time -= 3_600_000;
    channel.trace("after");
    expect((await eventsOf(registry, channel.id)).map(({ description }) => description)).toEqual(["before", "after"]);
  });

  test("[CZ-TRACE-4] [CZ-TRACE-5] refers to a child by its kind in an event about it, and otherwise to nothing", async () => {
    const registry = createRegistry();
    const channel = registry.addChannel();
    const subchannel = registry.addSubchannel({ parent: channel, name: "s" });
    const nested = registry.addChannel({ parent: channel });
    channel.trace("by hand", { child: nested });
    channel.trace("without a child");
    channel.setState("CONNECTING");
    const refs = (await eventsOf(registry, channel.id)).map(({ childRef }) => childRef);
    expect(refs[0]?.case).toBeUndefined();
    expect(refs[1]).toMatchObject({ case: "subchannelRef", value: { subchannelId: BigInt(subchannel.id), name: "s" } });
    expect(refs[2]).toMatchObject({ case: "channelRef", value: { channelId: BigInt(nested.id) } });
    expect(refs[3]).toMatchObject({ case: "channelRef", value: { channelId: BigInt(nested.id) } });
    expect(refs.slice(4).map((ref) => ref.case)).toEqual([undefined, undefined]);
  });

  test("[CZ-TRACE-6] returns traces with channels, subchannels and servers from each method, and not with sockets", async () => {
    const registry = createRegistry();
    const server = registry.addServer();
    server.trace("bound");
    const channel = registry.addChannel();
    const subchannel = registry.addSubchannel({ parent: channel });
    channel.trace("resolved");
    subchannel.trace("tried 127.0.0.1");
    const socket = registry.addSocket({ parent: subchannel });
    const last = (data: { readonly trace?: ChannelTrace | undefined } | undefined): string | undefined =>
      data?.trace?.events.at(-1)?.description;
    expect(last((await registry.getServer(server.id)).server?.data)).toBe("bound");
    expect(last((await registry.getServers()).server[0]?.data)).toBe("bound");
    expect(last((await registry.getChannel(channel.id)).channel?.data)).toBe("resolved");
    expect(last((await registry.getTopChannels()).channel[0]?.data)).toBe("resolved");
    expect(last((await registry.getSubchannel(subchannel.id)).subchannel?.data)).toBe("tried 127.0.0.1");
    const { socket: connection } = await registry.getSocket(socket.id);
    expect(
      JSON.stringify(connection, (_key, value) => (typeof value === "bigint" ? String(value) : value)),
    ).not.toMatch(/trace|tried/);
  });

  test("[CZ-TRACE-6] offers no streaming method for traces", () => {
    expect(Channelz.methods.map(({ methodKind }) => methodKind)).toEqual(Array(7).fill("unary"));
  });

  test("counts the events of a trace that keeps none", async () => {
    const registry = createRegistry({ maxTraceEvents: 0 });
    const channel = registry.addChannel();
    channel.trace("lost");
    const trace = (await registry.getChannel(channel.id)).channel!.data!.trace!;
    expect([trace.numEventsLogged, trace.events.length]).toEqual([2n, 0]);
    expect(registry.size.traceEvents).toBe(0);
  });

  test("[CZ-D-TRACE-2] removes the oldest events of all traces first when they exceed the shared limit in bytes", async () => {
    const registry = createRegistry({ maxTraceBytes: 10_000 });
    const old = registry.addChannel();
    old.trace("early");
    const busy = Array.from({ length: 10 }, () => registry.addChannel());
    for (let round = 0; round < 30; round += 1) for (const channel of busy) channel.trace(`${round} `.padEnd(100, "x"));
    expect(registry.size.traceBytes).toBeLessThanOrEqual(10_000);
    expect(registry.size.traceEvents).toBeGreaterThan(20);
    const trace = (await registry.getChannel(old.id)).channel!.data!.trace!;
    expect([trace.numEventsLogged, trace.events.length]).toEqual([2n, 0]);
  });

  test("[CZ-D-TRACE-6] keeps the cause of an outage through any number of attempts, by counting repetitions instead of appending them", async () => {
    let time = 1_700_000_000_000;
    const registry = createRegistry({ maxTraceEvents: 32, clock: { now: () => time } });
    const channel = registry.addChannel();
    channel.setState("CONNECTING");
    channel.setState("READY");
    channel.setState("TRANSIENT_FAILURE", "the certificate expired");
    for (let attempt = 0; attempt < 100; attempt += 1) {
      time += 1000;
      const child = registry.addSubchannel({ parent: channel, target: "127.0.0.1:1" });
      channel.setState("CONNECTING");
      child.close("refused");
      channel.setState("TRANSIENT_FAILURE", "refused");
    }
    const { numEventsLogged, events } = (await registry.getChannel(channel.id)).channel!.data!.trace!;
    const last = `subchannel ${channel.id + 100} (127.0.0.1:1)`;
    expect(events.map(({ description }) => description)).toEqual([
      "Created",
      "IDLE -> CONNECTING",
      "CONNECTING -> READY",
      "READY -> TRANSIENT_FAILURE: the certificate expired",
      `Created subchannel ${channel.id + 1} (127.0.0.1:1)`,
      "TRANSIENT_FAILURE -> CONNECTING",
      `Closed subchannel ${channel.id + 1} (127.0.0.1:1): refused`,
      "CONNECTING -> TRANSIENT_FAILURE: refused",
      `Created ${last} (repeated 99 times)`,
      "TRANSIENT_FAILURE -> CONNECTING (repeated 99 times)",
      `Closed ${last}: refused (repeated 99 times)`,
      "CONNECTING -> TRANSIENT_FAILURE: refused (repeated 99 times)",
    ]);
    expect(numEventsLogged).toBe(404n);
    const times = events.map(({ timestamp }) => timestampMs(timestamp!) - 1_700_000_000_000);
    expect(times).toEqual([0, 0, 0, 0, 1000, 1000, 1000, 1000, 100_000, 100_000, 100_000, 100_000]);
    expect(registry.size.traceEvents).toBeLessThan(1000);
  });

  test("[CZ-D-TRACE-6] does not combine events that differ in severity or refer to living children", async () => {
    const registry = createRegistry();
    const channel = registry.addChannel();
    for (const severity of ["info", "warning", "info", "warning", "info"] as const) channel.trace("same", { severity });
    const children = [1, 2, 3].map(() => registry.addSubchannel({ parent: channel, target: "a:1" }));
    const events = await eventsOf(registry, channel.id);
    expect(events.map(({ description, severity }) => [description, severity]).slice(1)).toEqual([
      ["same", 1],
      ["same", 2],
      ["same", 2],
      ["same (repeated 2 times)", 1],
      ...children.map(({ id }) => [`Created subchannel ${id} (a:1)`, 1]),
    ]);
  });

  test("[CZ-D-TRACE-6] combines events about any later socket, and about later children with the same kind, name and target", async () => {
    const registry = createRegistry();
    const descriptions = async (id: number): Promise<string[]> =>
      (await eventsOf(registry, id)).map(({ description }) => description).filter((one) => one.startsWith("Closed"));
    const withSockets = registry.addChannel();
    const last = [1, 2, 3].map((n) => {
      const socket = registry.addSocket({ parent: withSockets, name: `10.0.0.${n}:443` });
      socket.close("reset");
      return socket;
    });
    const named = (n: number): string => `Closed socket ${last[n]!.id} (10.0.0.${n + 1}:443): reset`;
    expect(await descriptions(withSockets.id)).toEqual([named(0), `${named(2)} (repeated 2 times)`]);
    const channel = registry.addChannel();
    for (const child of [
      registry.addSubchannel({ parent: channel, target: "a:1" }),
      registry.addSubchannel({ parent: channel, target: "a:2" }),
      registry.addSubchannel({ parent: channel, target: "a:1", name: "b" }),
      registry.addChannel({ parent: channel, target: "a:1" }),
    ]) {
      child.close("reset");
      child.close("again");
    }
    expect(await descriptions(channel.id)).toHaveLength(4);
    for (let i = 0; i < 2; i += 1) registry.addChannel({ parent: channel, target: "a:1" }).close("reset");
    expect((await descriptions(channel.id)).at(-1)).toMatch(/^Closed channel .*: reset \(repeated 2 times\)$/);
    registry.addChannel({ parent: channel, target: "a:1" }).close("another reason");
    expect((await descriptions(channel.id)).at(-1)).toMatch(/another reason$/);
  });

  test("[CZ-D-TRACE-6] counts repetitions of the first event of a trace", async () => {
    const registry = createRegistry();
    const channel = registry.addChannel();
    for (let i = 0; i < 3; i += 1) channel.trace("Created");
    expect((await eventsOf(registry, channel.id)).map(({ description }) => description)).toEqual([
      "Created",
      "Created (repeated 3 times)",
    ]);
  });

  test("[CZ-D-TRACE-6] shows the number of repetitions of a description that is cut, within the maximum length", async () => {
    const registry = createRegistry();
    const channel = registry.addChannel();
    for (let i = 0; i < 4; i += 1) channel.trace("x".repeat(5000));
    const { description } = (await eventsOf(registry, channel.id)).at(-1)!;
    expect(description).toMatch(/^x+… \(repeated 3 times\)$/);
    expect(description).toHaveLength(1024);
  });

  test("[CZ-D-TRACE-2] counts the target of a child once in the event and once more for finding its repetitions", () => {
    const registry = createRegistry();
    const channel = registry.addChannel();
    const bytes = (target: string): number => {
      const before = registry.size.traceBytes;
      registry.addSubchannel({ parent: channel, target });
      return registry.size.traceBytes - before;
    };
    expect(bytes("t".repeat(500)) - bytes("t".repeat(300))).toBe(2 * 200);
    channel.trace("short");
    const before = registry.size.traceBytes;
    channel.trace("x".repeat(100_000));
    expect(registry.size.traceBytes - before, "no more than is shown is kept of a long description").toBeLessThan(2000);
  });

  test("refuses unknown severities and states", () => {
    const channel = createRegistry().addChannel();
    expect(() => channel.trace("loud", { severity: "fatal" as never })).toThrow(/severity must be one of/);
    expect(() => channel.setState("ready" as never)).toThrow(/state must be one of/);
  });

  test("refuses a child of another registry", () => {
    const channel = createRegistry().addChannel();
    const stranger = createRegistry().addChannel();
    expect(() => channel.trace("about a stranger", { child: stranger })).toThrow(TypeError);
  });

  test("truncates a string that is too long, and never within a character", async () => {
    const registry = createRegistry();
    const channel = registry.addChannel();
    channel.trace("🦊".repeat(100_000));
    const { description } = (await eventsOf(registry, channel.id)).at(-1)!;
    expect(description.length).toBeLessThanOrEqual(1024);
    expect(description.endsWith("…")).toBe(true);
    expect(description.isWellFormed()).toBe(true);
  });
});

describe("states", () => {
  const all: readonly ConnectivityState[] = ["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"];
  const expected: Record<string, readonly string[]> = {
    IDLE: ["CONNECTING", "SHUTDOWN"],
    CONNECTING: ["READY", "TRANSIENT_FAILURE", "IDLE", "SHUTDOWN"],
    READY: ["TRANSIENT_FAILURE", "IDLE", "SHUTDOWN"],
    TRANSIENT_FAILURE: ["CONNECTING", "READY", "SHUTDOWN"],
    SHUTDOWN: [],
  };

  test("[CZ-D-STATE-1] [CZ-D-STATE-2] [CZ-D-STATE-3] [CZ-D-STATE-4] [CZ-D-STATE-5] changes a state along the edges of gRPC, warns about other changes, never leaves SHUTDOWN, and traces each change", async () => {
    const registry = createRegistry();
    for (const kind of ["channel", "subchannel"] as const) {
      for (const from of all) {
        for (const to of [...all, "UNKNOWN"] as const) {
          const node = kind === "channel" ? registry.addChannel() : registry.addSubchannel();
          // Any state may follow UNKNOWN without a warning.
          node.setState("UNKNOWN");
          node.setState(from);
          node.setState(to, "the cause");
          expect(node.state).toBe(from === "SHUTDOWN" ? from : to);
          const reported =
            kind === "channel"
              ? (await registry.getChannel(node.id)).channel!.data!
              : (await registry.getSubchannel(node.id)).subchannel!.data!;
          const last = reported.trace!.events.at(-1)!;
          if (from === to) {
            expect(last.description).not.toContain("the cause");
            continue;
          }
          if (from === "SHUTDOWN") {
            expect(last).toMatchObject({
              description: `SHUTDOWN -> ${to} ignored, because SHUTDOWN is final`,
              severity: 2,
            });
            continue;
          }
          const isBackOff = kind === "subchannel" && from === "TRANSIENT_FAILURE" && to === "IDLE";
          const isExpected = expected[from]!.includes(to) || isBackOff;
          expect(last.description).toBe(`${from} -> ${to}${isExpected ? "" : " (unexpected)"}: the cause`);
          expect(last.severity).toBe(!isExpected || to === "TRANSIENT_FAILURE" ? 2 : 1);
        }
      }
    }
  });

  test("[CZ-D-STATE-2] [CZ-D-STATE-3] does not expect a subchannel to leave SHUTDOWN for IDLE", () => {
    expect(isExpectedTransition("TRANSIENT_FAILURE", "IDLE", true)).toBe(true);
    expect(isExpectedTransition("SHUTDOWN", "IDLE", true)).toBe(false);
  });

  test("[CZ-D-STATE-3] [CZ-D-GRAVE-1] sets the state to SHUTDOWN at close, and keeps it", async () => {
    const registry = createRegistry();
    const channel = registry.addChannel();
    channel.close("done");
    channel.setState("READY");
    channel.trace("too late");
    const data = (await registry.getChannel(channel.id)).channel!.data!;
    expect(data.state?.state).toBe(5);
    expect(data.trace?.events.at(-1)?.description).toBe("IDLE -> SHUTDOWN, closed: done");
  });
});

describe("references of trace events", () => {
  test("[CZ-D-TRACE-3] keeps a closed object readable while an event refers to it, and also what its own trace refers to", async () => {
    const registry = createRegistry({ maxClosed: 0 });
    const top = registry.addChannel();
    const middle = registry.addChannel({ parent: top });
    const bottom = registry.addSubchannel({ parent: middle });
    bottom.close("gone");
    middle.close("gone too");
    expect(await isFound(registry, middle.id)).toBe(true);
    expect(await isFound(registry, bottom.id)).toBe(true);
  });

  test("[CZ-D-TRACE-4] releases a closed object when the event is overwritten", async () => {
    const registry = createRegistry({ maxClosed: 0, maxTraceEvents: 4 });
    const top = registry.addChannel();
    const middle = registry.addChannel({ parent: top });
    const bottom = registry.addSubchannel({ parent: middle });
    bottom.close();
    middle.close();
    for (let i = 0; i < 3; i += 1) top.trace(`more ${i}`);
    expect(await isFound(registry, middle.id)).toBe(true);
    top.trace("more");
    expect(await isFound(registry, middle.id)).toBe(false);
    expect(await isFound(registry, bottom.id)).toBe(false);
    expect(registry.size.closed).toBe(0);
  });

  test("[CZ-D-TRACE-4] releases a closed object when the owner of the trace is removed", async () => {
    const registry = createRegistry({ maxClosed: 0 });
    const top = registry.addChannel();
    const child = registry.addSubchannel({ parent: top });
    child.close();
    expect(registry.size.closed).toBe(1);
    top.close();
    expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, closed: 0, traceEvents: 0, traceBytes: 0 });
  });

  test("releases objects that refer to each other in a cycle", () => {
    const registry = createRegistry({ maxClosed: 0 });
    const one = registry.addChannel();
    const two = registry.addChannel();
    const three = registry.addChannel();
    one.trace("about two", { child: two });
    two.trace("about three", { child: three });
    three.trace("about one", { child: one });
    one.trace("about itself", { child: one });
    for (const channel of [one, two, three]) channel.close();
    expect(registry.size).toMatchObject({ closed: 0, traceEvents: 0 });
  });

  test("releases chains of references of any length", () => {
    const registry = createRegistry({ maxClosed: 0, maxTraceBytes: 64 * 1024 * 1024 });
    const chain = [registry.addChannel()];
    for (let i = 0; i < 20_000; i += 1) {
      const next = registry.addChannel();
      chain.at(-1)!.trace("next", { child: next });
      chain.push(next);
    }
    for (const channel of chain.slice(1)) channel.close();
    expect(registry.size.closed).toBe(20_000);
    chain[0]!.close();
    expect(registry.size.closed).toBe(0);
  });

  test("[CZ-D-TRACE-3] [CZ-D-TRACE-4] keeps an object readable exactly while an event of a readable object refers to it, whatever happens", async () => {
    const step = fc.record({
      act: fc.constantFrom("add", "refer", "refer", "chatter", "close"),
      a: fc.nat(),
      b: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const registry = createRegistry({ maxClosed: 0, maxTraceEvents: 4 });
        const nodes: (ChannelHandle | SubchannelHandle)[] = [registry.addChannel(), registry.addSubchannel()];
        const living = new Set(nodes.map(({ id }) => id));
        for (const { act, a, b } of steps) {
          const one = nodes[a % nodes.length]!;
          const two = nodes[b % nodes.length]!;
          if (act === "add") {
            const added = registry.addChannel(living.has(one.id) ? { parent: one } : {});
            nodes.push(added);
            living.add(added.id);
          } else if (act === "refer") {
            // An event about a removed object retains nothing.
            if (living.has(two.id) && one !== two) one.trace("refers", { child: two });
          } else if (act === "chatter") {
            one.trace("words");
          } else {
            one.close();
            living.delete(one.id);
          }
        }
        // As a reader sees it: from live objects, along the refs of events.
        const found = new Map<number, boolean>();
        for (const { id } of nodes) found.set(id, await isFound(registry, id));
        for (const id of living) expect(found.get(id)).toBe(true);
        const spokenOf = new Set<number>();
        for (const { id, kind } of nodes) {
          if (!found.get(id)) continue;
          const data =
            kind === "channel"
              ? (await registry.getChannel(id)).channel!.data!
              : (await registry.getSubchannel(id)).subchannel!.data!;
          for (const { childRef } of data.trace!.events) {
            if (childRef.case === "channelRef") spokenOf.add(Number(childRef.value.channelId));
            if (childRef.case === "subchannelRef") spokenOf.add(Number(childRef.value.subchannelId));
          }
        }
        for (const { id } of nodes) if (found.get(id)) expect(living.has(id) || spokenOf.has(id)).toBe(true);
        // And nothing is left when all is closed.
        for (const node of nodes) node.close();
        expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, closed: 0, traceEvents: 0, traceBytes: 0 });
      }),
      { numRuns: 120 },
    );
  });
});
