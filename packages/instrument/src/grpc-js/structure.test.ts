import * as grpc from "@grpc/grpc-js";
import type { Channel, Registry } from "@wirescope/channelz";
import { ChannelConnectivityState_State as State } from "@wirescope/channelz/client";
import { beforeEach, describe, expect, test } from "vitest";
import { rawServer } from "../http2/raw-peer.test.helper.js";
import { bind, connect, expand, serve, unary } from "./echo.test.helper.js";
import { createObservedRegistry } from "./observed-registry.test.helper.js";
import {
  calls,
  events,
  eventually,
  readAccepted,
  readChannels,
  readEnds,
  readSubchannels,
  streams,
} from "./reading.test.helper.js";

let registry: Registry;

beforeEach(() => {
  registry = createObservedRegistry();
});

function stateOf(of: Pick<Channel, "data"> | undefined): State | undefined {
  return of?.data?.state?.state;
}

async function onlyChannel(): Promise<Channel> {
  const channels = await readChannels(registry);
  expect(channels).toHaveLength(1);
  return channels[0]!;
}

describe("states", () => {
  test("[CZ-STATE-1] [CZ-D-STATE-4] changes a channel from IDLE over CONNECTING to READY, and to SHUTDOWN on close", async () => {
    const { target } = await serve();
    const client = connect(target);
    const idle = await onlyChannel();
    expect(idle.data).toMatchObject({ target });
    expect(stateOf(idle)).toBe(State.IDLE);
    expect(idle.subchannelRef).toEqual([]);
    await unary(client);
    const { channel, subchannel } = await readEnds(registry);
    expect([stateOf(channel), stateOf(subchannel)]).toEqual([State.READY, State.READY]);
    expect(subchannel.data!.target).toBe(target);
    client.close();
    expect(await readChannels(registry)).toEqual([]);
    const { channel: closed } = await registry.getChannel(channel.ref!.channelId);
    expect(stateOf(closed)).toBe(State.SHUTDOWN);
    expect(events(closed!.data!.trace)).toEqual([
      "Created",
      "IDLE -> CONNECTING",
      `Linked subchannel ${subchannel.ref!.subchannelId} (${target})`,
      "Address resolution succeeded",
      "CONNECTING -> READY",
      `Unlinked subchannel ${subchannel.ref!.subchannelId} (${target})`,
      "READY -> SHUTDOWN, closed: closed by the application",
    ]);
    await eventually(() => expect(registry.size).toMatchObject({ channels: 0, subchannels: 0 }));
    const { subchannel: gone } = await registry.getSubchannel(subchannel.ref!.subchannelId);
    expect(events(gone!.data!.trace)).toEqual([
      "Created",
      "IDLE -> CONNECTING",
      "CONNECTING -> READY",
      "READY -> IDLE",
      "IDLE -> SHUTDOWN, closed: no longer used by a channel",
    ]);
  });

  test("traces the cause of TRANSIENT_FAILURE on channel and subchannel, and ends it when there is a server", async () => {
    const { server, target } = await serve();
    server.forceShutdown();
    const client = connect(target);
    expect(await unary(client)).toMatchObject({ code: grpc.status.UNAVAILABLE });
    const failing = await eventually(async () => {
      const channel = await onlyChannel();
      expect(stateOf(channel)).toBe(State.TRANSIENT_FAILURE);
      return channel;
    });
    expect(events(failing.data!.trace)).toContainEqual(
      expect.stringMatching(/^CONNECTING -> TRANSIENT_FAILURE: .*ECONNREFUSED/),
    );
    const [subchannel] = await readSubchannels(registry, failing);
    expect(events(subchannel!.data!.trace)).toContainEqual(
      expect.stringMatching(/^CONNECTING -> TRANSIENT_FAILURE: .*ECONNREFUSED/),
    );
    await serve(target);
    await eventually(async () => expect((await unary(client)).code).toBe(grpc.status.OK));
    expect(stateOf(await onlyChannel())).toBe(State.READY);
  });

  test("reports a name that does not resolve as a failure with that cause and without a subchannel", async () => {
    connect("dns:///nowhere.invalid:1").waitForReady(Date.now() + 5000, () => {});
    const channel = await eventually(async () => {
      const failing = await onlyChannel();
      expect(stateOf(failing)).toBe(State.TRANSIENT_FAILURE);
      return failing;
    });
    expect(channel.subchannelRef).toEqual([]);
    // grpc-js goes back to IDLE if the resolver takes longer than its back-off of a second, and fails from there.
    expect(events(channel.data!.trace)).toContainEqual(
      expect.stringMatching(
        /^(CONNECTING -> TRANSIENT_FAILURE|IDLE -> TRANSIENT_FAILURE \(unexpected\)): .*nowhere\.invalid/,
      ),
    );
  });

  test("returns the channel to IDLE when the server is lost", async () => {
    const { server, target } = await serve();
    const client = connect(target);
    await unary(client);
    server.forceShutdown();
    await eventually(async () => expect(stateOf(await onlyChannel())).toBe(State.IDLE));
  });
});

describe("the object graph", () => {
  test("[CZ-CHANNEL-1] [CZ-SUBCHANNEL-3] shows several addresses of one target as several subchannels, each with its socket and its share of the calls", async () => {
    const one = await serve();
    const two = await serve();
    const client = connect(`ipv4:${one.target},${two.target}`, undefined, {
      "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    });
    await eventually(async () => {
      await unary(client);
      const subchannels = await readSubchannels(registry, await onlyChannel());
      expect(subchannels.map(({ data }) => data!.target).sort()).toEqual([one.target, two.target].sort());
      for (const { socketRef } of subchannels) expect(socketRef).toHaveLength(1);
      for (const subchannel of subchannels) expect(Number(calls(subchannel)[1])).toBeGreaterThan(0);
    });
    const subchannels = await readSubchannels(registry, await onlyChannel());
    const total = subchannels.reduce((sum, subchannel) => sum + calls(subchannel)[0]!, 0n);
    expect(total).toBe(calls(await onlyChannel())[0]);
  });

  test("[CZ-CHANNEL-5] shows one subchannel under both channels that share a connection", async () => {
    const { target } = await serve();
    const clients = [0, 1].map(() => connect(target, undefined, { "grpc.use_local_subchannel_pool": 0 }));
    for (const client of clients) await unary(client);
    const channels = await readChannels(registry);
    expect(channels).toHaveLength(2);
    expect(channels[0]!.subchannelRef).toHaveLength(1);
    expect(channels[0]!.subchannelRef).toEqual(channels[1]!.subchannelRef);
    expect(calls((await readSubchannels(registry, channels[0]!))[0]!)).toEqual([2n, 2n, 0n]);
    clients[0]!.close();
    const rest = await onlyChannel();
    expect(await readSubchannels(registry, rest)).toHaveLength(1);
    await unary(clients[1]!);
  });

  test("[CZ-OP-2] shows the channel that grpc-js uses for load reports under the application's channel, with its own calls", async () => {
    const { target } = await serve();
    const client = connect(target, undefined, {
      "grpc.service_config": JSON.stringify({
        loadBalancingConfig: [{ weighted_round_robin: { enable_oob_load_report: true } }],
      }),
    });
    await unary(client);
    const channel = await eventually(async () => {
      const top = await onlyChannel();
      expect(top.channelRef).toHaveLength(1);
      return top;
    });
    expect(calls(channel)).toEqual([1n, 1n, 0n]);
    await eventually(async () => {
      const { channel: nested } = await registry.getChannel(channel.channelRef[0]!.channelId);
      expect(nested!.subchannelRef).toEqual(channel.subchannelRef);
      // The server does not know the service of load reports.
      const [started, succeeded, failed] = calls(nested!);
      expect(started).toBeGreaterThan(0n);
      expect([succeeded, failed]).toEqual([0n, started]);
    });
    client.close();
    await eventually(() => expect(registry.size).toMatchObject({ channels: 0, subchannels: 0 }));
  });

  test("[CZ-SERVER-2] [CZ-SERVER-6] shows a server from its construction, with a listen socket for each bound address", async () => {
    const server = new grpc.Server();
    expect((await registry.getServers()).server).toMatchObject([{ listenSocket: [] }]);
    const targets = [await bind(server, "127.0.0.1:0"), await bind(server, "127.0.0.1:0")];
    const [shown] = (await registry.getServers()).server;
    const listening = await Promise.all(shown!.listenSocket.map(({ socketId }) => registry.getSocket(socketId)));
    const ports = listening.map(({ socket }) => (socket!.local!.address.value as { port: number }).port);
    expect(ports).toEqual(targets.map((target) => Number(target.split(":")[1])));
    for (const { socket } of listening) expect(socket!.remote).toBeUndefined();
    server.unbind(targets[0]!);
    await eventually(async () => expect((await registry.getServers()).server[0]!.listenSocket).toHaveLength(1));
    await new Promise((resolve) => server.tryShutdown(resolve));
    expect((await registry.getServers()).server).toEqual([]);
    expect(registry.size).toMatchObject({ servers: 0, sockets: 0 });
  });

  test("traces why a server cannot be bound", async () => {
    const { target } = await serve();
    const { server } = await serve();
    await expect(bind(server, target)).rejects.toThrow();
    const shown = (await registry.getServers()).server[1]!;
    expect(events(shown.data!.trace)).toContainEqual(expect.stringMatching(/EADDRINUSE/));
  });

  test("shows connections that are handed to a server like those it accepts", async () => {
    const { server } = await serve();
    const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
    const { createServer } = await import("node:net");
    const listener = createServer((socket) => injector.injectConnection(socket)).listen(0, "127.0.0.1");
    await eventually(() => expect(listener.listening).toBe(true));
    const client = connect(`127.0.0.1:${(listener.address() as { port: number }).port}`);
    await unary(client);
    const shown = (await registry.getServers()).server[0]!;
    expect(shown.listenSocket).toHaveLength(1);
    expect(streams((await readAccepted(registry, shown))[0]!)).toEqual([1n, 1n, 0n]);
    injector.destroy();
    listener.close();
  });

  test("[CZ-REF-2] never gives two objects the same id, whatever their kinds", async () => {
    const { target } = await serve();
    await unary(connect(target));
    const ends = await readEnds(registry);
    const ids = [
      ends.channel.ref!.channelId,
      ends.subchannel.ref!.subchannelId,
      ends.client.ref!.socketId,
      ends.server.ref!.serverId,
      ends.accepted.ref!.socketId,
      ends.server.listenSocket[0]!.socketId,
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});

test("shows objects that are switched off in grpc-js's own registry", async () => {
  const { target } = await serve(undefined, undefined, { "grpc.enable_channelz": 0 });
  const client = connect(target, undefined, { "grpc.enable_channelz": 0 });
  expect((await expand(client, "3")).texts).toHaveLength(3);
  await unary(client, "fail");
  await eventually(async () => {
    const ends = await readEnds(registry);
    for (const end of [ends.channel, ends.subchannel, ends.server]) expect(calls(end)).toEqual([2n, 1n, 1n]);
    for (const end of [ends.client, ends.accepted]) expect(streams(end)).toEqual([2n, 2n, 0n]);
    expect([stateOf(ends.channel), stateOf(ends.subchannel)]).toEqual([State.READY, State.READY]);
  });
  client.close();
  await eventually(() => expect(registry.size).toMatchObject({ channels: 0, subchannels: 0 }));
});

test("leaves no socket behind for a server that never speaks HTTP/2", async () => {
  const { createServer } = await import("node:net");
  const silent = createServer((socket) => socket.end("SSH-2.0-nobody\r\n")).listen(0, "127.0.0.1");
  await eventually(() => expect(silent.listening).toBe(true));
  const client = connect(`127.0.0.1:${(silent.address() as { port: number }).port}`);
  expect(await unary(client)).toMatchObject({ code: grpc.status.UNAVAILABLE });
  const [subchannel] = await readSubchannels(registry, await onlyChannel());
  expect(events(subchannel!.data!.trace)).toContainEqual(expect.stringMatching(/^CONNECTING -> TRANSIENT_FAILURE: ./));
  expect(registry.size.sockets).toBe(0);
  silent.close();
});

test("traces a GOAWAY with an error as a warning on the subchannel", async () => {
  const raw = await rawServer();
  const client = connect(`127.0.0.1:${raw.port}`);
  client.waitForReady(Date.now() + 5000, () => {});
  const peer = await raw.peer;
  const subchannelId = await eventually(async () => {
    const [subchannel] = await readSubchannels(registry, await onlyChannel());
    expect(subchannel!.socketRef).toHaveLength(1);
    return subchannel!.ref!.subchannelId;
  });
  peer.write(7, 0, 0, Buffer.from([0, 0, 0, 0, 0, 0, 0, 11]));
  await eventually(async () => {
    const { subchannel } = await registry.getSubchannel(subchannelId);
    expect(subchannel!.data!.trace!.events).toContainEqual(
      expect.objectContaining({ description: "GOAWAY with ENHANCE_YOUR_CALM", severity: 2 }),
    );
  });
  raw.close();
});

test("keeps a connection that received GOAWAY in the tree, with its counters, until its last call has ended", async () => {
  const { server, target } = await serve();
  const client = connect(target);
  const call = client.chat();
  const texts: string[] = [];
  call.on("data", ({ text }) => texts.push(text));
  call.on("error", () => {});
  call.write({ text: "before" });
  await eventually(() => expect(texts).toEqual(["before"]));
  server.drain(target, 600_000);
  await eventually(async () => expect(stateOf(await onlyChannel())).toBe(State.IDLE));
  call.write({ text: "after" });
  await eventually(() => expect(texts).toEqual(["before", "after"]));
  const { subchannel, client: socket } = await readEnds(registry);
  expect(events(subchannel.data!.trace)).toContain("GOAWAY with NO_ERROR");
  expect(socket.data).toMatchObject({ streamsStarted: 1n, messagesReceived: 2n });
  call.end();
  await eventually(async () => expect((await onlyChannel()).subchannelRef).toEqual([]));
  const { subchannel: gone } = await registry.getSubchannel(subchannel.ref!.subchannelId);
  expect(calls(gone!)).toEqual([1n, 1n, 0n]);
});

test("[CZ-D-STATE-1] logs no unexpected change of state for a channel that recovers from an outage", async () => {
  const { server, target } = await serve();
  const client = connect(target);
  await unary(client);
  server.forceShutdown();
  for (let attempt = 0; attempt < 3; attempt += 1) {
    expect(await unary(client)).toMatchObject({ code: grpc.status.UNAVAILABLE });
  }
  await eventually(async () => expect(stateOf(await onlyChannel())).toBe(State.TRANSIENT_FAILURE));
  await serve(target);
  await eventually(async () => expect(await unary(client)).toMatchObject({ code: grpc.status.OK }));
  const channel = await onlyChannel();
  expect(stateOf(channel)).toBe(State.READY);
  expect(events(channel.data!.trace).filter((event) => event.includes("unexpected"))).toEqual([]);
});
