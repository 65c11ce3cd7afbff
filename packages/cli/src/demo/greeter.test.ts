import { once } from "node:events";
import { connect, constants, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code } from "@connectrpc/connect";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type GreeterChannel, openGreeterChannel } from "./greeter-channel.js";
import { type GreeterServer, startGreeterServer } from "./greeter-server.js";

// The numbers of the specification; the registry's reads give them as they go over the wire.
const State = { IDLE: 1, READY: 3, TRANSIENT_FAILURE: 4 };

let registry: Registry;
let server: GreeterServer;
let channel: GreeterChannel;

beforeEach(async () => {
  registry = createRegistry();
  server = await startGreeterServer(registry);
  channel = openGreeterChannel(registry, "greeter", server.address);
});

afterEach(async () => {
  await channel.close();
  await server.close(1000);
});

async function look() {
  const { channel: channels } = await registry.getTopChannels();
  const { subchannel } = await registry.getSubchannel(channels[0]?.subchannelRef[0]?.subchannelId ?? 0n);
  const { server: servers } = await registry.getServers();
  const { socketRef } = await registry.getServerSockets(servers[0]?.ref?.serverId ?? 0n);
  const socketOf = async (id: bigint | undefined) =>
    id === undefined ? undefined : (await registry.getSocket(id)).socket;
  return {
    channel: channels[0]?.data,
    subchannel: subchannel?.data,
    server: servers[0]?.data,
    clientSocket: await socketOf(subchannel?.socketRef[0]?.socketId),
    serverSocket: await socketOf(socketRef[0]?.socketId),
  };
}

test("both ends of a connection tell the same story", async () => {
  await channel.greeter.greet({ name: "Ada" });
  await channel.greeter.greet({ name: "Grace" });
  await expect(channel.greeter.greet({ name: "" })).rejects.toMatchObject({ code: Code.InvalidArgument });

  const calls = { callsStarted: 3n, callsSucceeded: 2n, callsFailed: 1n };
  const streams = { streamsStarted: 3n, streamsSucceeded: 3n, streamsFailed: 0n };
  await vi.waitFor(async () => {
    const seen = await look();
    expect(seen.channel).toMatchObject(calls);
    expect(seen.subchannel).toMatchObject(calls);
    expect(seen.server).toMatchObject(calls);
    expect(seen.clientSocket?.data).toMatchObject({ ...streams, messagesSent: 3n, messagesReceived: 2n });
    expect(seen.serverSocket?.data).toMatchObject({ ...streams, messagesSent: 2n, messagesReceived: 3n });
    expect(seen.clientSocket?.local).toEqual(seen.serverSocket?.remote);
    expect(seen.clientSocket?.remote).toEqual(seen.serverSocket?.local);
    expect(seen.clientSocket?.data?.lastRemoteStreamCreatedTimestamp).toBeUndefined();
    expect(seen.serverSocket?.data?.lastLocalStreamCreatedTimestamp).toBeUndefined();
  });
});

test("[CZ-SOCKET-13] [CZ-SOCKET-14] what one end was granted is what the other end grants", async () => {
  await channel.greeter.greet({ name: "Ada" });
  await vi.waitFor(async () => {
    const { clientSocket, serverSocket } = await look();
    expect(clientSocket?.data?.localFlowControlWindow).toBeGreaterThan(0n);
    expect(clientSocket?.data?.localFlowControlWindow).toEqual(serverSocket?.data?.remoteFlowControlWindow);
    expect(clientSocket?.data?.remoteFlowControlWindow).toEqual(serverSocket?.data?.localFlowControlWindow);
  });
});

test("[CZ-SOCKET-7] a call that its client cancels is a failed stream on the server", async () => {
  const client = connect(`http://${server.address}`);
  const stream = client.request({
    ":method": "POST",
    ":path": "/wirescope.demo.v1.Greeter/Greet",
    "content-type": "application/grpc",
  });
  stream.on("error", () => {});
  await vi.waitFor(async () => expect((await look()).serverSocket?.data?.streamsStarted).toBe(1n));
  stream.close(constants.NGHTTP2_CANCEL);
  await vi.waitFor(async () => {
    const { serverSocket, server: shown } = await look();
    expect(serverSocket?.data).toMatchObject({ streamsSucceeded: 0n, streamsFailed: 1n });
    expect(shown).toMatchObject({ callsSucceeded: 0n, callsFailed: 1n });
  });
  client.destroy();
});

test("[CZ-SOCKET-7] a call that is cancelled before the answer ends is a failed stream on the client", async () => {
  const silent = createServer().on("stream", (stream) => stream.on("error", () => {}));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  await channel.close();
  channel = openGreeterChannel(registry, "silent", `127.0.0.1:${(silent.address() as AddressInfo).port}`);

  const cancel = new AbortController();
  const arrived = once(silent, "stream");
  const call = channel.greeter.greet({ name: "Grace" }, { signal: cancel.signal });
  await arrived;
  cancel.abort();
  await expect(call).rejects.toMatchObject({ code: Code.Canceled });
  await vi.waitFor(async () => {
    const { subchannel, clientSocket } = await look();
    expect(clientSocket?.data).toMatchObject({ streamsStarted: 1n, streamsSucceeded: 0n, streamsFailed: 1n });
    expect(subchannel).toMatchObject({ callsStarted: 1n, callsFailed: 1n });
  });
  await channel.close();
  silent.close();
});

test("a channel to where nobody listens shows why it fails", async () => {
  const lonely = openGreeterChannel(registry, "nobody", "127.0.0.1:1");
  await expect(lonely.greeter.greet({ name: "Ada" })).rejects.toMatchObject({ code: Code.Unavailable });
  const { channel: channels } = await registry.getTopChannels();
  const shown = channels.find(({ ref }) => ref?.name === "nobody")?.data;
  expect(shown?.state?.state).toBe(State.TRANSIENT_FAILURE);
  expect(shown?.trace?.events.at(-1)?.description).toContain("ECONNREFUSED");
  expect(shown).toMatchObject({ callsStarted: 1n, callsFailed: 1n });
  await lonely.close();
});

test("a connection that its server ends leaves the channel idle, and the next call tries again", async () => {
  const stateNow = async () => (await registry.getTopChannels()).channel[0]?.data?.state?.state;
  await channel.greeter.greet({ name: "Ada" });
  expect(await stateNow()).toBe(State.READY);
  await server.close(1000);
  await vi.waitFor(async () => expect(await stateNow()).toBe(State.IDLE));
  await expect(channel.greeter.greet({ name: "Ada" })).rejects.toMatchObject({ code: Code.Unavailable });
  await vi.waitFor(async () => expect(await stateNow()).toBe(State.TRANSIENT_FAILURE));
  server = await startGreeterServer(registry);
});
