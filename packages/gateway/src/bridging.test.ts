import type { Client } from "@modelcontextprotocol/client";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { type InputRequiredResult, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { connect, connectOld, startTestGateway, type TestGateway, textOf } from "./gateway.test.helper.js";
import { type MakeServer, serveLegacy, serveModern } from "./tool-servers.test.helper.js";

const form = {
  type: "object" as const,
  properties: { name: { type: "string" as const } },
  required: ["name"],
};

/** A server whose tool asks the client for a name, in the way of its era, as often as it is told. */
const makeAsking: MakeServer = (era) => {
  const server = new McpServer({ name: "asking", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.registerTool("greet", { inputSchema: z.object({ times: z.number() }) }, async ({ times }, context) => {
    if (era === "legacy") {
      const names: string[] = [];
      for (let time = 1; time <= times; time += 1) {
        const answer = await context.mcpReq.send(
          { method: "elicitation/create", params: { mode: "form", message: `Who? ${time}`, requestedSchema: form } },
          { timeout: 20_000 },
        );
        names.push(answer.action === "accept" ? String(answer.content?.name) : answer.action);
      }
      return { content: [{ type: "text", text: `Hello ${names.join(", ")}` }] };
    }
    const { inputResponses, requestState } = context.mcpReq;
    const known = JSON.parse(requestState<string>() ?? "[]") as string[];
    const answer = inputResponses?.name as { action: string; content?: { name?: string } } | undefined;
    if (answer !== undefined) known.push(answer.action === "accept" ? String(answer.content?.name) : answer.action);
    if (known.length < times) return ask(known);
    return { content: [{ type: "text", text: `Hello ${known.join(", ")}` }] };
  });
  return server;
};

function ask(known: readonly string[]): InputRequiredResult {
  return inputRequired({
    inputRequests: {
      name: {
        method: "elicitation/create",
        params: { mode: "form", message: `Who? ${known.length + 1}`, requestedSchema: form },
      },
    },
    requestState: JSON.stringify(known),
  });
}

const answering = { capabilities: { elicitation: { form: {} } } };

/** Answers each question with a name of its own. */
function answerAs(name: string): (client: Client) => void {
  let count = 0;
  return (client) =>
    client.setRequestHandler("elicitation/create", async () => {
      count += 1;
      return { action: "accept", content: { name: `${name}${count}` } };
    });
}

async function startAsking(era: "legacy" | "modern"): Promise<TestGateway> {
  const url = await (era === "legacy" ? serveLegacy : serveModern)(makeAsking);
  return startTestGateway({ asking: { type: "http", url } });
}

describe.each(["legacy", "modern"] as const)("a server of the %s era asks during a call", (era) => {
  test.each(["legacy", "modern"] as const)("and a client of the %s era answers", async (mode) => {
    const gateway = await startAsking(era);
    const client = await connect(gateway, mode, answering, answerAs("Ada"));
    for (const [times, text] of [
      [1, "Hello Ada1"],
      [3, "Hello Ada2, Ada3, Ada4"],
    ] as const) {
      const result = await client.callTool({ name: "asking__greet", arguments: { times } });
      expect(textOf(result)).toBe(text);
    }
  });

  test("and a client of SDK 1.x answers", async () => {
    const gateway = await startAsking(era);
    const client = await connectOld(gateway, { elicitation: {} }, (old) => {
      old.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Grace" } }));
    });
    const result = await client.callTool({ name: "asking__greet", arguments: { times: 1 } });
    expect(textOf(result)).toBe("Hello Grace");
  });

  test("each of many clients is asked about its own call alone", async () => {
    const gateway = await startAsking(era);
    const names = Array.from({ length: 12 }, (_, index) => `client-${index}-`);
    const clients = await Promise.all(
      names.map((name, index) => connect(gateway, index % 2 === 0 ? "modern" : "legacy", answering, answerAs(name))),
    );
    const texts = await Promise.all(
      clients.map(async (client) => textOf(await client.callTool({ name: "asking__greet", arguments: { times: 2 } }))),
    );
    expect(texts).toEqual(names.map((name) => `Hello ${name}1, ${name}2`));
  });

  test.each(["legacy", "modern"] as const)(
    "and a client of the %s era that cannot answer is not asked",
    async (mode) => {
      const gateway = await startAsking(era);
      const client = await connect(gateway, mode);
      const outcome = await client.callTool({ name: "asking__greet", arguments: { times: 1 } }).then(
        (result) => `${result.isError} ${textOf(result)}`,
        (error: Error) => error.message,
      );
      expect(outcome).not.toContain("Hello");
      expect(outcome).toMatch(/cannot answer|capabilit/);
    },
  );
});
