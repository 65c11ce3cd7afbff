import type { Client } from "@modelcontextprotocol/client";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import {
  connect,
  connectOld,
  pollOptions,
  slowLists,
  startTestGateway,
  type TestGateway,
  textOf,
} from "./gateway.test.helper.js";
import { everything, startEverything } from "./tool-servers.test.helper.js";

const entries = {
  stdio: async () => ({ command: process.execPath, args: [everything, "stdio"] }),
  http: async () => ({ type: "http", url: `http://127.0.0.1:${await startEverything("streamableHttp")}/mcp` }),
  sse: async () => ({ type: "sse", url: `http://127.0.0.1:${await startEverything("sse")}/sse` }),
};

const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
const elicited = { action: "accept" as const, content: { name: "Ada", check: true } };
const sampled = {
  role: "assistant" as const,
  model: "test-model",
  content: { type: "text" as const, text: "sampled here" },
};
const roots = { roots: [{ uri: "file:///a/root", name: "a root" }] };

function respond(client: Client): void {
  client.setRequestHandler("elicitation/create", async () => elicited);
  client.setRequestHandler("sampling/createMessage", async () => sampled);
  client.setRequestHandler("roots/list", async () => roots);
}

/** The three kinds of clients. Each responds to server requests. */
const clients: Readonly<Record<string, (gateway: TestGateway) => Promise<Client>>> = {
  "SDK 2.x, modern": (gateway) => connect(gateway, "modern", { capabilities }, respond),
  "SDK 2.x, legacy": (gateway) => connect(gateway, "legacy", { capabilities }, respond),
  "SDK 1.x": async (gateway) =>
    (await connectOld(gateway, capabilities, (client) => {
      client.setRequestHandler(ElicitRequestSchema, async () => elicited);
      client.setRequestHandler(CreateMessageRequestSchema, async () => sampled);
      client.setRequestHandler(ListRootsRequestSchema, async () => roots);
      // The members that are used here are the same in both SDKs.
    })) as unknown as Client,
};

describe.each(["stdio", "http", "sse"] as const)("the reference server over %s", (way) => {
  test("serves every kind of client through the gateway", async () => {
    const gateway = await startTestGateway({ all: await entries[way]() }, { limits: slowLists });
    for (const [kind, open] of Object.entries(clients)) {
      const client = await open(gateway);
      const call = async (name: string, args: Record<string, unknown> = {}) =>
        textOf(await client.callTool({ name: `all__${name}`, arguments: args }));
      const { tools } = await client.listTools();
      const names = tools.map(({ name }) => name);
      expect(names, kind).toEqual(
        expect.arrayContaining(["all__echo", "all__get-sum", "all__trigger-elicitation-request"]),
      );
      expect(names.every((name) => /^all__[\w-]{1,59}$/.test(name))).toBe(true);
      expect(await call("echo", { message: kind }), kind).toContain(kind);
      expect(await call("get-sum", { a: 2, b: 3 }), kind).toContain("5");

      const progress: number[] = [];
      const long = { name: "all__trigger-long-running-operation", arguments: { duration: 0.2, steps: 2 } };
      // Progress from the server has a total. Progress without one is the SDK's own: it reports each input that it returns, and
      // this server requests the roots shortly after its start, which may be during this call.
      const onprogress = (update: { progress: number; total?: number }) => {
        if (update.total !== undefined) progress.push(update.progress);
      };
      // The SDK 1.x client takes a schema as its second argument.
      const request = client as unknown as {
        callTool(params: object, ...rest: unknown[]): Promise<object>;
      };
      const ran =
        kind === "SDK 1.x"
          ? await request.callTool(long, undefined, { onprogress })
          : await request.callTool(long, { onprogress });
      expect(textOf(ran), kind).toContain("completed");
      await expect.poll(() => progress, pollOptions).toEqual([1, 2]);

      expect(await call("trigger-elicitation-request"), kind).toContain("provided");
      expect(await call("trigger-sampling-request", { prompt: "p", maxTokens: 10 }), kind).toContain("sampled here");

      const { resources } = await client.listResources();
      const [first] = resources;
      const read = await client.readResource({ uri: first?.uri ?? "" });
      expect(read.contents[0]?.uri, kind).toBe(first?.uri);
      const { prompts } = await client.listPrompts();
      expect(
        prompts.map(({ name }) => name),
        kind,
      ).toContain("all__simple-prompt");
      expect((await client.getPrompt({ name: "all__simple-prompt" })).messages.length, kind).toBeGreaterThan(0);
      const { completion } = await client.complete({
        ref: { type: "ref/prompt", name: "all__completable-prompt" },
        argument: { name: "department", value: "E" },
      });
      expect(completion.values, kind).toContain("Engineering");
    }
  });
});
