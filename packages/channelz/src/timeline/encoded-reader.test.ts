import { expect, test } from "vitest";
import { createRegistry } from "../registry/registry.js";
import { fillRegistry } from "../source-contract.test.helper.js";
import { createEncodedReader } from "./encoded-reader.js";
import { readSnapshot } from "./read-snapshot.js";

const handles: unknown[] = [];

test("reads the same snapshot as the reads of the source, also after changes", async () => {
  const registry = createRegistry();
  handles.push(fillRegistry(registry));
  const read = createEncodedReader(registry);
  const compare = async (): Promise<void> => {
    const { objects, origins, isComplete } = await read({});
    const expected = await readSnapshot(registry);
    expect([objects, origins, isComplete]).toEqual([expected.objects, expected.origins, expected.isComplete]);
  };
  await compare();
  const channel = registry.addChannel({ target: "dns:///later.example" });
  const server = registry.addServer();
  const sockets = Array.from({ length: 1100 }, () => registry.addSocket({ server }));
  await compare();
  channel.callStarted();
  channel.setState("TRANSIENT_FAILURE");
  sockets[3]?.messageSent();
  sockets[7]?.close();
  await compare();
  channel.close();
  await compare();
  handles.push(server, sockets);
});

test("gives objects that did not change as they were, without decoding them again", async () => {
  const registry = createRegistry();
  const first = registry.addChannel({ name: "first" });
  const second = registry.addChannel({ name: "second" });
  const read = createEncodedReader(registry);
  const before = await read({});
  second.callStarted();
  const after = await read({});
  expect(after.objects.get(`|channel|${first.id}`)).toBe(before.objects.get(`|channel|${first.id}`));
  expect(after.objects.get(`|channel|${second.id}`)?.counters.started).toBe(1);
});

test("stops at the maximum number of objects, and says so", async () => {
  const registry = createRegistry();
  handles.push(Array.from({ length: 20 }, () => registry.addChannel()));
  const snapshot = await createEncodedReader(registry)({ maxObjects: 10 });
  expect(snapshot.isComplete).toBe(false);
  expect(snapshot.stoppedBy).toContain("10");
});

test("stops at the maximum size of all objects, and says so", async () => {
  const registry = createRegistry();
  handles.push(Array.from({ length: 20 }, () => registry.addChannel({ name: "x".repeat(1000) })));
  const { objects, stoppedBy } = await createEncodedReader(registry)({ maxSnapshotBytes: 10_000 });
  expect(objects.size).toBeGreaterThan(1);
  expect(objects.size).toBeLessThan(11);
  expect(stoppedBy).toContain("10000 bytes");
});

test("shows an object that is too large as unreadable, with what is below it", async () => {
  const registry = createRegistry();
  const large = registry.addChannel({ name: "x".repeat(10_000) });
  const nested = registry.addChannel({ parent: large });
  const limits = { maxObjectBytes: 5000 };
  const { objects } = await createEncodedReader(registry)(limits);
  expect(objects).toEqual((await readSnapshot(registry, limits)).objects);
  expect(objects.get(`|channel|${large.id}`)?.message).toBeUndefined();
  expect(objects.get(`|channel|${large.id}`)?.unreadable).toContain("5000 bytes");
  expect(objects.get(`|channel|${nested.id}`)?.message).toBeDefined();
});

test("stops at the timeout, and says so", async () => {
  const registry = createRegistry();
  const server = registry.addServer();
  handles.push(
    server,
    Array.from({ length: 2000 }, () => registry.addSocket({ server })),
  );
  const { objects, stoppedBy } = await createEncodedReader(registry)({ timeoutMs: Number.MIN_VALUE });
  expect(objects.size).toBeLessThan(2000);
  expect(stoppedBy).toContain("in time");
});

test("ends with the signal while it reads many objects", async () => {
  const registry = createRegistry();
  const server = registry.addServer();
  handles.push(
    server,
    Array.from({ length: 2000 }, () => registry.addSocket({ server })),
  );
  const controller = new AbortController();
  const reading = createEncodedReader(registry)({ signal: controller.signal });
  controller.abort();
  await expect(reading).rejects.toThrow();
});
