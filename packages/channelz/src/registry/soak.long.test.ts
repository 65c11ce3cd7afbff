import { expect, test } from "vitest";
import type { SocketHandle } from "./handles.js";
import { createRegistry, type Registry } from "./registry.js";

/** The memory of V8 after garbage collection. */
async function bytesInUse(): Promise<number> {
  for (let i = 0; i < 4; i += 1) {
    globalThis.gc?.();
    // Callbacks of collected handles run between turns, and free more.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

async function churn(registry: Registry, count: number, living: number): Promise<void> {
  const server = registry.addServer();
  const open: SocketHandle[] = [];
  for (let i = 0; i < count; i += 1) {
    const socket = registry.addSocket({ server, name: `127.0.0.1:${i % 65_536}`, subject: {}, describe: () => ({}) });
    socket.remoteStreamStarted();
    socket.messageSent();
    socket.streamSucceeded();
    open.push(socket);
    if (open.length > living) open.splice((i * 7919) % living, 1)[0]!.close("closed by the peer");
    if (i % 10_000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  for (const socket of open) socket.close();
  server.close();
}

test("leaves nothing behind after a million sockets were added and removed", async () => {
  const registry = createRegistry();
  // Warm-up, so that one-time allocations are part of the baseline.
  await churn(registry, 20_000, 1000);
  const base = await bytesInUse();
  const size = registry.size;
  await churn(registry, 1_000_000, 1000);
  expect(registry.size.closed).toBe(size.closed + 1);
  expect(registry.size.traceEvents).toBeLessThanOrEqual(size.traceEvents + 32);
  expect(registry.size).toMatchObject({ sockets: 0, servers: 0, channels: 0, subchannels: 0 });
  const grown = (await bytesInUse()) - base;
  // A single byte per socket would be a megabyte.
  expect(grown).toBeLessThan(1_000_000);
});
