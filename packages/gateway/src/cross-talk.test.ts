import type { Client } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { connect, startTestGateway } from "./gateway.test.helper.js";
import { everything, type MakeServer, serveLegacy, serveModern } from "./tool-servers.test.helper.js";

/** Answers, tells progress and asks with the mark of its caller, after a while that differs from call to call. */
const makeMarking: MakeServer = (era) => {
  const server = new McpServer({ name: "marking", version: "1" }, { capabilities: { tools: {}, logging: {} } });
  server.registerTool("mark", { inputSchema: z.object({ mark: z.string() }) }, async ({ mark }, context) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
    for (let progress = 1; progress <= 2 && progressToken !== undefined; progress += 1) {
      await context.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress, message: mark },
      });
      await pause();
    }
    if (era === "modern") return { content: [{ type: "text", text: mark }] };
    const answer = await context.mcpReq.send({
      method: "elicitation/create",
      params: {
        mode: "form",
        message: mark,
        requestedSchema: { type: "object", properties: { mark: { type: "string" } } },
      },
    });
    await pause();
    return { content: [{ type: "text", text: `${mark} ${answer.content?.mark}` }] };
  });
  return server;
};

test("every answer, progress and question of many clients at once carries the mark of its own caller (CVE-2026-111770, CVE-2026-25536)", async () => {
  const gateway = await startTestGateway({
    old: { type: "http", url: await serveLegacy(makeMarking) },
    new: { type: "http", url: await serveModern(makeMarking) },
    child: { command: process.execPath, args: [everything, "stdio"] },
  });
  const seen: string[] = [];
  const open = (index: number): Promise<Client> =>
    connect(gateway, index % 2 === 0 ? "modern" : "legacy", { capabilities: { elicitation: { form: {} } } }, (client) =>
      client.setRequestHandler("elicitation/create", async ({ params: { message } }) => {
        if (!message.startsWith(`c${index}-`)) seen.push(`${index} was asked: ${message}`);
        return { action: "accept", content: { mark: message } };
      }),
    );
  const clients = await Promise.all(Array.from({ length: 24 }, (_, index) => open(index)));
  await Promise.all(
    clients.flatMap((client, index) =>
      Array.from({ length: 6 }, async (_, turn) => {
        const mark = `c${index}-${turn}`;
        const server = ["old", "new", "child"][turn % 3];
        const params =
          server === "child"
            ? { name: "child__echo", arguments: { message: mark } }
            : { name: `${server}__mark`, arguments: { mark } };
        const result = await client.callTool(params, {
          onprogress: ({ message }) => {
            // The client itself tells of each round in which it was asked.
            if (message === mark || message?.startsWith("Fulfilling input")) return;
            seen.push(`${mark} heard ${message}`);
          },
        });
        const text = JSON.stringify(result.content);
        const expected = { old: `"${mark} ${mark}"`, new: `"${mark}"`, child: `Echo: ${mark}"` }[server ?? ""];
        if (!text.includes(expected ?? "-")) seen.push(`${mark} got ${text}`);
      }),
    ),
  );
  expect(seen).toEqual([]);
  expect(gateway.gateway.servers().map(({ callsInFlight }) => callsInFlight)).toEqual([0, 0, 0]);
});
