import type { Client } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { connect, pollOptions, startTestGateway } from "./gateway.test.helper.js";
import { eventOf, serveRaw } from "./raw-server.test.helper.js";
import { type MakeServer, serveLegacy, serveModern, small } from "./tool-servers.test.helper.js";

const clientCount = 8;
const callsEach = 2;
const callCount = clientCount * callsEach;

/** Holds callers until a number of them have arrived; the last one is released first. */
function gatherAll(count: number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === count) for (const go of waiting.splice(0).reverse()) setImmediate(go);
    });
}

/** Responds, reports progress and asks with the mark of its caller, while all other calls are in flight. */
function makeMarking(): MakeServer {
  const gather = gatherAll(callCount);
  return (era) => {
    const server = new McpServer({ name: "marking", version: "1" }, { capabilities: { tools: {}, logging: {} } });
    server.registerTool("mark", { inputSchema: z.object({ mark: z.string() }) }, async ({ mark }, context) => {
      await gather();
      const progressToken = context.mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= 2 && progressToken !== undefined; progress += 1) {
        await context.mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, message: mark },
        });
        await gather();
      }
      if (era === "modern") return { content: [{ type: "text", text: mark }] };
      const reply = await context.mcpReq.send({
        method: "elicitation/create",
        params: {
          mode: "form",
          message: mark,
          requestedSchema: { type: "object", properties: { mark: { type: "string" } } },
        },
      });
      await gather();
      return { content: [{ type: "text", text: `${mark} ${reply.content?.mark}` }] };
    });
    return server;
  };
}

test("delivers every response, progress and server request of many concurrent calls to its own caller (CVE-2026-111770, CVE-2026-25536)", async () => {
  const gateway = await startTestGateway({
    old: { type: "http", url: await serveLegacy(makeMarking()) },
    new: { type: "http", url: await serveModern(makeMarking()) },
    child: small,
  });
  // A call waits only briefly for its server to connect.
  await expect.poll(() => gateway.gateway.servers().every(({ state }) => state === "READY"), pollOptions).toBe(true);
  const seen: string[] = [];
  let progress = 0;
  // All requests to clients are open at once, too.
  const gather = gatherAll(callCount);
  const open = (index: number): Promise<Client> =>
    connect(gateway, index % 2 === 0 ? "modern" : "legacy", { capabilities: { elicitation: { form: {} } } }, (client) =>
      client.setRequestHandler("elicitation/create", async ({ params: { message } }) => {
        if (!message.startsWith(`c${index}-`)) seen.push(`${index} was asked: ${message}`);
        await gather();
        return { action: "accept", content: { mark: message } };
      }),
    );
  const clients = await Promise.all(Array.from({ length: clientCount }, (_, index) => open(index)));
  await Promise.all(
    clients.flatMap((client, index) =>
      Array.from({ length: 3 * callsEach }, async (_, turn) => {
        const mark = `c${index}-${turn}`;
        const server = ["old", "new", "child"][turn % 3];
        const params =
          server === "child"
            ? { name: "child__echo", arguments: { message: mark } }
            : { name: `${server}__mark`, arguments: { mark } };
        const result = await client.callTool(params, {
          onprogress: ({ message }) => {
            // The SDK's client itself reports each input round as progress.
            if (message?.startsWith("Fulfilling input")) return;
            progress += 1;
            if (message !== mark) seen.push(`${mark} received ${message}`);
          },
        });
        const text = JSON.stringify(result.content);
        const expected = { old: `"${mark} ${mark}"`, new: `"${mark}"`, child: `Echo: ${mark}"` }[server ?? ""];
        if (!text.includes(expected ?? "-")) seen.push(`${mark} got ${text}`);
      }),
    ),
  );
  expect(seen).toEqual([]);
  expect(progress).toBe(2 * 2 * callCount);
  expect(gateway.gateway.servers().map(({ callsInFlight }) => callsInFlight)).toEqual([0, 0, 0]);
});

test("delivers messages on the stream of an ended call to no client, and none that names no call while no call is in flight", async () => {
  const say = (text: string): string =>
    JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "error", data: text } });
  const question = { jsonrpc: "2.0", id: 7, method: "elicitation/create", params: { message: "late" } };
  let late: (() => void) | undefined;
  const server = await serveRaw({
    "tools/call"({ id, params }, response) {
      const isHeld = (params?.arguments as { isHeld?: boolean } | undefined)?.isHeld === true;
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      const reply = eventOf(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`);
      if (isHeld) late = () => response.end(reply);
      // In one write, so that the messages arrive together.
      else response.end(`${reply}${eventOf(say("late"))}${eventOf(JSON.stringify(question))}`);
      return undefined;
    },
  });
  const gateway = await startTestGateway({ raw: server.entry });
  const received: string[] = [];
  let changes = 0;
  const other = await connect(gateway, "legacy", { capabilities: { elicitation: {} } }, (client) => {
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      changes += 1;
    });
    client.setNotificationHandler("notifications/message", ({ params }) => void received.push(String(params.data)));
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      received.push(params.message);
      return { action: "accept" };
    });
  });
  await expect.poll(server.listening, pollOptions).toBe(1);
  // No client has a call in flight.
  server.say(say("for nobody"));
  server.say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
  await expect.poll(() => changes, pollOptions).toBe(1);
  // The other client has a call in flight, so the request could be sent to it by mistake.
  const held = other.callTool({ name: "raw__echo", arguments: { isHeld: true } });
  await expect.poll(() => late, pollOptions).toBeDefined();
  const caller = await connect(gateway, "legacy");
  await caller.callTool({ name: "raw__echo", arguments: {} });
  await expect
    .poll(() => server.seen.some(({ id, method }) => id === 7 && method === undefined), pollOptions)
    .toBe(true);
  server.say(say("for the only one"));
  await expect.poll(() => received, pollOptions).toContain("for the only one");
  late?.();
  await held;
  expect(received).toEqual(["for the only one"]);
});

/** A stdio server that reports to nobody in particular what it is called with: a log message and an unknown notification. */
const logging = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const results = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {}, logging: {} }, serverInfo: { name: "s", version: "1" } },
  "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
};
const held = [];
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method !== "tools/call") {
    if (id !== undefined) send(results[method] ? { id, result: results[method] } : { id, error: { code: -32601, message: "no" } });
    return;
  }
  const { mark, count } = params.arguments;
  held.push(id);
  if (held.length < count) return;
  send({ method: "notifications/message", params: { level: "error", data: mark } });
  send({ method: "notifications/example/step", params: { mark } });
  for (const done of held.splice(0)) send({ id: done, result: { content: [] } });
});`;

test.each(["legacy", "modern"] as const)(
  "delivers a log message or notification that names no call to no %s client if several have calls in flight",
  async (mode) => {
    const gateway = await startTestGateway({ one: { command: process.execPath, args: ["-e", logging] } });
    const listen = async () => {
      const received: unknown[] = [];
      const client = await connect(gateway, mode, {}, (prepared) => {
        prepared.setNotificationHandler("notifications/message", ({ params }) => void received.push(params.data));
        prepared.setNotificationHandler(
          "notifications/example/step",
          { params: z.object({ mark: z.string() }) },
          ({ mark }) => {
            received.push(`step ${mark}`);
          },
        );
      });
      const _meta = { "io.modelcontextprotocol/logLevel": "info" };
      const work = (mark: string, count: number) =>
        client.callTool({ name: "one__work", arguments: { mark, count }, ...(mode === "modern" ? { _meta } : {}) });
      return { received, work };
    };
    const [one, two] = [await listen(), await listen()];
    await Promise.all([one.work("secret of one", 2), two.work("secret of two", 2)]);
    expect([one.received, two.received]).toEqual([[], []]);
    await one.work("alone", 1);
    expect([one.received, two.received]).toEqual([["alone", "step alone"], []]);
  },
);
