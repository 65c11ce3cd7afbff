import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { connect, pollOptions, startTestGateway, textOf } from "./gateway.test.helper.js";
import { type MakeServer, modernListener, serve, serveLegacy, serveModern } from "./tool-servers.test.helper.js";

const id = "example.com/notes";
const params = z.looseObject({});
const declaring = { capabilities: { extensions: { [id]: {} } } };
const input = { inputSchema: z.object({ mark: z.string() }) };
const reply = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** A server with an extension whose tools notify and ask the client; it records what it is notified of. */
function makeNotes(seen: unknown[] = [], made: McpServer[] = []): MakeServer {
  return () => {
    const server = new McpServer(
      { name: "notes", version: "1.0.0" },
      { capabilities: { tools: {}, extensions: { [id]: {} } } },
    );
    server.registerTool("work", input, async ({ mark }, { mcpReq }) => {
      for (const step of [1, 2])
        await mcpReq.notify({ method: "notifications/example/step", params: { mark, step } } as never);
      return reply(mark);
    });
    server.registerTool("ask", input, async ({ mark }, { mcpReq }) => {
      const asked = await mcpReq
        .send({ method: "example/ask", params: { mark } }, params)
        .catch(({ code, message }: { code: number; message: string }) => ({ code, message }));
      return reply(JSON.stringify(asked));
    });
    server.server.setNotificationHandler("notifications/example/changed", { params }, (given) => {
      const { _meta, ...rest } = given as Record<string, unknown>;
      seen.push(rest);
    });
    made.push(server);
    return server;
  };
}

/** A client that records the extension's notifications. */
async function connectListening(
  gateway: Parameters<typeof connect>[0],
  mode: "modern" | "legacy",
  options: Parameters<typeof connect>[2] = declaring,
) {
  const received: unknown[] = [];
  const client = await connect(gateway, mode, options, (created) => {
    for (const method of ["notifications/example/step", "notifications/example/changed"])
      created.setNotificationHandler(method, { params }, (given) => void received.push(given));
    if (options === declaring)
      created.setRequestHandler("example/ask", { params }, ({ mark }) => ({ received: mark, by: mode }));
  });
  return { client, received };
}

const isReady = (gateway: Awaited<ReturnType<typeof startTestGateway>>) =>
  expect.poll(() => gateway.gateway.servers().every(({ tools }) => tools !== undefined), pollOptions).toBe(true);

describe("unknown extension notifications from servers [TS-D-EXT-10]", () => {
  test.each([
    ["modern", "modern"],
    ["modern", "legacy"],
    ["legacy", "modern"],
    ["legacy", "legacy"],
  ] as const)(
    "a notification from a %s server during a call reaches only the %s client that made the call",
    async (era, mode) => {
      const url = await (era === "modern" ? serveModern : serveLegacy)(makeNotes());
      const gateway = await startTestGateway({ one: { type: "http", url } });
      await isReady(gateway);
      const [first, second] = [await connectListening(gateway, mode), await connectListening(gateway, mode)];
      const marks = ["a", "b"];
      await Promise.all(
        [first, second].map(({ client }, index) =>
          client.callTool({ name: "one__work", arguments: { mark: marks[index] } }),
        ),
      );
      expect(first.received).toEqual([1, 2].map((step) => ({ mark: "a", step })));
      expect(second.received).toEqual([1, 2].map((step) => ({ mark: "b", step })));
    },
  );
});

/** A stdio server that sends a notification when it has two calls, which it then ends, and for each call that is marked as single. */
const sharing = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const results = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {}, extensions: { "${id}": {} } }, serverInfo: { name: "s", version: "1" } },
  "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
};
const waiting = [];
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method !== "tools/call") {
    if (id !== undefined) send(results[method] ? { id, result: results[method] } : { id, error: { code: -32601, message: "no" } });
    return;
  }
  const { mark } = params.arguments;
  waiting.push(id);
  if (waiting.length < 2 && mark !== "single") return;
  send({ method: "notifications/example/step", params: { mark } });
  for (const done of waiting.splice(0)) send({ id: done, result: { content: [] } });
});`;

test("a notification on a shared connection reaches no client if several have calls in flight, and else the client of the only call [TS-D-EXT-10]", async () => {
  const gateway = await startTestGateway({ one: { command: process.execPath, args: ["-e", sharing] } });
  await isReady(gateway);
  const [first, second] = [await connectListening(gateway, "legacy"), await connectListening(gateway, "legacy")];
  const work = ({ client }: typeof first, mark: string) => client.callTool({ name: "one__work", arguments: { mark } });
  await Promise.all([work(first, "a"), work(second, "b")]);
  await work(first, "single");
  expect(first.received).toEqual([{ mark: "single" }]);
  expect(second.received).toEqual([]);
});

describe("unknown extension notifications from clients [TS-D-EXT-10]", () => {
  test("a notification reaches all servers that declare the extension of its client, or the one whose tool it names", async () => {
    const [one, two, other]: unknown[][] = [[], [], []] as never;
    const gateway = await startTestGateway({
      one: { type: "http", url: await serveLegacy(makeNotes(one)) },
      two: { type: "http", url: await serveLegacy(makeNotes(two)) },
      other: {
        type: "http",
        url: await serveLegacy(() => {
          const server = new McpServer(
            { name: "other", version: "1.0.0" },
            { capabilities: { tools: {}, extensions: { "example.com/other": {} } } },
          );
          server.server.setRequestHandler("tools/list", () => ({ tools: [] }));
          server.server.fallbackNotificationHandler = async (given) => void other?.push(given.method);
          return server;
        }),
      },
    });
    await isReady(gateway);
    const { client } = await connectListening(gateway, "legacy");
    const notify = (given: object) =>
      client.notification({ method: "notifications/example/changed", params: given } as never);
    await notify({ at: 1 });
    await expect.poll(() => [one, two], pollOptions).toEqual([[{ at: 1 }], [{ at: 1 }]]);
    await notify({ name: "two__work" });
    await expect.poll(() => two, pollOptions).toEqual([{ at: 1 }, { name: "work" }]);
    expect(one).toEqual([{ at: 1 }]);
    expect(other).toEqual([]);
  });

  test.each(["modern", "legacy"] as const)(
    "forwards a notification from a %s client to a legacy server",
    async (mode) => {
      const seen: unknown[] = [];
      const gateway = await startTestGateway({ one: { type: "http", url: await serveLegacy(makeNotes(seen)) } });
      await isReady(gateway);
      const { client } = await connectListening(gateway, mode);
      await client.notification({ method: "notifications/example/changed", params: { mode } } as never);
      await expect.poll(() => seen, pollOptions).toEqual([{ mode }]);
    },
  );

  test.each(["modern", "legacy"] as const)(
    "forwards a notification from a %s client to a modern server",
    async (mode) => {
      const posted: unknown[] = [];
      const listener = modernListener(makeNotes());
      const port = await serve((request, response) => {
        const chunks: Buffer[] = [];
        request.on("data", (chunk) => chunks.push(chunk));
        request.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if (text.includes("notifications/example")) posted.push(JSON.parse(text));
        });
        listener(request, response);
      });
      const gateway = await startTestGateway({ one: { type: "http", url: `http://127.0.0.1:${port}/mcp` } });
      await isReady(gateway);
      const { client } = await connectListening(gateway, mode);
      await client.notification({ method: "notifications/example/changed", params: { mode } } as never);
      await expect.poll(() => posted, pollOptions).toMatchObject([{ params: { mode } }]);
    },
  );

  test("a notification is not forwarded if its client declares no extension", async () => {
    const seen: unknown[] = [];
    const gateway = await startTestGateway({ one: { type: "http", url: await serveLegacy(makeNotes(seen)) } });
    await isReady(gateway);
    const [plain, { client }] = [
      (await connectListening(gateway, "legacy", {})).client,
      await connectListening(gateway, "legacy"),
    ];
    const changed = (from: string) => ({ method: "notifications/example/changed", params: { from } }) as never;
    await plain.notification(changed("plain"));
    await client.notification(changed("declaring"));
    await expect.poll(() => seen, pollOptions).toEqual([{ from: "declaring" }]);
  });
});

describe("unknown extension requests from servers [TS-D-EXT-10]", () => {
  test("forwards a request to the legacy client of the call, and the response to the server", async () => {
    const gateway = await startTestGateway({ one: { type: "http", url: await serveLegacy(makeNotes()) } });
    await isReady(gateway);
    const clients = [await connectListening(gateway, "legacy"), await connectListening(gateway, "legacy")];
    const results = await Promise.all(
      clients.map(({ client }, index) => client.callTool({ name: "one__ask", arguments: { mark: `m${index}` } })),
    );
    expect(results.map((result) => JSON.parse(textOf(result)))).toEqual([
      { received: "m0", by: "legacy" },
      { received: "m1", by: "legacy" },
    ]);
  });

  test.each([
    ["a legacy client that declares no extension", "legacy", {}],
    ["a modern client, whose protocol has no such requests", "modern", declaring],
  ] as const)("refuses a request with the protocol's error for %s", async (_, mode, options) => {
    const gateway = await startTestGateway({ one: { type: "http", url: await serveLegacy(makeNotes()) } });
    await isReady(gateway);
    const { client } = await connectListening(gateway, mode, options);
    const result = await client.callTool({ name: "one__ask", arguments: { mark: "m" } });
    expect(JSON.parse(textOf(result))).toMatchObject({
      code: -32601,
      message: expect.stringContaining("does not support example/ask"),
    });
  });
});
