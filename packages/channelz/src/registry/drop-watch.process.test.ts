import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { DroppedObject } from "./drop-watch.js";
import { createRegistry, type Registry } from "./registry.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Runs the garbage collector until `condition` holds; the tests run with `--expose-gc`. */
async function collectUntil(condition: () => boolean): Promise<void> {
  // An object is watched when it is a second old.
  vi.advanceTimersByTime(1000);
  await vi.waitFor(
    async () => {
      globalThis.gc?.();
      await new Promise((resolve) => setImmediate(resolve));
      if (!condition()) throw new Error("The condition does not hold yet.");
    },
    { timeout: 60_000, interval: 20 },
  );
}

function dropSome(registry: Registry): void {
  const server = registry.addServer({ name: "dropped" });
  registry.addSocket({ server });
  const channel = registry.addChannel({ target: "dns:///dropped" });
  registry.addSubchannel({ parent: channel });
}

describe("objects dropped without close", () => {
  test("[CZ-D-LEAK-1] removes a dropped object from the registry with a warning as its last event, and keeps what it holds", async () => {
    const dropped: DroppedObject[] = [];
    const registry = createRegistry({ onDropped: (one) => dropped.push(one) });
    const kept = registry.addChannel();
    dropSome(registry);
    await collectUntil(() => dropped.length === 4);
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 0, servers: 0, sockets: 0 });
    expect(new Set(dropped.map(({ kind }) => kind))).toEqual(new Set(["server", "socket", "channel", "subchannel"]));
    const channel = dropped.find(({ kind }) => kind === "channel")!;
    expect(channel.name).toBe(`channel ${channel.id} (dns:///dropped)`);
    expect(channel.createdAt).toBeUndefined();
    const last = (await registry.getChannel(channel.id)).channel!.data!.trace!.events.at(-1)!;
    expect(last.description).toContain("dropped by the application");
    expect(last.severity).toBe(2);
    kept.close();
  });

  test("[CZ-D-LEAK-2] warns once about a dropped object, with its name, and with the place that added it if that is remembered", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => {
      if ("code" in warning && warning.code === "CHANNELZ_DROPPED") warnings.push(warning);
    };
    process.on("warning", listen);
    try {
      const plain = createRegistry();
      for (let i = 0; i < 5; i += 1) plain.addChannel({ name: "forgotten" });
      await collectUntil(() => plain.size.channels === 0 && warnings.length > 0);
      expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(/channel \d \(forgotten\)/)]);

      const remembering = createRegistry({ remembersCreation: true });
      for (let i = 0; i < 5; i += 1) remembering.addChannel();
      remembering.addChannel();
      await collectUntil(() => remembering.size.channels === 0 && warnings.length >= 3);
      expect(warnings).toHaveLength(3);
      for (const { message } of warnings.slice(1)) expect(message).toContain("drop-watch.process.test.ts");
    } finally {
      process.off("warning", listen);
    }
  });

  test("[CZ-D-LEAK-1] does not keep the subject of a socket alive", async () => {
    const registry = createRegistry();
    const socket = registry.addSocket({ subject: { name: "connection" }, describe: () => ({ remoteName: "alive" }) });
    let name = "alive";
    const look = (): void => {
      void registry.getSocket(socket.id).then((reported) => {
        name = reported.socket!.remoteName;
      });
    };
    await collectUntil(() => {
      look();
      return name === "";
    });
    expect(registry.size.sockets).toBe(1);
    socket.close();
  });

  test("keeps the listen sockets of a server while the server exists", async () => {
    const registry = createRegistry();
    const server = registry.addServer();
    registry.addListenSocket({ server, local: { ip: "127.0.0.1", port: 1 } });
    const add = (): void => void registry.addSocket({ server });
    add();
    await collectUntil(() => registry.size.sockets === 1);
    expect((await registry.getServer(server.id)).server?.listenSocket).toHaveLength(1);
    server.close();
  });

  test("forgets where an object was added when it is closed", () => {
    const registry = createRegistry({ remembersCreation: true, maxClosed: 0 });
    const churn = (count: number): void => {
      for (let i = 0; i < count; i += 1) {
        const [first, second] = [registry.addSocket(), registry.addSocket()];
        first.close();
        second.close();
      }
    };
    const bytesAfter = (count: number): number => {
      churn(count);
      globalThis.gc?.();
      return process.memoryUsage().heapUsed;
    };
    const before = bytesAfter(200);
    // A stack has at least some 500 bytes.
    expect(bytesAfter(1000) - before).toBeLessThan(500_000);
  });

  test("does not report closed objects as dropped", async () => {
    const dropped: DroppedObject[] = [];
    const registry = createRegistry({ onDropped: (one) => dropped.push(one) });
    const add = (): void => {
      for (let i = 0; i < 2000; i += 1) registry.addSocket().close();
      registry.addSocket();
    };
    add();
    await collectUntil(() => dropped.length > 0);
    expect(dropped).toHaveLength(1);
  });
});
