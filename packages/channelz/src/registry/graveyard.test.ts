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
    const adopter = registry.addSubchannel();
    adopter.link(accepted);
    const { socketRef } = (await registry.getSubchannel(adopter.id)).subchannel!;
    expect(socketRef.map(({ socketId }) => Number(socketId))).toEqual([accepted.id]);
  });

  test("closes the listen sockets of a server with the server", async () => {
    const registry = createRegistry();
    const server = registry.addServer();
    const listen = registry.addListenSocket({ server });
    server.close();
    expect(registry.size).toMatchObject({ servers: 0, sockets: 0, closed: 2 });
    expect((await registry.getSocket(listen.id)).socket?.ref?.socketId).toBe(BigInt(listen.id));
  });

  test("closes an object of each kind at the end of a using block", () => {
    const registry = createRegistry();
    const server = registry.addServer();
    for (const one of [registry.addChannel(), registry.addSubchannel(), registry.addSocket({ server }), server]) {
      {
        using handle = one;
        expect(handle.isClosed).toBe(false);
      }
      expect(one.isClosed, one.kind).toBe(true);
    }
    expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, servers: 0, sockets: 0, closed: 4 });
  });

  test("does not hold the listen sockets of a server that are closed", () => {
    const registry = createRegistry();
    const server = registry.addServer();
    const [first, second] = [registry.addListenSocket({ server }), registry.addListenSocket({ server })];
    second.close();
    const third = registry.addListenSocket({ server });
    expect(server.listenSockets.map(({ id }) => id)).toEqual([first.id, third.id]);
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

  test("ignores a second close of a socket and of a server", async () => {
    const registry = createRegistry();
    const server = registry.addServer();
    const socket = registry.addSocket({ server });
    socket.close("first");
    socket.close("second");
    expect(registry.size).toMatchObject({ servers: 1, sockets: 0, closed: 1 });
    server.close("first");
    server.close("second");
    expect(registry.size).toMatchObject({ servers: 0, sockets: 0, closed: 2 });
    const { events } = (await registry.getServer(server.id)).server!.data!.trace!;
    expect(events.map(({ description }) => description)).toEqual([
      "Created",
      `Closed socket ${socket.id}: first`,
      "Closed: first",
    ]);
  });

  test("logs the close of a socket to its owner only if it has a reason", async () => {
    const registry = createRegistry();
    const server = registry.addServer();
    registry.addSocket({ server }).close();
    registry.addListenSocket({ server }).close();
    const accepted = registry.addSocket({ server });
    accepted.close("connection reset");
    const listen = registry.addListenSocket({ server });
    listen.close("address removed");
    registry.addSocket().close("without an owner");
    const { events } = (await registry.getServer(server.id)).server!.data!.trace!;
    expect(events.map(({ description, severity }) => [description, severity])).toEqual([
      ["Created", 1],
      [`Closed socket ${accepted.id}: connection reset`, 1],
      [`Closed socket ${listen.id}: address removed`, 1],
    ]);
  });

  test("logs the close of a child to each of its parents, with its ref and the reason", async () => {
    const registry = createRegistry();
    const parents = [registry.addChannel(), registry.addChannel()];
    const child = registry.addSubchannel({ parent: parents[0]!, name: "b" });
    parents[1]!.link(child);
    child.setState("SHUTDOWN");
    child.close("no address left");
    for (const { id } of parents) {
      const { channel } = await registry.getChannel(id);
      expect(channel?.subchannelRef).toEqual([]);
      expect(channel?.data?.trace?.events.at(-1)).toMatchObject({
        description: expect.stringMatching(/^Closed subchannel .*: no address left$/),
        severity: 1,
        childRef: { case: "subchannelRef", value: { subchannelId: BigInt(child.id) } },
      });
    }
    const { data } = (await registry.getSubchannel(child.id)).subchannel!;
    expect(data?.trace?.events.at(-1)).toMatchObject({ description: "Closed: no address left", severity: 1 });
  });

  test("counts the living objects of each kind, and the closed objects that are still readable", () => {
    const registry = createRegistry({ maxClosed: 1 });
    const channels = [1, 2, 3].map(() => registry.addChannel());
    const subchannels = [1, 2].map(() => registry.addSubchannel());
    const servers = [1, 2, 3, 4].map(() => registry.addServer());
    const sockets = [1, 2, 3, 4, 5].map(() => registry.addSocket());
    expect(registry.size).toMatchObject({ channels: 3, subchannels: 2, servers: 4, sockets: 5, closed: 0 });
    for (const all of [channels, subchannels, servers, sockets]) for (const one of all.slice(0, 2)) one.close();
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 0, servers: 2, sockets: 3, closed: 4 });
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

test("[CZ-D-GRAVE-3] [CZ-D-TRACE-4] keeps a closed child readable until neither an event nor the limit keeps it", async () => {
  const registry = createRegistry({ maxClosed: 1, maxTraceEvents: 2 });
  const channel = registry.addChannel();
  const [first, second, third] = [1, 2, 3].map(() => registry.addSubchannel({ parent: channel, target: "a:1" }));
  const found = async (): Promise<boolean[]> => {
    const all = [];
    for (const { id } of [first!, second!, third!]) all.push(await isFound(registry.getSubchannel(id)));
    return all;
  };
  first!.close("one");
  for (const text of ["a", "b"]) channel.trace(text);
  // No event refers to the first any more, but it is the last that closed.
  expect(await found()).toEqual([true, true, true]);
  second!.close("two");
  expect(await found()).toEqual([false, true, true]);
  third!.close("three");
  // The second is no longer the last that closed, but an event refers to it.
  expect(await found()).toEqual([false, true, true]);
  for (const text of ["c", "d"]) channel.trace(text);
  expect(await found()).toEqual([false, false, true]);
  expect(registry.size.closed).toBe(1);
});
