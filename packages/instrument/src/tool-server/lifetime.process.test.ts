import { createRegistry, type DroppedObject, type Registry } from "@wirescope/channelz";
import type { SocketInfo } from "@wirescope/tool-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { callsOf, eventually, streamsOf, traceOf } from "../http/both-ends.test.helper.js";
import { connection } from "../sockets/connections.test.helper.js";
import {
  childProcessInfo,
  networkSocketInfo,
  publish,
  readAll,
  readOne,
  transportInfo,
} from "./connection-info.test.helper.js";
import { observeToolServers, type ToolServersObservation } from "./observe-tool-servers.js";

const nothing = { channels: 0, subchannels: 0, servers: 0, sockets: 0 };
const oneOfEach = { channels: 1, subchannels: 1, sockets: 1 };

function observe(registry: Registry): ToolServersObservation {
  const observation = observeToolServers({ registry });
  onTestFinished(() => observation.stop());
  return observation;
}

function openOneOfEach(): SocketInfo {
  const socketInfo = childProcessInfo(4711);
  publish("connection:opened", socketInfo.transport.connection);
  publish("transport:opened", socketInfo.transport);
  publish("socket:opened", socketInfo);
  return socketInfo;
}

describe("objects that end", () => {
  test("[CZ-D-GRAVE-1] keeps an ended object readable with the reason, and lists it no longer", async () => {
    const registry = createRegistry();
    observe(registry);
    const socketInfo = openOneOfEach();
    const { channel, subchannel, socket } = await readOne(registry);
    publish("socket:closed", { subject: socketInfo, reason: "the process ended with code 3" });
    publish("transport:closed", { subject: socketInfo.transport, reason: "its process ended" });
    publish("connection:closed", { subject: socketInfo.transport.connection, reason: "closed by the application" });
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

  test("[TS-D-SEEN-2] keeps an object while something under it has not ended", async () => {
    const registry = createRegistry();
    observe(registry);
    const socketInfo = openOneOfEach();
    const { channel, subchannel } = await readOne(registry);
    publish("connection:closed", { subject: socketInfo.transport.connection, reason: "closed by the application" });
    publish("transport:closed", { subject: socketInfo.transport, reason: "its input was closed" });
    const now = await readOne(registry);
    expect([now.channel.data?.state?.state, now.subchannel.data?.state?.state]).toEqual([5, 5]);
    publish("trace", { subject: socketInfo.transport, severity: "info", text: "Sent SIGTERM" });
    publish("socket:closed", { subject: socketInfo, reason: "the process ended by SIGTERM" });
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

  test("traces the last event of an object on its parent", async () => {
    const registry = createRegistry();
    observe(registry);
    const { transport } = openOneOfEach();
    const other = transportInfo(transport.connection, "https://b.example.com");
    publish("transport:opened", other);
    publish("transport:closed", { subject: other, reason: "lost" });
    publish("trace", { subject: other, severity: "error", text: "Last words: out of memory" });
    const { channel } = await readOne(registry);
    expect(channel.data?.trace?.events.at(-1)).toMatchObject({ description: "Last words: out of memory", severity: 3 });
  });

  test("[CZ-DATA-5] [CZ-SOCKET-7] still counts how the calls in progress ended", async () => {
    const registry = createRegistry();
    observe(registry);
    const socketInfo = openOneOfEach();
    const { channel, subchannel, socket } = await readOne(registry);
    publish("connection:call-started", socketInfo.transport.connection);
    publish("transport:call-started", socketInfo.transport);
    publish("socket:stream-started", socketInfo);
    publish("socket:closed", { subject: socketInfo, reason: "lost" });
    publish("transport:closed", { subject: socketInfo.transport, reason: "lost" });
    publish("connection:closed", { subject: socketInfo.transport.connection, reason: "lost" });
    for (let twice = 0; twice < 2; twice += 1) {
      publish("socket:stream-failed", socketInfo);
      publish("transport:call-failed", socketInfo.transport);
      publish("connection:call-failed", socketInfo.transport.connection);
    }
    expect(registry.size).toMatchObject(nothing);
    expect(callsOf((await registry.getChannel(channel.ref!.channelId)).channel!)).toEqual([1, 0, 1]);
    expect(callsOf((await registry.getSubchannel(subchannel.ref!.subchannelId)).subchannel!)).toEqual([1, 0, 1]);
    expect(streamsOf((await registry.getSocket(socket.ref!.socketId)).socket!)).toEqual([1, 0, 1]);
  });

  test("does not bring an object back for a late event, nor for a child that opens under it", () => {
    const registry = createRegistry();
    observe(registry);
    const socketInfo = openOneOfEach();
    publish("socket:closed", { subject: socketInfo, reason: "" });
    publish("transport:closed", { subject: socketInfo.transport, reason: "" });
    publish("transport:opened", socketInfo.transport);
    publish("socket:opened", childProcessInfo(4712, socketInfo.transport));
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 0, sockets: 0 });
    publish("connection:closed", { subject: socketInfo.transport.connection, reason: "" });
    publish("connection:call-failed", socketInfo.transport.connection);
    publish("socket:message-received", childProcessInfo(4713, transportInfo(socketInfo.transport.connection)));
    expect(registry.size).toMatchObject(nothing);
  });
});

describe("objects that exist before the observation", () => {
  test("[CZ-STATE-1] [TS-D-SEEN-3] shows an existing object at its first event, with all its parents, in an unknown state until that is reported", async () => {
    const { client } = await connection();
    const socketInfo = networkSocketInfo(client);
    publish("socket:opened", socketInfo);
    const registry = createRegistry();
    observe(registry);
    expect(registry.size).toMatchObject(nothing);
    publish("socket:message-received", socketInfo);
    const { channel, subchannel, socket } = await readOne(registry);
    expect(socket.data?.messagesReceived).toBe(1n);
    expect(socket.remote?.address.value).toMatchObject({ port: client.remotePort });
    expect([channel.data?.state?.state, subchannel.data?.state?.state]).toEqual([0, 0]);
    for (const one of [channel, subchannel])
      expect(traceOf(one)).toContainEqual(expect.stringMatching(/before the observation/));
    publish("transport:state", { subject: socketInfo.transport, state: "READY", reason: undefined });
    const events = (await readOne(registry)).subchannel.data?.trace?.events;
    expect(events?.at(-1)).toMatchObject({ description: "UNKNOWN -> READY", severity: 1 });
  });

  test("counts calls as started that end without a known start", async () => {
    const registry = createRegistry();
    observe(registry);
    const socketInfo = childProcessInfo(4711);
    publish("socket:stream-succeeded", socketInfo);
    publish("transport:call-succeeded", socketInfo.transport);
    publish("connection:call-started", socketInfo.transport.connection);
    publish("connection:call-failed", socketInfo.transport.connection);
    publish("connection:call-succeeded", socketInfo.transport.connection);
    const { channel, subchannel, socket } = await readOne(registry);
    expect([callsOf(channel), callsOf(subchannel), streamsOf(socket)]).toEqual([
      [2, 1, 1],
      [1, 1, 0],
      [1, 1, 0],
    ]);
  });

  test("does not show an object for its end alone", () => {
    const registry = createRegistry();
    observe(registry);
    const socketInfo = childProcessInfo(4711);
    publish("socket:closed", { subject: socketInfo, reason: "" });
    publish("transport:closed", { subject: socketInfo.transport, reason: "" });
    publish("connection:closed", { subject: socketInfo.transport.connection, reason: "" });
    publish("socket:stream-failed", socketInfo);
    publish("connection:call-failed", socketInfo.transport.connection);
    expect(registry.size).toMatchObject(nothing);
  });
});

test("removes everything when it stops, and shows what still exists when it starts again", async () => {
  const registry = createRegistry();
  const observation = observe(registry);
  const [socketInfo, gone] = [openOneOfEach(), openOneOfEach()];
  publish("socket:closed", { subject: gone, reason: "lost" });
  publish("transport:closed", { subject: gone.transport, reason: "lost" });
  publish("connection:closed", { subject: gone.transport.connection, reason: "lost" });
  const { channel } = await readOne(registry);
  observation.stop();
  observation.stop();
  expect(registry.size).toMatchObject(nothing);
  const { channel: stopped } = await registry.getChannel(channel.ref!.channelId);
  expect(traceOf(stopped!).at(-1)).toBe("IDLE -> SHUTDOWN, closed: no longer observed");
  publish("socket:message-sent", socketInfo);
  expect(registry.size).toMatchObject(nothing);

  observe(registry);
  publish("socket:message-sent", socketInfo);
  publish("socket:stream-failed", gone);
  publish("connection:call-failed", gone.transport.connection);
  const again = await readOne(registry);
  expect(again.channel.ref).not.toEqual(channel.ref);
  expect(again.socket.data?.messagesSent).toBe(1n);
});

test("shows the same objects in two registries, each until its own observation stops", async () => {
  const [one, two] = [createRegistry(), createRegistry()];
  const first = observe(one);
  observe(two);
  const socketInfo = openOneOfEach();
  first.stop();
  publish("socket:message-sent", socketInfo);
  expect([one.size, two.size]).toMatchObject([nothing, oneOfEach]);
  expect((await readOne(two)).socket.data?.messagesSent).toBe(1n);
});

test("[CZ-D-LEAK-1] keeps nothing alive, and removes what is dropped", async () => {
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
