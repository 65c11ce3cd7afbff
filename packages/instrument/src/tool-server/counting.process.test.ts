import { createRegistry, type Registry } from "@wirescope/channelz";
import type { ConnectionInfo, SocketInfo, TransportInfo } from "@wirescope/tool-server";
import fc from "fast-check";
import { expect, test } from "vitest";
import { callsOf, type Outcomes, streamsOf } from "../http/both-ends.test.helper.js";
import {
  channelOf,
  childProcessInfo,
  connectionInfo,
  publish,
  readAll,
  transportInfo,
} from "./connection-info.test.helper.js";
import { observeToolServers } from "./observe-tool-servers.js";

/** Two connections with two transports each, and these with two sockets each; their names distinguish them. */
interface World {
  readonly connections: readonly ConnectionInfo[];
  readonly transports: readonly TransportInfo[];
  readonly sockets: readonly SocketInfo[];
}

function createWorld(): World {
  const connections = ["a", "b"].map((name) => connectionInfo({ name }));
  const transports = connections.flatMap((one) => ["1", "2"].map((n) => transportInfo(one, `${one.name}${n}`)));
  const sockets = transports.flatMap((transport, index) =>
    [1, 2].map((n) => childProcessInfo(index * 10 + n, transport)),
  );
  return { connections, transports, sockets };
}

const verbs = ["opened", "state", "started", "succeeded", "failed", "message", "trace", "closed"] as const;
type Step = readonly [kind: keyof World, verb: (typeof verbs)[number], index: number];

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom("connections", "transports", "sockets"),
  // Ends are rarer than other events, so that objects live for a while.
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...verbs) }, { weight: 8, arbitrary: fc.constant("started") }),
  fc.nat(7),
) as fc.Arbitrary<Step>;

function take(world: World, [kind, verb, index]: Step): ConnectionInfo | TransportInfo | SocketInfo {
  if (kind === "sockets") {
    const socketInfo = world.sockets[index]!;
    if (verb === "closed") publish("socket:closed", { subject: socketInfo, reason: "closed" });
    else if (verb === "opened") publish("socket:opened", socketInfo);
    else if (verb === "started" || verb === "succeeded" || verb === "failed")
      publish(`socket:stream-${verb}`, socketInfo);
    else publish("socket:message-sent", socketInfo);
    return socketInfo;
  }
  const subject = kind === "connections" ? world.connections[index % 2]! : world.transports[index % 4]!;
  const about = "connection" in subject ? "transport" : "connection";
  if (verb === "closed") publish(`${about}:closed`, { subject, reason: "closed" } as never);
  else if (verb === "opened") publish(`${about}:opened`, subject as never);
  else if (verb === "started" || verb === "succeeded" || verb === "failed") {
    publish(`${about}:call-${verb}`, subject as never);
  } else if (verb === "state") publish(`${about}:state`, { subject, state: "READY", reason: undefined } as never);
  else publish("trace", { subject, severity: "info", text: "something" });
  return subject;
}

/** The names of the objects under test in the registry. */
function nameOf(info: ConnectionInfo | TransportInfo | SocketInfo): string {
  if ("transport" in info) return info.kind === "child" ? `pid ${info.pid} node` : "";
  return "connection" in info ? info.target : info.name;
}

/** Reads the outcomes of all objects that were ever shown, by name, including closed ones. */
async function outcomes(registry: Registry, lastId: number): Promise<Map<string, Outcomes>> {
  const found = new Map<string, Outcomes>();
  for (let id = 1; id <= lastId; id += 1) {
    const [channel, subchannel, socket] = await Promise.all([
      registry.getChannel(id).catch(() => undefined),
      registry.getSubchannel(id).catch(() => undefined),
      registry.getSocket(id).catch(() => undefined),
    ]);
    if (channel?.channel) found.set(channel.channel.ref!.name, callsOf(channel.channel));
    if (subchannel?.subchannel) found.set(subchannel.subchannel.data!.target, callsOf(subchannel.subchannel));
    if (socket?.socket) found.set(socket.socket.ref!.name, streamsOf(socket.socket));
  }
  return found;
}

test("[CZ-CHANNEL-2] finds every living object from the top and counts every call exactly once, whatever happens in whatever order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const registry = createRegistry();
      const observation = observeToolServers({ registry });
      try {
        const world = createWorld();
        const inFlight = new Map<string, number>();
        for (const one of steps) {
          const name = nameOf(take(world, one));
          const before = inFlight.get(name) ?? 0;
          if (one[1] === "started") inFlight.set(name, before + 1);
          else if (one[1] === "succeeded" || one[1] === "failed") inFlight.set(name, Math.max(0, before - 1));
        }
        const shown = await readAll(registry);
        expect(registry.size).toMatchObject({
          channels: shown.channels.length,
          subchannels: shown.subchannels.length,
          sockets: shown.sockets.length,
        });
        for (const { socketRef } of shown.channels) expect(socketRef).toEqual([]);
        for (const { channelRef, subchannelRef } of shown.subchannels)
          expect([channelRef, subchannelRef]).toEqual([[], []]);
        for (const [name, [started, succeeded, failed]] of await outcomes(registry, 14)) {
          expect([name, started - succeeded - failed]).toEqual([name, inFlight.get(name) ?? 0]);
        }
      } finally {
        observation.stop();
      }
      expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
    }),
    { numRuns: 150 },
  );
});

test("allocates nothing while counting", async () => {
  const registry = createRegistry();
  const observation = observeToolServers({ registry });
  const socketInfo = childProcessInfo(1);
  const { transport } = socketInfo;
  const { connection } = transport;
  // Looked up once, as tool servers do, because concatenating a name allocates.
  const events = [
    [channelOf("connection:call-started"), connection],
    [channelOf("transport:call-started"), transport],
    [channelOf("socket:stream-started"), socketInfo],
    [channelOf("socket:message-sent"), socketInfo],
    [channelOf("socket:message-received"), socketInfo],
    [channelOf("socket:stream-succeeded"), socketInfo],
    [channelOf("transport:call-succeeded"), transport],
    [channelOf("connection:call-failed"), connection],
  ] as const;
  const countCalls = (count: number): void => {
    for (let i = 0; i < count; i += 1) for (const event of events) event[0].publish(event[1]);
  };
  // Warm-up, because compilation allocates.
  for (let round = 0; round < 10; round += 1) {
    countCalls(20_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const samples: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    countCalls(1);
    const before = process.memoryUsage().heapUsed;
    countCalls(50_000);
    samples.push(process.memoryUsage().heapUsed - before);
  }
  observation.stop();
  // The smallest object per event would be 6.4 MB, one per call 0.8 MB. Other code allocates too, so the best round counts.
  expect(Math.min(...samples.map(Math.abs))).toBeLessThan(100_000);
});
