import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { McpServer } from "@modelcontextprotocol/server";
import type { ConnectionInfo } from "@wirescope/tool-server";
import { expect, onTestFinished, test, vi } from "vitest";
import { configurationOf, connect, pollOptions, startTestGateway } from "./gateway.test.helper.js";
import type { GatewayConfiguration } from "./servers/gateway-configuration.js";
import { request, serveTasks, subscribe as subscribeRaw } from "./task-servers.test.helper.js";
import { type MakeServer, serveLegacy, serveModern } from "./tool-servers.test.helper.js";

const reloads = 20;

/** A server with one resource, `<name>://all`. */
function makeNotes(name: string): MakeServer {
  const uri = `${name}://all`;
  return () => {
    const server = new McpServer({ name, version: "1" }, { capabilities: { resources: { subscribe: true } } });
    server.registerResource("all", uri, {}, () => ({ contents: [{ uri, text: name }] }));
    server.server.setRequestHandler("resources/subscribe", () => ({}));
    server.server.setRequestHandler("resources/unsubscribe", () => ({}));
    return server;
  };
}

test("releases the servers that reloads replaced or removed, although their clients stay subscribed", async () => {
  /** What must be collected: the configurations that servers keep, and their connections. */
  const opened: { readonly what: string; readonly reference: WeakRef<object> }[] = [];
  const onConnection = (info: unknown): void => {
    opened.push({ what: `connection to ${(info as ConnectionInfo).name}`, reference: new WeakRef(info as object) });
  };
  const channel = "wirescope:tool-server:connection:opened";
  subscribe(channel, onConnection);
  onTestFinished(() => void unsubscribe(channel, onConnection));

  const tasks = await serveTasks({ nextId: () => "t" });
  const urls = {
    "modern-replaced": await serveModern(makeNotes("modern-replaced")),
    "legacy-replaced": await serveLegacy(makeNotes("legacy-replaced")),
    "tasks-replaced": tasks.url,
    "modern-removed": await serveModern(makeNotes("modern-removed")),
    "legacy-removed": await serveLegacy(makeNotes("legacy-removed")),
    "tasks-removed": tasks.url,
  };
  const names = Object.keys(urls) as (keyof typeof urls)[];
  const replaced = names.filter((name) => name.endsWith("replaced"));
  const removed = names.filter((name) => name.endsWith("removed"));
  /** A configuration for each server. A changed header replaces the server. */
  const configure = (reload: number, chosen: typeof names): GatewayConfiguration[] =>
    chosen.map((name) => {
      const entry = { type: "http", url: urls[name], headers: { "x-reload": `${reload}` } };
      const configured = configurationOf({ [name]: entry });
      opened.push({ what: `configuration of ${name}`, reference: new WeakRef(configured) });
      return configured;
    });
  const kept = configurationOf({ kept: { type: "http", url: await serveModern(makeNotes("kept")) } });

  const gateway = await startTestGateway({}, { configurations: [kept] });
  const reload = async (configurations: readonly GatewayConfiguration[]): Promise<void> => {
    await gateway.gateway.reload([kept, ...configurations]);
    await expect.poll(() => gateway.gateway.servers().map(({ state }) => state), pollOptions).not.toContain("IDLE");
    const isReady = (): boolean => gateway.gateway.servers().every(({ state }) => state === "READY");
    await expect.poll(isReady, pollOptions).toBe(true);
  };
  /** Subscribes a client of each era to the resources, and another to a task of each server with tasks. */
  const subscribeTo = async (servers: typeof names): Promise<void> => {
    const uris = servers.filter((name) => !name.startsWith("tasks")).map((name) => `${name}://all`);
    const [modern, legacy] = [await connect(gateway, "modern"), await connect(gateway, "legacy")];
    await modern.listen({ resourceSubscriptions: uris });
    for (const uri of uris) await legacy.subscribeResource({ uri });
    for (const name of servers.filter((one) => one.startsWith("tasks"))) {
      const { result } = await request(gateway, "tools/call", { name: `${name}__work`, arguments: {} });
      const { received } = await subscribeRaw(gateway, { taskIds: [result?.taskId] });
      await expect.poll(() => received[0]?.params?.notifications, pollOptions).toEqual({ taskIds: [result?.taskId] });
    }
  };

  // Each reload replaces one half: each of the servers that stay must not keep those that it was loaded with.
  const [even, odd] = [replaced.filter((_, index) => index % 2 === 0), replaced.filter((_, index) => index % 2 === 1)];
  let current = { even: configure(0, even), odd: configure(0, odd) };
  await reload([...current.even, ...current.odd]);
  await subscribeTo(replaced);
  for (let count = 1; count <= reloads; count += 1) {
    if (count % 2 === 0) current = { ...current, even: configure(count, even) };
    else current = { ...current, odd: configure(count, odd) };
    await reload([...current.even, ...current.odd, ...configure(count, removed)]);
    await subscribeTo(removed);
    await reload([...current.even, ...current.odd]);
  }
  const expected = [
    "connection to kept",
    ...replaced.flatMap((name) => [`configuration of ${name}`, `connection to ${name}`]),
  ];
  await vi.waitFor(
    async () => {
      globalThis.gc?.();
      await new Promise((resolve) => setImmediate(resolve));
      const alive = opened.filter(({ reference }) => reference.deref() !== undefined).map(({ what }) => what);
      expect(alive.sort()).toEqual(expected.sort());
    },
    { timeout: 60_000, interval: 100 },
  );
});
