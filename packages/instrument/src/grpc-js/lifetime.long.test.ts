import * as grpc from "@grpc/grpc-js";
import { createRegistry, type DroppedObject, type Registry } from "@wirescope/channelz";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connect, Echo, type EchoClient, readAll, serve, unary } from "./echo.test.helper.js";
import { observeGrpcJs } from "./observe-grpc-js.js";
import { calls, events, eventually, readEnds, settled, streams } from "./reading.test.helper.js";

function observe(registry: Registry): () => void {
  const observation = observeGrpcJs(registry, grpc);
  onTestFinished(() => observation.stop());
  return () => observation.stop();
}

const nothing = { channels: 0, subchannels: 0, servers: 0, sockets: 0 };

describe("objects that exist before the observation", () => {
  test("shows existing servers, connections and shared subchannels at once, and channels at their next call", async () => {
    const { target } = await serve();
    const client = connect(target, undefined, { "grpc.use_local_subchannel_pool": 0 });
    await unary(client);
    const registry = createRegistry();
    observe(registry);
    expect(registry.size).toMatchObject({ channels: 0, servers: 1, sockets: 3 });
    expect(registry.size.subchannels).toBeGreaterThan(0);
    await unary(client);
    const ends = await settled(registry);
    for (const end of [ends.channel, ends.subchannel, ends.server]) expect(calls(end)).toEqual([1n, 1n, 0n]);
    for (const end of [ends.client, ends.accepted]) expect(streams(end)).toEqual([1n, 1n, 0n]);
    for (const { data } of [ends.channel, ends.subchannel]) expect(data!.state!.state).toBe(3);
    expect(ends.channel.data!.trace!.events.map(({ severity }) => severity)).not.toContain(2);
  });

  test("counts calls in progress as started, so that their end is consistent", async () => {
    const { target } = await serve();
    const client = connect(target);
    const call = client.chat();
    const done = readAll(call);
    call.write({ text: "x" });
    await new Promise((resolve) => call.once("data", resolve));
    const registry = createRegistry();
    observe(registry);
    await unary(client);
    await eventually(async () => {
      const { channel, subchannel } = await readEnds(registry);
      expect([calls(channel), calls(subchannel)]).toEqual([
        [2n, 1n, 0n],
        [2n, 1n, 0n],
      ]);
    });
    call.end();
    await done;
    const { channel, subchannel } = await settled(registry);
    expect([calls(channel), calls(subchannel)]).toEqual([
      [2n, 2n, 0n],
      [2n, 2n, 0n],
    ]);
  });

  test("does not show a channel that was closed before", async () => {
    const { target } = await serve();
    const client = connect(target);
    const call = client.expand({ text: "1 and hang" });
    await new Promise((resolve) => call.once("data", resolve));
    client.close();
    const registry = createRegistry();
    observe(registry);
    call.cancel();
    await readAll(call);
    expect(registry.size.channels).toBe(0);
  });
});

describe("stop()", () => {
  test("removes everything from the registry with the reason, and stops counting", async () => {
    const registry = createRegistry();
    const stop = observe(registry);
    const { target } = await serve();
    const client = connect(target);
    const hanging = client.chat();
    hanging.on("error", () => {});
    hanging.write({ text: "x" });
    await new Promise((resolve) => hanging.once("data", resolve));
    const before = await readEnds(registry);
    stop();
    expect(registry.size).toMatchObject(nothing);
    const { channel } = await registry.getChannel(before.channel.ref!.channelId);
    expect(events(channel!.data!.trace).at(-1)).toMatch(/SHUTDOWN, closed: no longer observed$/);
    expect(await unary(client)).toMatchObject({ code: 0 });
    hanging.cancel();
    const other = await serve();
    expect(await unary(connect(other.target))).toMatchObject({ code: 0 });
    expect(registry.size).toMatchObject(nothing);
    expect(calls((await registry.getChannel(before.channel.ref!.channelId)).channel!)).toEqual(calls(before.channel));
  });

  test("allows another observation afterwards, into the same registry or another", async () => {
    const first = createRegistry();
    const stopFirst = observe(first);
    const { target } = await serve();
    const client = connect(target);
    await unary(client);
    stopFirst();
    for (const registry of [first, createRegistry()]) {
      const stop = observe(registry);
      await unary(client);
      await unary(client, "fail");
      const ends = await settled(registry);
      for (const end of [ends.channel, ends.subchannel, ends.server]) expect(calls(end)).toEqual([2n, 1n, 1n]);
      for (const end of [ends.client, ends.accepted]) expect(streams(end)).toEqual([2n, 2n, 0n]);
      stop();
      expect(registry.size).toMatchObject(nothing);
    }
  });

  test("does nothing the second time, and does not stop a later observation", async () => {
    const stop = observe(createRegistry());
    stop();
    const registry = createRegistry();
    observe(registry);
    stop();
    const { target } = await serve();
    await unary(connect(target));
    expect(registry.size).toMatchObject({ channels: 1, servers: 1 });
  });
});

describe("[CZ-D-LEAK-1] 2,000 clients that are dropped without close", () => {
  const count = 2000;

  async function expectDropped(registry: Registry, dropped: readonly DroppedObject[]): Promise<void> {
    await vi.waitFor(
      () => {
        globalThis.gc!();
        expect(registry.size).toMatchObject({ channels: 0, subchannels: 0 });
      },
      { timeout: 50_000, interval: 250 },
    );
    expect(dropped.filter(({ kind }) => kind === "channel")).toHaveLength(count);
  }

  function registryWithDrops(): { registry: Registry; dropped: DroppedObject[] } {
    const dropped: DroppedObject[] = [];
    return { registry: createRegistry({ onDropped: (one) => void dropped.push(one) }), dropped };
  }

  test("leaves the registry as it was if the clients were never used", async () => {
    const { registry, dropped } = registryWithDrops();
    observe(registry);
    for (let i = 0; i < count; i += 1) new Echo("127.0.0.1:1", grpc.credentials.createInsecure());
    expect(registry.size.channels).toBe(count);
    await expectDropped(registry, dropped);
  });

  test("leaves the registry as it was after calls too, as soon as grpc-js lets the clients go idle", async () => {
    const { registry, dropped } = registryWithDrops();
    observe(registry);
    const { target } = await serve();
    await callFromMany(target, count);
    expect(registry.size.channels).toBeGreaterThan(0);
    await expectDropped(registry, dropped);
    expect(registry.size).toMatchObject({ servers: 1, sockets: 1 });
  });
});

async function callFromMany(target: string, count: number): Promise<void> {
  const options = { "grpc.client_idle_timeout_ms": 1000 };
  for (let i = 0; i < count; i += 100) {
    const clients: EchoClient[] = Array.from(
      { length: 100 },
      () => new Echo(target, grpc.credentials.createInsecure(), options),
    );
    await Promise.all(clients.map((client) => unary(client)));
  }
}
