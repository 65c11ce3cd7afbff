import { createRegistry, type DroppedObject, type Registry } from "@wirescope/channelz";
import type { WireFacts } from "@wirescope/tool-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { callsOf, eventually, streamsOf, traceOf } from "../http/both-ends.test.helper.js";
import { connection } from "../sockets/connections.test.helper.js";
import { childWire, publish, readAll, readOne, socketWire, transportFacts } from "./facts.test.helper.js";
import { observeToolServers, type ToolServersObservation } from "./observe-tool-servers.js";

const nothing = { channels: 0, subchannels: 0, servers: 0, sockets: 0 };
const oneOfEach = { channels: 1, subchannels: 1, sockets: 1 };

function observe(registry: Registry): ToolServersObservation {
  const observation = observeToolServers({ registry });
  onTestFinished(() => observation.stop());
  return observation;
}

function openOneOfEach(): WireFacts {
  const wire = childWire(4711);
  publish("connection:opened", wire.transport.connection);
  publish("transport:opened", wire.transport);
  publish("wire:opened", wire);
  return wire;
}

describe("what ends", () => {
  test("[CZ-D-GRAVE-1] is found with the reason that it ended for, and listed no more", async () => {
    const registry = createRegistry();
    observe(registry);
    const wire = openOneOfEach();
    const { channel, subchannel, socket } = await readOne(registry);
    publish("wire:closed", { subject: wire, reason: "the process ended with code 3" });
    publish("transport:closed", { subject: wire.transport, reason: "its process ended" });
    publish("connection:closed", { subject: wire.transport.connection, reason: "closed by the application" });
    expect(registry.size).toMatchObject(nothing);
    const pipes = `socket ${socket.ref!.socketId} (pid 4711 node)`;
    const ended = await registry.getSubchannel(subchannel.ref!.subchannelId);
    expect(traceOf(ended.subchannel!)).toEqual([
      "Created",
      `Closed ${pipes}: the process ended with code 3`,
      "IDLE -> SHUTDOWN, closed: its process ended",
    ]);
    const above = await registry.getChannel(channel.ref!.channelId);
    expect(traceOf(above.channel!).slice(-2)).toEqual([
      `Closed subchannel ${subchannel.ref!.subchannelId} (https://api.example.com): its process ended`,
      "IDLE -> SHUTDOWN, closed: closed by the application",
    ]);
    expect((await registry.getSocket(socket.ref!.socketId)).socket?.ref?.name).toBe("pid 4711 node");
  });

  test("[TS-D-SEEN-2] stays for as long as something under it has not ended", async () => {
    const registry = createRegistry();
    observe(registry);
    const wire = openOneOfEach();
    const { channel, subchannel } = await readOne(registry);
    publish("connection:closed", { subject: wire.transport.connection, reason: "closed by the application" });
    publish("transport:closed", { subject: wire.transport, reason: "its input was closed" });
    const now = await readOne(registry);
    expect([now.channel.data?.state?.state, now.subchannel.data?.state?.state]).toEqual([5, 5]);
    publish("story", { subject: wire.transport, severity: "info", text: "Sent SIGTERM" });
    publish("wire:closed", { subject: wire, reason: "the process ended by SIGTERM" });
    expect(registry.size).toMatchObject(nothing);
    const ended = await registry.getSubchannel(subchannel.ref!.subchannelId);
    expect(traceOf(ended.subchannel!).slice(-3)).toEqual([
      "Sent SIGTERM",
      expect.stringContaining("the process ended by SIGTERM"),
      "Closed: its input was closed",
    ]);
    const above = await registry.getChannel(channel.ref!.channelId);
    expect(traceOf(above.channel!).at(-1)).toBe("Closed: closed by the application");
  });

  test("has the last of its story told by what stands above it", async () => {
    const registry = createRegistry();
    observe(registry);
    const { transport } = openOneOfEach();
    const other = transportFacts(transport.connection, "https://b.example.com");
    publish("transport:opened", other);
    publish("transport:closed", { subject: other, reason: "lost" });
    publish("story", { subject: other, severity: "error", text: "Last words: out of memory" });
    const { channel } = await readOne(registry);
    expect(channel.data?.trace?.events.at(-1)).toMatchObject({ description: "Last words: out of memory", severity: 3 });
  });

  test("[CZ-DATA-5] [CZ-SOCKET-7] still counts how the calls ended that were under way", async () => {
    const registry = createRegistry();
    observe(registry);
    const wire = openOneOfEach();
    const { channel, subchannel, socket } = await readOne(registry);
    publish("connection:call-started", wire.transport.connection);
    publish("transport:call-started", wire.transport);
    publish("wire:stream-started", wire);
    publish("wire:closed", { subject: wire, reason: "lost" });
    publish("transport:closed", { subject: wire.transport, reason: "lost" });
    publish("connection:closed", { subject: wire.transport.connection, reason: "lost" });
    for (let twice = 0; twice < 2; twice += 1) {
      publish("wire:stream-failed", wire);
      publish("transport:call-failed", wire.transport);
      publish("connection:call-failed", wire.transport.connection);
    }
    expect(registry.size).toMatchObject(nothing);
    expect(callsOf((await registry.getChannel(channel.ref!.channelId)).channel!)).toEqual([1, 0, 1]);
    expect(callsOf((await registry.getSubchannel(subchannel.ref!.subchannelId)).subchannel!)).toEqual([1, 0, 1]);
    expect(streamsOf((await registry.getSocket(socket.ref!.socketId)).socket!)).toEqual([1, 0, 1]);
  });

  test("does not come back by a late word, nor by what is said to open under it", () => {
    const registry = createRegistry();
    observe(registry);
    const wire = openOneOfEach();
    publish("wire:closed", { subject: wire, reason: "" });
    publish("transport:closed", { subject: wire.transport, reason: "" });
    publish("transport:opened", wire.transport);
    publish("wire:opened", childWire(4712, wire.transport));
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 0, sockets: 0 });
    publish("connection:closed", { subject: wire.transport.connection, reason: "" });
    publish("connection:call-failed", wire.transport.connection);
    publish("wire:message-received", childWire(4713, transportFacts(wire.transport.connection)));
    expect(registry.size).toMatchObject(nothing);
  });
});

describe("what was there before", () => {
  test("[CZ-STATE-1] [TS-D-SEEN-3] is shown at the first word of it, with all above it, in a state that is not known until it is told", async () => {
    const { client } = await connection();
    const wire = socketWire(client);
    publish("wire:opened", wire);
    const registry = createRegistry();
    observe(registry);
    expect(registry.size).toMatchObject(nothing);
    publish("wire:message-received", wire);
    const { channel, subchannel, socket } = await readOne(registry);
    expect(socket.data?.messagesReceived).toBe(1n);
    expect(socket.remote?.address.value).toMatchObject({ port: client.remotePort });
    expect([channel.data?.state?.state, subchannel.data?.state?.state]).toEqual([0, 0]);
    for (const one of [channel, subchannel])
      expect(traceOf(one)).toContainEqual(expect.stringMatching(/before it was observed/));
    publish("transport:state", { subject: wire.transport, state: "READY", reason: undefined });
    const events = (await readOne(registry)).subchannel.data?.trace?.events;
    expect(events?.at(-1)).toMatchObject({ description: "UNKNOWN -> READY", severity: 1 });
  });

  test("has begun the calls that end, though nobody saw them begin", async () => {
    const registry = createRegistry();
    observe(registry);
    const wire = childWire(4711);
    publish("wire:stream-succeeded", wire);
    publish("transport:call-succeeded", wire.transport);
    publish("connection:call-started", wire.transport.connection);
    publish("connection:call-failed", wire.transport.connection);
    publish("connection:call-succeeded", wire.transport.connection);
    const { channel, subchannel, socket } = await readOne(registry);
    expect([callsOf(channel), callsOf(subchannel), streamsOf(socket)]).toEqual([
      [2, 1, 1],
      [1, 1, 0],
      [1, 1, 0],
    ]);
  });

  test("is not shown for its end alone", () => {
    const registry = createRegistry();
    observe(registry);
    const wire = childWire(4711);
    publish("wire:closed", { subject: wire, reason: "" });
    publish("transport:closed", { subject: wire.transport, reason: "" });
    publish("connection:closed", { subject: wire.transport.connection, reason: "" });
    publish("wire:stream-failed", wire);
    publish("connection:call-failed", wire.transport.connection);
    expect(registry.size).toMatchObject(nothing);
  });
});

test("stopping takes everything out, and starting again shows what is still there", async () => {
  const registry = createRegistry();
  const observation = observe(registry);
  const [wire, gone] = [openOneOfEach(), openOneOfEach()];
  publish("wire:closed", { subject: gone, reason: "lost" });
  publish("transport:closed", { subject: gone.transport, reason: "lost" });
  publish("connection:closed", { subject: gone.transport.connection, reason: "lost" });
  const { channel } = await readOne(registry);
  observation.stop();
  observation.stop();
  expect(registry.size).toMatchObject(nothing);
  const { channel: stopped } = await registry.getChannel(channel.ref!.channelId);
  expect(traceOf(stopped!).at(-1)).toBe("IDLE -> SHUTDOWN, closed: no longer observed");
  publish("wire:message-sent", wire);
  expect(registry.size).toMatchObject(nothing);

  observe(registry);
  publish("wire:message-sent", wire);
  publish("wire:stream-failed", gone);
  publish("connection:call-failed", gone.transport.connection);
  const again = await readOne(registry);
  expect(again.channel.ref).not.toEqual(channel.ref);
  expect(again.socket.data?.messagesSent).toBe(1n);
});

test("two registries show the same, each until its own observation stops", async () => {
  const [one, two] = [createRegistry(), createRegistry()];
  const first = observe(one);
  observe(two);
  const wire = openOneOfEach();
  first.stop();
  publish("wire:message-sent", wire);
  expect([one.size, two.size]).toMatchObject([nothing, oneOfEach]);
  expect((await readOne(two)).socket.data?.messagesSent).toBe(1n);
});

test("[CZ-D-LEAK-1] being observed keeps nothing alive, and what is dropped leaves", async () => {
  const dropped: DroppedObject[] = [];
  const registry = createRegistry({ onDropped: (one) => dropped.push(one) });
  observe(registry);
  const refs = Array.from({ length: 10 }, () => new WeakRef(openOneOfEach()));
  expect((await readAll(registry)).sockets).toHaveLength(10);
  await eventually(async () => {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
    expect(refs.filter((ref) => ref.deref() !== undefined)).toEqual([]);
    expect(registry.size).toMatchObject(nothing);
  });
  expect(dropped).toHaveLength(30);
});
