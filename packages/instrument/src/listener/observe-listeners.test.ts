import { once } from "node:events";
import { connect } from "node:http2";
import {
  type ChannelzListener,
  connectChannelz,
  createRegistry,
  listenChannelz,
  type Registry,
} from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { observeProcess, type ProcessObservation } from "../process/observe-process.js";

const nothing = { channels: 0, subchannels: 0, servers: 0, sockets: 0 };

/** Without HTTP clients, because the clients of these tests run in the same process. */
function observe(registry: Registry): ProcessObservation {
  const observation = observeProcess(registry, { http2: false, http: false, undici: false, grpcJs: false });
  onTestFinished(() => observation.stop());
  return observation;
}

async function listen(registry: Registry): Promise<ChannelzListener> {
  const listener = await listenChannelz(registry);
  onTestFinished(() => listener.close({ deadlineMs: 0 }));
  return listener;
}

test("[CZ-OP-3] shows a Channelz listener like any other server, marked as our own, whether it was open before or opens later", async () => {
  const registry = createRegistry();
  const before = await listen(registry);
  observe(registry);
  const after = await listen(registry);
  const { server } = await registry.getServers();
  expect(server.map(({ ref }) => ref?.name)).toEqual(["channelz (wirescope)", "channelz (wirescope)"]);
  const ports = server.map(async ({ listenSocket: [ref] }) => {
    const { socket } = await registry.getSocket(ref?.socketId ?? 0n);
    const address = socket?.local?.address;
    return address?.case === "tcpipAddress" ? address.value.port : undefined;
  });
  expect(await Promise.all(ports)).toEqual([before, after].map(({ url }) => Number(new URL(url).port)));
  await after.close();
  expect(registry.size).toMatchObject({ servers: 1, sockets: 1 });
  await before.close();
  expect(registry.size).toMatchObject(nothing);
});

test("[CZ-OP-1] counts reads as calls of the listener over HTTP/1.1 and HTTP/2, and leaves nothing behind when their connections close", async () => {
  const registry = createRegistry();
  observe(registry);
  const { address, url } = await listen(registry);
  // A limited number of closed objects is kept for a while.
  const sizeOf = (): object => ({ ...registry.size, closed: 0 });
  const idle = sizeOf();
  const reads = 40;
  for (let read = 0; read < reads; read += 1) {
    const source = connectChannelz(address);
    expect((await source.getServers()).server).toHaveLength(1);
    await source.close();
    const response = await fetch(`${url}/rpc.channelz.v1.Channelz/GetServers`, {
      method: "POST",
      headers: { "content-type": "application/json", connection: "close" },
      body: "{}",
    });
    expect(response.status).toBe(200);
    await response.text();
  }
  await expect.poll(sizeOf).toEqual(idle);
  const { server } = await registry.getServers();
  const { data } = server[0]!;
  // The first read of a client makes additional calls.
  expect(data?.callsStarted).toBeGreaterThanOrEqual(2 * reads);
  expect(data).toMatchObject({ callsSucceeded: data?.callsStarted, callsFailed: 0n });
  expect(data?.trace?.events.length).toBeLessThan(10);
});

test("shows an open connection at once when observation starts, and none after it has stopped", async () => {
  const registry = createRegistry();
  const { address } = await listen(registry);
  const source = connectChannelz(address);
  onTestFinished(() => source.close());
  expect((await source.getServers()).server).toEqual([]);
  const observations = [observe(registry), observe(registry)];
  expect(registry.size).toMatchObject({ servers: 1, sockets: 2 });
  observations[0]!.stop();
  expect(registry.size).toMatchObject({ servers: 1, sockets: 2 });
  observations[1]!.stop();
  expect(registry.size).toMatchObject(nothing);
  expect((await source.getServers()).server).toEqual([]);
  observe(registry);
  expect((await source.getServers()).server[0]?.data?.callsStarted).toBe(1n);
});

test("leaves listeners out of observeProcess on request", async () => {
  const registry = createRegistry();
  const observation = observeProcess(registry, { listeners: false });
  onTestFinished(() => observation.stop());
  const { address } = await listen(registry);
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  await once(session, "remoteSettings");
  expect(registry.size).toMatchObject({ servers: 0 });
});
