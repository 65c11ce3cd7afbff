import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRegistry, type Registry } from "@wirescope/channelz";
import * as undici7 from "undici";
import * as undici6 from "undici-6";
import { describe, expect, onTestFinished, test } from "vitest";
import { bytesInUse } from "../heap.test.helper.js";
import { eventually } from "../http/both-ends.test.helper.js";
import { listening, portOf } from "../sockets/connections.test.helper.js";
import { observeUndici } from "./observe-undici.js";

/** Weak references to every request and socket that undici publishes until the test ends. */
function followObjects(): { readonly requests: WeakRef<object>[]; readonly sockets: WeakRef<object>[] } {
  const followed = { requests: [] as WeakRef<object>[], sockets: [] as WeakRef<object>[] };
  const onRequest = (message: unknown): void =>
    void followed.requests.push(new WeakRef((message as { request: object }).request));
  const onConnected = (message: unknown): void =>
    void followed.sockets.push(new WeakRef((message as { socket: object }).socket));
  subscribe("undici:request:create", onRequest);
  subscribe("undici:client:connected", onConnected);
  onTestFinished(() => {
    unsubscribe("undici:request:create", onRequest);
    unsubscribe("undici:client:connected", onConnected);
  });
  return followed;
}

/** Runs `use` while undici is observed, with a server that responds with "hello", or does not respond at `/silent`. */
async function whileObserved(use: (origin: string, registry: Registry) => Promise<void>): Promise<void> {
  const dropped: unknown[] = [];
  const registry = createRegistry({ maxClosed: 100, onDropped: (one) => dropped.push(one) });
  const observation = observeUndici(registry);
  onTestFinished(() => observation.stop());
  const server = await listening(
    createServer((request, response) => {
      if (request.url !== "/silent") request.resume().on("end", () => response.end("hello"));
    }),
    { host: "127.0.0.1" },
  );
  await use(`http://127.0.0.1:${portOf(server)}`, registry);
  observation.stop();
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  expect(registry.size).toMatchObject({ channels: 0, subchannels: 0, sockets: 0 });
  expect(dropped).toEqual([]);
}

/** Waits until all of them are garbage-collected. */
async function collected(objects: readonly WeakRef<object>[]): Promise<void> {
  const alive = async (): Promise<number> => {
    await bytesInUse();
    return objects.filter((each) => each.deref() !== undefined).length;
  };
  await expect.poll(alive).toBe(0);
}

/** Makes a number of visits, 50 at once, and returns the clients. */
async function visits(count: number, visit: () => Promise<WeakRef<object>>): Promise<WeakRef<object>[]> {
  const clients: WeakRef<object>[] = [];
  for (let done = 0; done < count; done += 50) clients.push(...(await Promise.all(Array.from({ length: 50 }, visit))));
  return clients;
}

describe.each([
  ["undici 6", undici6],
  ["undici 7", undici7 as unknown as typeof undici6],
] as const)("%s", (_name, undici) => {
  test("releases 1,000 observed clients that were used and closed, with their requests and sockets", async () => {
    await whileObserved(async (origin, registry) => {
      const { requests, sockets } = followObjects();
      const clients = await visits(1000, async () => {
        const agent = new undici.Agent();
        const { body } = await undici.request(origin, { dispatcher: agent, method: "POST", body: "hello" });
        await body.text();
        await agent.close();
        return new WeakRef(agent);
      });
      expect([clients.length, requests.length, sockets.length]).toEqual([1000, 1000, 1000]);
      await eventually(() => expect(registry.size).toMatchObject({ channels: 1, sockets: 0 }));
      await collected([...clients, ...requests, ...sockets]);
      const [channel] = (await registry.getTopChannels()).channel;
      expect([channel?.data?.callsStarted, channel?.data?.callsSucceeded]).toEqual([1000n, 1000n]);
    });
  });

  test("releases 500 observed clients whose request was in flight or waited for a connection when it ended", async () => {
    await whileObserved(async (origin, registry) => {
      const { requests, sockets } = followObjects();
      const destroyed = await visits(250, async () => {
        const client = new undici.Client(origin);
        const connected = new Promise((resolve) => client.once("connect", resolve));
        const failed = client.request({ path: "/silent", method: "GET" }).catch((error: unknown) => error);
        await connected;
        await client.destroy();
        if (!((await failed) instanceof Error)) throw new Error("The request was not ended.");
        return new WeakRef(client);
      });
      const aborted = await visits(250, async () => {
        const client = new undici.Client(origin);
        const abort = new AbortController();
        const { signal } = abort;
        const failed = client.request({ path: "/silent", method: "GET", signal }).catch((error: unknown) => error);
        abort.abort();
        if (!((await failed) instanceof Error)) throw new Error("The request was not aborted.");
        await client.destroy();
        return new WeakRef(client);
      });
      expect(requests.length).toBe(500);
      await eventually(() => expect(registry.size.sockets).toBe(0));
      await collected([...destroyed, ...aborted, ...requests, ...sockets]);
    });
  });
});
