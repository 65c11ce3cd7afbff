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

test("delivers messages on the stream of an ended call to no client", async () => {
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
  const other = await connect(gateway, "legacy", { capabilities: { elicitation: {} } }, (client) => {
    client.setNotificationHandler("notifications/message", ({ params }) => void received.push(String(params.data)));
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      received.push(params.message);
      return { action: "accept" };
    });
  });
  await expect.poll(server.listening, pollOptions).toBe(1);
  // The other client has a call in flight, so the request could be sent to it by mistake.
  const held = other.callTool({ name: "raw__echo", arguments: { isHeld: true } });
  await expect.poll(() => late, pollOptions).toBeDefined();
  const caller = await connect(gateway, "legacy");
  await caller.callTool({ name: "raw__echo", arguments: {} });
  await expect
    .poll(() => server.seen.some(({ id, method }) => id === 7 && method === undefined), pollOptions)
    .toBe(true);
  server.say(say("for all"));
  await expect.poll(() => received, pollOptions).toContain("for all");
  late?.();
  await held;
  expect(received).toEqual(["for all"]);
});
