import { timestampMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import { createRegistry } from "./registry.js";

async function isFound(read: Promise<unknown>): Promise<boolean> {
  return read.then(
    () => true,
    (error: unknown) => {
      if (ChannelzError.is(error, "NOT_FOUND")) return false;
      throw error;
    },
  );
}

describe("closed objects", () => {
  test("[CZ-D-GRAVE-1] keeps a closed object readable by its id, with the time and the reason as the last event of its trace", async () => {
    let time = 1_700_000_000_000;
    const registry = createRegistry({ clock: { now: () => time } });
    const channel = registry.addChannel();
    const subchannel = registry.addSubchannel({ parent: channel });
    const socket = registry.addSocket({ parent: subchannel, local: { ip: "127.0.0.1", port: 9 } });
    const server = registry.addServer();
    channel.callStarted();
    socket.messageSent();
    time += 60_000;
    socket.close("connection reset");
    subchannel.close("no address left");
    channel.close("shut down by the application");
    server.close("stopped");
    const traces = [
      (await registry.getChannel(channel.id)).channel?.data?.trace,
      (await registry.getSubchannel(subchannel.id)).subchannel?.data?.trace,
      (await registry.getServer(server.id)).server?.data?.trace,
    ];
    expect(traces.map((trace) => trace?.events.at(-1)?.description)).toEqual([
      "IDLE -> SHUTDOWN, closed: shut down by the application",
      "IDLE -> SHUTDOWN, closed: no address left",
      "Closed: stopped",
    ]);
    for (const trace of traces) expect(timestampMs(trace!.events.at(-1)!.timestamp!)).toBe(time);
    expect((await registry.getChannel(channel.id)).channel?.data?.callsStarted).toBe(1n);
    const { socket: reported } = await registry.getSocket(socket.id);
    expect(reported?.data?.messagesSent).toBe(1n);
    expect(reported?.local).toBeDefined();
    const events = traces[1]!.events.map(({ description }) => description);
    expect(events).toContain(`Closed socket ${socket.id}: connection reset`);
  });

  test("[CZ-D-GRAVE-2] lists a closed object in no list and under no parent", async () => {
    const registry = createRegistry();
    const channel = registry.addChannel();
    const kept = registry.addSubchannel({ parent: channel });
    registry.addSubchannel({ parent: channel }).close();
    registry.addChannel().close();
    const server = registry.addServer();
    registry.addSocket({ server }).close();
    registry.addListenSocket({ server }).close();
    registry.addServer().close();
    const top = await registry.getTopChannels();
    expect(top.channel.map(({ ref }) => Number(ref?.channelId))).toEqual([channel.id]);
    expect(top.channel[0]?.subchannelRef.map(({ subchannelId }) => Number(subchannelId))).toEqual([kept.id]);
    const servers = await registry.getServers();
    expect(servers.server.map(({ ref }) => Number(ref?.serverId))).toEqual([server.id]);
    expect(servers.server[0]?.listenSocket).toEqual([]);
    expect((await registry.getServerSockets(server.id)).socketRef).toEqual([]);
  });

  test("keeps the children of a closed object alive, and they can get another parent", async () => {
    const registry = createRegistry();
    const first = registry.addChannel();
    const second = registry.addChannel();
    const subchannel = registry.addSubchannel({ parent: first });
    const socket = registry.addSocket({ parent: subchannel });
    first.close();
    expect((await registry.getChannel(first.id)).channel?.subchannelRef).toEqual([]);
    second.link(subchannel);
    subchannel.close();
    const other = registry.addSubchannel({ parent: second });
    other.link(socket);
    expect((await registry.getSubchannel(other.id)).subchannel?.socketRef.length).toBe(1);
    const server = registry.addServer();
    const accepted = registry.addSocket({ server });
    server.close();
    accepted.messageSent();
    expect((await registry.getServerSockets(server.id)).socketRef).toEqual([]);
    expect((await registry.getSocket(accepted.id)).socket?.data?.messagesSent).toBe(1n);
  });

  test("closes the listen sockets of a server with the server", async () => {
    const registry = createRegistry();
    const server = registry.addServer();
    const listen = registry.addListenSocket({ server });
    server.close();
    expect(registry.size).toMatchObject({ servers: 0, sockets: 0, closed: 2 });
    expect((await registry.getSocket(listen.id)).socket?.ref?.socketId).toBe(BigInt(listen.id));
  });

  test("ignores a second close", async () => {
    const registry = createRegistry();
    const channel = registry.addChannel();
    channel.close("first");
    channel.close("second");
    const events = (await registry.getChannel(channel.id)).channel!.data!.trace!.events;
    expect(events.at(-1)?.description).toContain("first");
    expect(registry.size).toMatchObject({ channels: 0, closed: 1 });
  });
});

test("[CZ-D-GRAVE-3] limits the number of closed objects per kind, and removes the one that closed first", async () => {
  const registry = createRegistry({ maxClosed: 3 });
  const channel = registry.addChannel();
  channel.close();
  const sockets = Array.from({ length: 10 }, () => registry.addSocket());
  for (const socket of sockets.toReversed()) socket.close();
  const found = [];
  for (const { id } of sockets) found.push(await isFound(registry.getSocket(id)));
  expect(found).toEqual([true, true, true, false, false, false, false, false, false, false]);
  expect(await isFound(registry.getChannel(channel.id))).toBe(true);
  expect(registry.size.closed).toBe(4);
});

test("[CZ-D-GRAVE-4] removes a closed object at once if the limit is 0", async () => {
  const registry = createRegistry({ maxClosed: 0 });
  const server = registry.addServer();
  const socket = registry.addSocket({ server });
  const channel = registry.addChannel();
  for (const one of [socket, server, channel]) one.close();
  expect(await isFound(registry.getSocket(socket.id))).toBe(false);
  expect(await isFound(registry.getServer(server.id))).toBe(false);
  expect(await isFound(registry.getChannel(channel.id))).toBe(false);
  expect(registry.size).toMatchObject({ closed: 0, traceEvents: 0, traceBytes: 0 });
});
