import { McpServer } from "@modelcontextprotocol/server";
import { type Clock, createSecretRegistry, ToolServerError } from "@wirescope/tool-server";
import { createMemoryVault } from "@wirescope/tool-server/auth";
import { systemClock } from "@wirescope/tool-server/internal";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { configurationOf, connect, pollOptions, slowLists, startTestGateway, textOf } from "./gateway.test.helper.js";
import type { GatewayConfiguration } from "./servers/gateway-configuration.js";
import { request, serveTasks, subscribe } from "./task-servers.test.helper.js";
import { makeEcho, modernListener, serve, serveLegacy, serveModern, small } from "./tool-servers.test.helper.js";

test("keeps the connections of unchanged servers, restarts changed ones, ends removed ones, and notifies clients", async () => {
  let release = (): void => {};
  let initialized = 0;
  const makeHold = () => {
    initialized += 1;
    const server = new McpServer({ name: "kept", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("hold", { inputSchema: z.object({}) }, async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return { content: [{ type: "text", text: "held" }] };
    });
    return server;
  };
  const kept = { type: "http", url: await serveLegacy(makeHold) };
  const before = {
    kept,
    changed: { type: "http", url: await serveModern(makeEcho("before")) },
    removed: { type: "http", url: await serveModern(makeEcho("removed")) },
  };
  const gateway = await startTestGateway(before);
  let changes = 0;
  const client = await connect(gateway, "legacy", {
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (changes += 1) } },
  });
  const names = async () =>
    (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name).sort();
  expect(await names()).toEqual(["changed__echo", "kept__hold", "removed__echo"]);
  const held = client.callTool({ name: "kept__hold", arguments: {} });
  await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, pollOptions).toBe(1);
  changes = 0;

  const after = {
    added: { type: "http", url: await serveModern(makeEcho("added")) },
    changed: { type: "http", url: await serveModern(makeEcho("after")) },
    kept,
  };
  await gateway.gateway.reload([configurationOf(after)]);
  expect(gateway.gateway.servers().map(({ name }) => name)).toEqual(["added", "changed", "kept"]);
  await expect.poll(() => changes, pollOptions).toBeGreaterThan(0);
  expect(await names()).toEqual(["added__echo", "changed__echo", "kept__hold"]);
  expect(textOf(await client.callTool({ name: "changed__echo", arguments: { text: "a" } }))).toBe("after: a");
  await expect(client.callTool({ name: "removed__echo", arguments: { text: "a" } })).rejects.toThrow(
    /Tool "[^"]+" does not exist/,
  );
  release();
  expect(textOf(await held)).toBe("held");
  expect(initialized).toBe(1);
  expect(gateway.events.findLast(({ kind }) => kind === "reloaded")).toEqual({
    kind: "reloaded",
    added: ["added"],
    removed: ["removed"],
    changed: ["changed"],
  });
});

test("opens an entry that could not be opened again at a reload that does not change it", async () => {
  let isTrusted = false;
  const assertTrusted = async (): Promise<void> => {
    if (!isTrusted) throw new ToolServerError("NOT_TRUSTED", { problem: "It is denied.", advice: "" });
  };
  const configurations = [configurationOf({ all: small }, { assertTrusted })];
  // The retry after 5 s never occurs.
  const after: Clock["after"] = (delayMs, wake) => (delayMs === 5000 ? () => {} : systemClock.after(delayMs, wake));
  const { gateway } = await startTestGateway({}, { configurations, clock: { ...systemClock, after } });
  await expect.poll(() => gateway.servers()[0]?.failure?.code, pollOptions).toBe("NOT_TRUSTED");
  isTrusted = true;
  await gateway.reload(configurations);
  await expect.poll(() => gateway.servers()[0]?.state, pollOptions).toBe("READY");
});

test("applies a changed variable or tool filter of an entry at a reload", async () => {
  const reference = `\${MARK}`;
  const entries = { all: { ...small, env: { MARK: reference } } };
  const configured = (MARK: string) => configurationOf(entries, { variables: { PATH: process.env.PATH, MARK } });
  const gateway = await startTestGateway({}, { configurations: [configured("first")], limits: slowLists });
  const changedBy = async (...args: Parameters<typeof gateway.gateway.reload>): Promise<readonly string[]> => {
    await gateway.gateway.reload(...args);
    const event = gateway.events.findLast(({ kind }) => kind === "reloaded");
    return event?.kind === "reloaded" ? event.changed : [];
  };
  expect(await changedBy([configured("first")])).toEqual([]);
  expect(await changedBy([configured("second")])).toEqual(["all"]);
  expect(await changedBy([configured("second")], { all: { allow: ["echo"] } })).toEqual(["all"]);
  const client = await connect(gateway, "modern");
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["all__echo"]);
  await expect(client.callTool({ name: "all__get-sum", arguments: { a: 1, b: 2 } })).rejects.toThrow(
    /Tool "[^"]+" does not exist/,
  );
});

test("reports OAuth settings that cannot be read as a failure of their server, and reloads the others", async () => {
  const entries = { notes: { type: "http", url: "https://notes.example/mcp" } };
  const overrides = (): never => {
    throw new RangeError("The settings are locked.");
  };
  const configured = configurationOf(entries, { oauth: { vault: createMemoryVault(), overrides } });
  const echo = { echo: { type: "http", url: await serveModern(makeEcho("echo")) } };
  const { gateway } = await startTestGateway(echo);
  await gateway.reload([configured, configurationOf(echo)]);
  await expect
    .poll(() => gateway.servers().map(({ name, failure }) => [name, failure?.message]), pollOptions)
    .toEqual([
      ["notes", "The settings are locked."],
      ["echo", undefined],
    ]);
});

test("uses the first of two configurations that define a server of the same name, and reports it", async () => {
  const [first, second] = [await serveModern(makeEcho("first")), await serveModern(makeEcho("second"))];
  const configurations = [first, second].map((url) => configurationOf({ same: { type: "http", url } }));
  const gateway = await startTestGateway({}, { configurations });
  const client = await connect(gateway, "modern");
  expect(textOf(await client.callTool({ name: "same__echo", arguments: { text: "a" } }))).toBe("first: a");
  expect(gateway.events.find(({ kind }) => kind === "defect")).toMatchObject({
    reason: expect.stringContaining('Two configurations define a server "same"'),
  });
});

test("[TS-SEC-7] sends a rotated token with every call after the reload, and the old one never again", async () => {
  const tokens: (string | undefined)[] = [];
  const listener = modernListener(makeEcho("api"));
  const port = await serve((request, response) => {
    tokens.push(request.headers.authorization);
    listener(request, response);
  });
  const secrets = createSecretRegistry();
  const withToken = (value: string): GatewayConfiguration =>
    configurationOf(
      {
        api: {
          type: "http",
          url: `http://127.0.0.1:${port}/mcp`,
          headers: { Authorization: `Bearer ${"$"}{API_TOKEN}` },
        },
      },
      { variables: { API_TOKEN: value } },
    );
  const gateway = await startTestGateway({}, { configurations: [withToken("token-of-november")], secrets });
  const client = await connect(gateway, "modern");
  const echo = async (text: string) => textOf(await client.callTool({ name: "api__echo", arguments: { text } }));
  expect(await echo("a")).toBe("api: a");
  expect(new Set(tokens)).toEqual(new Set(["Bearer token-of-november"]));
  await gateway.gateway.reload([withToken("token-of-december")]);
  await expect.poll(() => gateway.gateway.servers()[0]?.state, pollOptions).toBe("READY");
  tokens.length = 0;
  expect(await echo("b")).toBe("api: b");
  expect(new Set(tokens)).toEqual(new Set(["Bearer token-of-december"]));
  // Both stay secret: the old one may be in a late message.
  expect(secrets.redact("token-of-november token-of-december")).toBe("[redacted] [redacted]");
});

test("reports an entry that is not trusted, and opens it after its approval", async () => {
  const url = await serveModern(makeEcho("shy"));
  let isTrusted = false;
  const assertTrusted = async () => {
    if (!isTrusted) throw new Error("It is not approved yet.");
  };
  const configured = configurationOf({ shy: { type: "http", url } }, { assertTrusted });
  const gateway = await startTestGateway({}, { configurations: [configured] });
  const client = await connect(gateway, "modern");
  expect((await client.listTools()).tools).toEqual([]);
  expect(gateway.gateway.servers()[0]).toMatchObject({
    state: "TRANSIENT_FAILURE",
    failure: { message: "It is not approved yet." },
  });
  isTrusted = true;
  await gateway.gateway.reconnect("shy");
  await expect
    .poll(async () => (await client.listTools(undefined, { cacheMode: "refresh" })).tools.length, pollOptions)
    .toBe(1);
  await expect(gateway.gateway.reconnect("nobody")).rejects.toMatchObject({ code: "SERVER_UNKNOWN" });
});

test.each(["legacy", "modern"] as const)(
  "renews the subscriptions of %s clients on the replacement of their server",
  async (era) => {
    const asked: string[] = [];
    const uri = "notes://all";
    const makeNotes = (mark: string) => () => {
      const capabilities = { resources: { subscribe: true }, logging: {} };
      const server = new McpServer({ name: "notes", version: "1" }, { capabilities });
      server.registerResource("all", uri, {}, () => ({ contents: [{ uri, text: mark }] }));
      server.server.setRequestHandler("resources/subscribe", ({ params }) => {
        asked.push(`${mark} ${params.uri}`);
        return {};
      });
      server.server.setRequestHandler("resources/unsubscribe", ({ params }) => {
        asked.push(`${mark} no more ${params.uri}`);
        return {};
      });
      server.server.setRequestHandler("logging/setLevel", ({ params }) => {
        asked.push(`${mark} ${params.level}`);
        return {};
      });
      return server;
    };
    const entryOf = async (mark: string) => ({ type: "http", url: await serveLegacy(makeNotes(mark)) });
    const gateway = await startTestGateway({ notes: await entryOf("before") });
    await expect.poll(() => gateway.gateway.servers()[0]?.state, pollOptions).toBe("READY");
    const client = await connect(gateway, era);
    if (era === "legacy") {
      await client.setLoggingLevel("warning");
      await client.subscribeResource({ uri });
    } else {
      await client.listen({ resourceSubscriptions: [uri] });
    }
    const subscriptions = era === "legacy" ? ["warning", uri] : [uri];
    await expect
      .poll(() => [...asked].sort(), pollOptions)
      .toEqual(subscriptions.map((subscription) => `before ${subscription}`).sort());
    asked.length = 0;
    const heardByNew = era === "legacy" ? ["added warning"] : [];
    await gateway.gateway.reload([configurationOf({ notes: await entryOf("after"), added: await entryOf("added") })]);
    await expect
      .poll(() => [...asked].sort(), pollOptions)
      .toEqual([...heardByNew, ...subscriptions.map((subscription) => `after ${subscription}`)].sort());
    if (era === "modern") return;
    asked.length = 0;
    await client.unsubscribeResource({ uri });
    await expect.poll(() => asked, pollOptions).toEqual([`after no more ${uri}`]);
  },
);

test.each(["legacy", "modern"] as const)(
  "notifies a %s client when a server that was removed is added again, and subscribes it again on its request",
  async (era) => {
    const uri = "notes://all";
    let subscriptions = 0;
    const made: McpServer[] = [];
    const url = await serveLegacy(() => {
      const server = new McpServer(
        { name: "notes", version: "1" },
        { capabilities: { resources: { subscribe: true } } },
      );
      server.registerResource("all", uri, {}, () => ({ contents: [{ uri, text: "all" }] }));
      server.server.setRequestHandler("resources/subscribe", () => {
        subscriptions += 1;
        return {};
      });
      made.push(server);
      return server;
    });
    const notes = { type: "http", url };
    const gateway = await startTestGateway({ notes });
    await expect.poll(() => gateway.gateway.servers()[0]?.state, pollOptions).toBe("READY");
    let [changes, updates] = [0, 0];
    const client = await connect(gateway, era, {
      listChanged: { resources: { autoRefresh: false, debounceMs: 0, onChanged: () => (changes += 1) } },
    });
    client.setNotificationHandler("notifications/resources/updated", () => {
      updates += 1;
    });
    const subscribeClient = (): Promise<unknown> =>
      era === "legacy" ? client.subscribeResource({ uri }) : client.listen({ resourceSubscriptions: [uri] });
    const isListed = async (): Promise<boolean> =>
      (await client.listResources(undefined, { cacheMode: "refresh" })).resources.some((one) => one.uri === uri);
    await subscribeClient();
    await expect.poll(() => subscriptions, pollOptions).toBe(1);
    await gateway.gateway.reload([]);
    await expect.poll(isListed, pollOptions).toBe(false);
    changes = 0;
    await gateway.gateway.reload([configurationOf({ notes })]);
    await expect.poll(() => changes, pollOptions).toBeGreaterThan(0);
    await expect.poll(isListed, pollOptions).toBe(true);
    await subscribeClient();
    await expect.poll(() => subscriptions, pollOptions).toBe(2);
    await made.at(-1)?.server.sendResourceUpdated({ uri });
    await expect.poll(() => updates, pollOptions).toBeGreaterThan(0);
  },
);

test.each(["legacy", "modern"] as const)(
  "renews an unconfirmed subscription of a %s client on the replacement of its server",
  async (era) => {
    const uri = "notes://all";
    const asked: string[] = [];
    const makeNotes = (name: string, confirm: Promise<void>) => () => {
      const server = new McpServer(
        { name: "notes", version: "1" },
        { capabilities: { resources: { subscribe: true } } },
      );
      server.registerResource("all", uri, {}, () => ({ contents: [{ uri, text: name }] }));
      server.server.setRequestHandler("resources/subscribe", async () => {
        asked.push(name);
        await confirm;
        return {};
      });
      return server;
    };
    const never = new Promise<void>(() => {});
    const before = { type: "http", url: await serveLegacy(makeNotes("before", never)) };
    const after = { type: "http", url: await serveLegacy(makeNotes("after", Promise.resolve())) };
    const gateway = await startTestGateway({ notes: before });
    await expect.poll(() => gateway.gateway.servers()[0]?.state, pollOptions).toBe("READY");
    const client = await connect(gateway, era);
    const subscribed =
      era === "legacy" ? client.subscribeResource({ uri }) : client.listen({ resourceSubscriptions: [uri] });
    await expect.poll(() => asked, pollOptions).toEqual(["before"]);
    await gateway.gateway.reload([configurationOf({ notes: after })]);
    await expect.poll(() => asked, pollOptions).toEqual(["before", "after"]);
    await subscribed;
  },
);

test.each(["replaced", "removed"])(
  "releases a server that was %s although clients stay subscribed to it",
  async (how) => {
    const uri = "notes://all";
    const makeNotes = () => {
      const server = new McpServer(
        { name: "notes", version: "1" },
        { capabilities: { resources: { subscribe: true } } },
      );
      server.registerResource("all", uri, {}, () => ({ contents: [{ uri, text: "all" }] }));
      return server;
    };
    const [notes, tasks] = [await serveModern(makeNotes), await serveTasks({ nextId: () => "t" })];
    const configure = (reload: string): GatewayConfiguration => {
      const headers = { "x-reload": reload };
      return configurationOf({
        notes: { type: "http", url: notes, headers },
        tasks: { type: "http", url: tasks.url, headers },
      });
    };
    const gateway = await startTestGateway({}, { configurations: [] });
    const isReady = (): boolean => gateway.gateway.servers().every(({ state }) => state === "READY");
    // Not a variable of the test, which would stay referenced.
    const before = await (async () => {
      const configured = configure("before");
      await gateway.gateway.reload([configured]);
      return new WeakRef(configured);
    })();
    await expect.poll(isReady, pollOptions).toBe(true);
    const { result } = await request(gateway, "tools/call", { name: "tasks__work", arguments: {} });
    const filter = { resourceSubscriptions: [uri], taskIds: [result?.taskId] };
    const { received } = await subscribe(gateway, filter);
    await expect.poll(() => received[0]?.params?.notifications, pollOptions).toEqual(filter);

    await gateway.gateway.reload(how === "replaced" ? [configure("after")] : []);
    await expect.poll(isReady, pollOptions).toBe(true);
    await vi.waitFor(
      async () => {
        globalThis.gc?.();
        await new Promise((resolve) => setImmediate(resolve));
        expect(before.deref() === undefined).toBe(true);
      },
      { timeout: 60_000, interval: 20 },
    );
    expect(received).toHaveLength(1);
  },
);
