import { completable, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  connect,
  connectOld,
  type Mode,
  pollOptions,
  startTestGateway,
  type TestGateway,
  textOf,
} from "./gateway.test.helper.js";
import { type MakeServer, serveLegacy, serveModern } from "./tool-servers.test.helper.js";

/** A server with one of each feature, and the instances that were created. */
function makeRich(mark: string, made: McpServer[] = []): MakeServer {
  return () => {
    const server = new McpServer(
      { name: mark, version: "1.0.0" },
      {
        capabilities: {
          tools: { listChanged: true },
          resources: { listChanged: true, subscribe: true },
          prompts: { listChanged: true },
          logging: {},
        },
        instructions: `How to use ${mark}.`,
      },
    );
    server.registerResource("notes", `notes://${mark}/all`, { mimeType: "text/plain" }, (uri) => ({
      contents: [{ uri: uri.href, text: `notes of ${mark}` }],
    }));
    server.registerResource("shared", "shared://everywhere", {}, (uri) => ({
      contents: [{ uri: uri.href, text: `shared by ${mark}` }],
    }));
    server.registerResource(
      "note",
      new ResourceTemplate(`notes://${mark}/{id}/text`, {
        list: undefined,
        complete: { id: (value) => [`${value}1`, `${value}2`] },
      }),
      {},
      (uri, { id }) => ({ contents: [{ uri: uri.href, text: `note ${id} of ${mark}` }] }),
    );
    server.registerPrompt(
      "greeting",
      { argsSchema: z.object({ name: completable(z.string(), (value) => [`${value}-${mark}`]) }) },
      ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `${mark} greets ${name}` } }] }),
    );
    server.registerTool("count", { inputSchema: z.object({ to: z.number() }) }, async ({ to }, context) => {
      const token = context.mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= to && token !== undefined; progress += 1) {
        await context.mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken: token, progress, total: to },
        });
      }
      return { content: [{ type: "text", text: `${mark} counted to ${to}` }] };
    });
    server.registerTool("speak", { inputSchema: z.object({}) }, async (_, context) => {
      await context.mcpReq.log("debug", "whispered", "voice");
      await context.mcpReq.log("warning", "spoken", "voice");
      return { content: [{ type: "text", text: "done" }] };
    });
    server.registerTool("wait", { inputSchema: z.object({}) }, async (_, context) => {
      waiting.add(mark);
      await new Promise<void>((resolve) => {
        context.mcpReq.signal.addEventListener("abort", () => {
          cancelled.add(mark);
          resolve();
        });
      });
      return { content: [] };
    });
    server.registerTool("link", { inputSchema: z.object({}) }, () => ({
      content: [{ type: "resource_link", uri: `hidden://${mark}`, name: "hidden" }],
    }));
    server.server.setRequestHandler("resources/subscribe", () => ({}));
    server.server.setRequestHandler("resources/unsubscribe", () => ({}));
    made.push(server);
    return server;
  };
}

/** Calls of the tool `wait` that run, and those that were cancelled. */
const waiting = new Set<string>();
const cancelled = new Set<string>();

type Era = "legacy" | "modern";
const pairs = (["legacy", "modern"] as const).flatMap((era) =>
  (["legacy", "modern"] as const).map((mode) => [era, mode] as const),
);

async function startRich(era: Era, mark = "rich", made: McpServer[] = []): Promise<TestGateway> {
  const url = await (era === "legacy" ? serveLegacy : serveModern)(makeRich(mark, made));
  return startTestGateway({ [mark]: { type: "http", url } });
}

describe.each(pairs)("features of a %s server for a %s client", (era, mode) => {
  test("lists resources and templates, and reads them by the server's URIs", async () => {
    const client = await connect(await startRich(era), mode);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(["notes://rich/all", "shared://everywhere", "wirescope://status"]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["notes://rich/{id}/text"]);
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
    expect(await read("notes://rich/all")).toMatchObject({ uri: "notes://rich/all", text: "notes of rich" });
    expect(await read("notes://rich/7/text")).toMatchObject({ text: "note 7 of rich" });
  });

  test("lists and returns prompts, and completes arguments of prompts and templates", async () => {
    const client = await connect(await startRich(era), mode);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(["rich__greeting"]);
    const { messages } = await client.getPrompt({ name: "rich__greeting", arguments: { name: "Ada" } });
    expect(messages[0]?.content).toEqual({ type: "text", text: "rich greets Ada" });
    const ofPrompt = await client.complete({
      ref: { type: "ref/prompt", name: "rich__greeting" },
      argument: { name: "name", value: "Ad" },
    });
    expect(ofPrompt.completion.values).toEqual(["Ad-rich"]);
    const ofTemplate = await client.complete({
      ref: { type: "ref/resource", uri: "notes://rich/{id}/text" },
      argument: { name: "id", value: "4" },
    });
    expect(ofTemplate.completion.values).toEqual(["41", "42"]);
  });

  test("sends progress during a call to the client that requested it", async () => {
    const client = await connect(await startRich(era), mode);
    const seen: unknown[] = [];
    const result = await client.callTool(
      { name: "rich__count", arguments: { to: 3 } },
      { onprogress: (progress) => void seen.push(progress) },
    );
    expect(textOf(result)).toBe("rich counted to 3");
    await expect.poll(() => seen, pollOptions).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3 })));
    expect(textOf(await client.callTool({ name: "rich__count", arguments: { to: 2 } }))).toBe("rich counted to 2");
  });

  test("cancels a request on the server if the client cancels it", async () => {
    const mark = `wait-${era}-${mode}`;
    const gateway = await startRich(era, mark);
    const client = await connect(gateway, mode);
    const controller = new AbortController();
    const call = client.callTool({ name: `${mark}__wait`, arguments: {} }, { signal: controller.signal });
    const failed = expect(call).rejects.toThrow();
    await expect.poll(() => waiting.has(mark), pollOptions).toBe(true);
    controller.abort();
    await failed;
    await expect.poll(() => cancelled.has(mark), pollOptions).toBe(true);
    await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, pollOptions).toBe(0);
    const outcome = gateway.events.find((event) => event.kind === "call" && event.name === "wait");
    expect(outcome).toMatchObject({ outcome: "cancelled" });
  });

  test("reads a resource that a tool mentions from its server, even if no list contains it", async () => {
    const gateway = await startTestGateway({
      first: { type: "http", url: await (era === "legacy" ? serveLegacy : serveModern)(makeRich("first")) },
      second: { type: "http", url: await (era === "legacy" ? serveLegacy : serveModern)(makeRich("second")) },
    });
    const client = await connect(gateway, mode);
    await client.callTool({ name: "second__link", arguments: {} });
    await client.readResource({ uri: "hidden://second" }).catch(() => {});
    const read = gateway.events.findLast((event) => event.kind === "call" && event.method === "resources/read");
    expect(read).toMatchObject({ server: "second", name: "hidden://second" });
  });

  test("notifies subscribed clients of a changed list", async () => {
    const made: McpServer[] = [];
    const gateway = await startRich(era, "rich", made);
    const changed: string[] = [];
    const client = await connect(gateway, mode, {
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 0, onChanged: () => void changed.push("tools") },
        prompts: { autoRefresh: false, debounceMs: 0, onChanged: () => void changed.push("prompts") },
        resources: { autoRefresh: false, debounceMs: 0, onChanged: () => void changed.push("resources") },
      },
    });
    await client.listTools();
    await settled(gateway);
    changed.length = 0;
    if (era === "legacy") {
      made[0]?.registerTool("added", { inputSchema: z.object({}) }, () => ({ content: [] }));
      await expect.poll(() => changed, pollOptions).toContain("tools");
      const { tools } = await client.listTools(undefined, { cacheMode: "refresh" });
      expect(tools.map(({ name }) => name)).toContain("rich__added");
      made[0]?.server.sendPromptListChanged();
      await expect.poll(() => changed, pollOptions).toContain("prompts");
    } else {
      await gateway.gateway.reload([]);
      await expect.poll(() => new Set(changed), pollOptions).toEqual(new Set(["tools", "prompts", "resources"]));
    }
  });
});

test("results of a modern server have no fields for a legacy client that only modern clients know", async () => {
  const client = await connectOld(await startRich("modern"));
  const uri = "notes://rich/all";
  expect(await client.request({ method: "resources/read", params: { uri } }, z.unknown())).toEqual({
    contents: [{ uri, text: "notes of rich" }],
  });
  const params = { name: "rich__speak", arguments: {} };
  expect(await client.request({ method: "tools/call", params }, z.unknown())).toEqual({
    content: [{ type: "text", text: "done" }],
  });
});

/** Waits until all servers are connected, and their lists are loaded. */
async function settled({ gateway }: TestGateway): Promise<void> {
  await expect.poll(() => gateway.servers().every(({ tools }) => tools !== undefined), pollOptions).toBe(true);
}

describe("log messages", () => {
  test.each(["legacy", "modern"] as const)(
    "sends log messages from a %s server with the name of the server, at the requested level",
    async (era) => {
      const gateway = await startRich(era);
      const received: unknown[] = [];
      const client = await connect(gateway, "legacy", {}, (prepared) =>
        prepared.setNotificationHandler("notifications/message", ({ params }) => void received.push(params)),
      );
      await client.setLoggingLevel("warning");
      await client.callTool({ name: "rich__speak", arguments: {} });
      await expect
        .poll(() => received, pollOptions)
        .toEqual([{ level: "warning", logger: "rich/voice", data: "spoken" }]);
    },
  );

  test("the log level that one client sets hides no messages from others, while it is connected and afterwards", async () => {
    const gateway = await startRich("legacy");
    await settled(gateway);
    const listen = async () => {
      const received: unknown[] = [];
      const client = await connect(gateway, "legacy", {}, (prepared) =>
        prepared.setNotificationHandler("notifications/message", ({ params }) => void received.push(params.data)),
      );
      return { client, received };
    };
    const quiet = await listen();
    await quiet.client.setLoggingLevel("emergency");
    const without = await listen();
    // Repeated, because a call may reach the server before the level does.
    const hears = async ({ client, received }: typeof quiet): Promise<boolean> => {
      await client.callTool({ name: "rich__speak", arguments: {} });
      return received.includes("whispered");
    };
    await expect.poll(() => hears(without), pollOptions).toBe(true);

    await without.client.setLoggingLevel("alert");
    for (const { client } of [without, quiet]) {
      const transport = client.transport as { terminateSession?: () => Promise<void> } | undefined;
      await transport?.terminateSession?.();
    }
    const later = await listen();
    await expect.poll(() => hears(later), pollOptions).toBe(true);
    expect(quiet.received).toEqual([]);
  });

  test.each(["legacy", "modern"] as const)(
    "sends log messages from a %s server to a modern client that requests them, and to no other",
    async (era) => {
      const gateway = await startRich(era);
      const listen = async (): Promise<[Awaited<ReturnType<typeof connect>>, unknown[]]> => {
        const received: unknown[] = [];
        const client = await connect(gateway, "modern", {}, (prepared) =>
          prepared.setNotificationHandler("notifications/message", ({ params }) => void received.push(params)),
        );
        return [client, received];
      };
      const [asking, received] = await listen();
      const [silent, nothing] = await listen();
      const level = { "io.modelcontextprotocol/logLevel": "info" };
      await silent.callTool({ name: "rich__speak", arguments: {} });
      await asking.callTool({ name: "rich__speak", arguments: {}, _meta: level });
      await expect
        .poll(() => received, pollOptions)
        .toEqual([{ level: "warning", logger: "rich/voice", data: "spoken" }]);
      expect(nothing).toEqual([]);
    },
  );
});

describe("resources with the same URI on two servers", () => {
  test("lists resources with the same URI under URIs that identify their server", async () => {
    const gateway = await startTestGateway({
      one: { type: "http", url: await serveLegacy(makeRich("one")) },
      "two words": { type: "http", url: await serveModern(makeRich("two")) },
    });
    const client = await connect(gateway, "modern");
    const { resources } = await client.listResources();
    const shared = resources.map(({ uri }) => uri).filter((uri) => uri.includes("shared"));
    expect(shared).toEqual(["wirescope://one/shared://everywhere", "wirescope://two%20words/shared://everywhere"]);
    const texts = await Promise.all(shared.map(async (uri) => (await client.readResource({ uri })).contents[0]));
    expect(texts).toMatchObject([
      { uri: shared[0], text: "shared by one" },
      { uri: shared[1], text: "shared by two" },
    ]);
  });
});

describe("subscriptions to a resource", () => {
  test.each<Mode>(["legacy", "modern"])(
    "notifies a %s client of changes to a subscribed resource, and to no other",
    async (mode) => {
      const made: McpServer[] = [];
      const gateway = await startRich("legacy", "rich", made);
      const received: unknown[] = [];
      const client = await connect(gateway, mode, {}, (prepared) =>
        prepared.setNotificationHandler(
          "notifications/resources/updated",
          ({ params }) => void received.push(params.uri),
        ),
      );
      if (mode === "legacy") await client.subscribeResource({ uri: "notes://rich/all" });
      else await client.listen({ resourceSubscriptions: ["notes://rich/all"] });
      await made[0]?.server.sendResourceUpdated({ uri: "shared://everywhere" });
      await made[0]?.server.sendResourceUpdated({ uri: "notes://rich/all" });
      await expect.poll(() => received, pollOptions).toEqual(["notes://rich/all"]);
      if (mode === "modern") return;
      await client.unsubscribeResource({ uri: "notes://rich/all" });
      await made[0]?.server.sendResourceUpdated({ uri: "notes://rich/all" });
      await client.ping();
      expect(received).toHaveLength(1);
    },
  );
});

test("sends the instructions of all servers with the names of the servers", async () => {
  const gateway = await startRich("legacy");
  await settled(gateway);
  const client = await connect(gateway, "legacy");
  expect(client.getInstructions()).toContain("## rich\n\nHow to use rich.");
});

test("[TS-D-DIALECT-7] sends the description of an entry before the instructions of its server, once it is connected", async () => {
  const url = await serveLegacy(makeRich("rich"));
  const description = "Notes of\nthe team";
  const gateway = await startTestGateway({
    rich: { type: "http", url, description },
    down: { type: "http", url: "http://127.0.0.1:1/mcp", description: "Not connected" },
  });
  const tools = (): unknown => gateway.gateway.servers().find(({ name }) => name === "rich")?.tools;
  await expect.poll(tools, pollOptions).toBeDefined();
  const client = await connect(gateway, "legacy");
  expect(client.getInstructions()).toMatch(/## rich\n\nNotes of.{1,4}the team\n\nHow to use rich\./s);
  expect(client.getInstructions()).not.toContain("Not connected");
});
