import type { Client } from "@modelcontextprotocol/client";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { fromJsonSchema, type InputRequiredResult, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { metaKeys } from "@wirescope/tool-server/internal";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  connect,
  connectOld,
  type Mode,
  pollOptions,
  post,
  slowLists,
  startTestGateway,
  type TestGateway,
  textOf,
} from "./gateway.test.helper.js";
import type { GatewayLimits } from "./limits.js";
import { request } from "./task-servers.test.helper.js";
import {
  type MakeServer,
  modernListener,
  serve,
  serveBoth,
  serveLegacy,
  serveModern,
} from "./tool-servers.test.helper.js";

const form = {
  type: "object" as const,
  properties: { name: { type: "string" as const } },
  required: ["name"],
};

/** A server whose tool asks the client for a name, in the form of its era, a given number of times. */
const makeAsking: MakeServer = (era) => {
  const server = new McpServer({ name: "asking", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.registerTool("greet", { inputSchema: z.object({ times: z.number() }) }, async ({ times }, context) => {
    if (era === "legacy") {
      const names: string[] = [];
      for (let time = 1; time <= times; time += 1) {
        const response = await context.mcpReq.send(
          { method: "elicitation/create", params: { mode: "form", message: `Who? ${time}`, requestedSchema: form } },
          { timeout: 60_000 },
        );
        names.push(response.action === "accept" ? String(response.content?.name) : response.action);
      }
      return { content: [{ type: "text", text: `Hello ${names.join(", ")}` }] };
    }
    const { inputResponses, requestState } = context.mcpReq;
    const known = JSON.parse(requestState<string>() ?? "[]") as string[];
    const response = inputResponses?.name as { action: string; content?: { name?: string } } | undefined;
    if (response !== undefined)
      known.push(response.action === "accept" ? String(response.content?.name) : response.action);
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

const eliciting = { capabilities: { elicitation: { form: {} } } };

/** Responds to each elicitation with this name. */
function respondAs(name: string): (client: Client) => void {
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

describe.each(["legacy", "modern"] as const)("a request from a %s server during a call", (era) => {
  test.each(["legacy", "modern"] as const)(
    "forwards the request to a %s client, and its response to the server",
    async (mode) => {
      const gateway = await startAsking(era);
      const client = await connect(gateway, mode, eliciting, respondAs("Ada"));
      for (const [times, text] of [
        [1, "Hello Ada1"],
        [3, "Hello Ada2, Ada3, Ada4"],
      ] as const) {
        const result = await client.callTool({ name: "asking__greet", arguments: { times } });
        expect(textOf(result)).toBe(text);
      }
    },
  );

  test("forwards the request to a client of SDK 1.x, and its response to the server", async () => {
    const gateway = await startAsking(era);
    const client = await connectOld(gateway, { elicitation: {} }, (old) => {
      old.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Grace" } }));
    });
    const result = await client.callTool({ name: "asking__greet", arguments: { times: 1 } });
    expect(textOf(result)).toBe("Hello Grace");
  });

  test("asks each of many clients only about its own call", async () => {
    const gateway = await startAsking(era);
    const names = Array.from({ length: 6 }, (_, index) => `client-${index}-`);
    const clients = await Promise.all(
      names.map((name, index) => connect(gateway, index % 2 === 0 ? "modern" : "legacy", eliciting, respondAs(name))),
    );
    const texts = await Promise.all(
      clients.map(async (client) => textOf(await client.callTool({ name: "asking__greet", arguments: { times: 2 } }))),
    );
    expect(texts).toEqual(names.map((name) => `Hello ${name}1, ${name}2`));
  });

  test.each(["legacy", "modern"] as const)("does not ask a %s client without the capability", async (mode) => {
    const gateway = await startAsking(era);
    const client = await connect(gateway, mode);
    const outcome = await client.callTool({ name: "asking__greet", arguments: { times: 1 } }).then(
      (result) => `${result.isError} ${textOf(result)}`,
      (error: Error) => error.message,
    );
    expect(outcome).not.toContain("Hello");
    expect(outcome).toMatch(/does not support|capabilit/);
  });
});

/**
 * A stdio server whose tool `ask` sends a request, and returns the response to it. `late` does so when `quick` is called,
 * which returns at once. `never` never returns.
 */
const asking = `
  const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
  const text = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
  const tools = ["ask", "late", "quick", "never"].map((name) => ({ name, inputSchema: { type: "object" } }));
  const serverInfo = { name: "asking", version: "1" };
  const outcomes = {
    initialize: { result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo } },
    "tools/list": { result: { tools } },
  };
  const unknown = { error: { code: -32601, message: "No." } };
  const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
  const params = { mode: "form", message: "Who?", requestedSchema };
  const ask = (id) => write({ id: "for " + id, method: "elicitation/create", params });
  let late;
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params, result, error } = JSON.parse(line);
    if (id === undefined) return;
    if (method === undefined) write({ id: Number(id.slice(4)), result: text(result ?? error) });
    else if (method !== "tools/call") write({ id, ...(outcomes[method] ?? unknown) });
    else if (params.name === "ask") ask(id);
    else if (params.name === "late") late = id;
    else if (params.name === "quick") {
      ask(late);
      write({ id, result: text("quick") });
    }
  });
`;

describe("a connection that all calls share", () => {
  const start = () =>
    startTestGateway({ all: { command: process.execPath, args: ["-e", asking] } }, { limits: slowLists });
  const long = { name: "all__never", arguments: {} };
  const ask = { name: "all__ask", arguments: {} };
  const decline = (client: Client): void =>
    client.setRequestHandler("elicitation/create", async () => ({ action: "decline" }));

  /** Starts a call that runs until it is cancelled. */
  async function begin(gateway: TestGateway, client: Client): Promise<() => Promise<void>> {
    const controller = new AbortController();
    const call = client.callTool(long, { signal: controller.signal }).catch(() => {});
    await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, pollOptions).toBe(1);
    return async () => {
      controller.abort();
      await call;
    };
  }

  test("forwards a request to the only call in flight whose client supports it", async () => {
    const gateway = await start();
    const end = await begin(gateway, await connect(gateway, "legacy"));
    const client = await connect(gateway, "modern", eliciting, decline);
    expect(textOf(await client.callTool(ask))).toBe('{"action":"decline"}');
    await end();
  });

  test("forwards a request that could belong to several calls of one legacy client", async () => {
    const gateway = await start();
    const client = await connect(gateway, "legacy", eliciting, decline);
    const end = await begin(gateway, client);
    const results = await Promise.all([client.callTool(ask), client.callTool(ask)]);
    for (const result of results) expect(textOf(result)).toBe('{"action":"decline"}');
    await end();
  });

  test("does not cancel a request when one of the calls that it could belong to ends", async () => {
    const gateway = await start();
    let quick: Promise<unknown> | undefined;
    const client = await connect(gateway, "legacy", eliciting, (self) =>
      self.setRequestHandler("elicitation/create", async () => {
        await quick;
        return { action: "accept", content: { name: "Ada" } };
      }),
    );
    await client.listTools();
    const late = client.callTool({ name: "all__late", arguments: {} });
    await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, pollOptions).toBe(1);
    quick = client.callTool({ name: "all__quick", arguments: {} });
    expect(textOf(await late)).toBe('{"action":"accept","content":{"name":"Ada"}}');
  });

  test.each([
    ["legacy", "legacy"],
    ["legacy", "modern"],
    ["modern", "legacy"],
    ["modern", "modern"],
  ] as const)("asks a %s and a %s client at the same time, each for its own call", async (one, other) => {
    const gateway = await start();
    const replies: (() => void)[] = [];
    const open = (mode: Mode, name: string) =>
      connect(gateway, mode, eliciting, (client) =>
        client.setRequestHandler("elicitation/create", async () => {
          await new Promise<void>((resolve) => replies.push(resolve));
          return { action: "accept", content: { name } };
        }),
      );
    const [first, second] = [await open(one, "first"), await open(other, "second")];
    const calls = [first.callTool(ask)];
    await expect.poll(() => replies.length, pollOptions).toBe(1);
    calls.push(second.callTool(ask));
    await expect.poll(() => replies.length, pollOptions).toBe(2);
    for (const reply of replies) reply();
    expect((await Promise.all(calls)).map(textOf)).toEqual([
      '{"action":"accept","content":{"name":"first"}}',
      '{"action":"accept","content":{"name":"second"}}',
    ]);
  });

  test.each(["legacy", "modern"] as const)(
    "asks a client although a %s client was asked before and never responds",
    async (mode) => {
      const gateway = await start();
      let isAsked = false;
      const silent = await connect(gateway, mode, eliciting, (client) =>
        client.setRequestHandler("elicitation/create", () => {
          isAsked = true;
          return new Promise(() => {});
        }),
      );
      void silent.callTool(ask).catch(() => {});
      await expect.poll(() => isAsked, pollOptions).toBe(true);
      const client = await connect(gateway, "modern", eliciting, decline);
      expect(textOf(await client.callTool(ask))).toBe('{"action":"decline"}');
    },
  );

  test("ends a request when all streams of its legacy client are closed", async () => {
    const gateway = await start();
    let isAsked = false;
    const client = await connect(gateway, "legacy", eliciting, (self) =>
      self.setRequestHandler("elicitation/create", () => {
        isAsked = true;
        return new Promise(() => {});
      }),
    );
    void client.callTool(ask).catch(() => {});
    await expect.poll(() => isAsked, pollOptions).toBe(true);
    await client.close();
    await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, pollOptions).toBe(0);
  });

  test("rejects a request that could belong to two calls, and gives the reason", async () => {
    const gateway = await start();
    const other = await connect(gateway, "legacy", eliciting, decline);
    const end = await begin(gateway, other);
    const client = await connect(gateway, "modern", eliciting, decline);
    const result = await client.callTool(ask);
    expect(textOf(result)).toMatch(/2 calls are in flight, and on this connection nothing identifies the one/);
    await end();
    expect(textOf(await client.callTool(ask))).toBe('{"action":"decline"}');
  });
});

describe("a call that waits for input from a modern client", () => {
  const meta = {
    _meta: {
      [metaKeys.protocolVersion]: "2026-07-28",
      [metaKeys.clientCapabilities]: { elicitation: { form: {} } },
    },
  };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call" };
  interface CallResponse {
    readonly result?: { resultType: string; requestState: string; inputRequests: object; content: { text: string }[] };
    readonly error?: { readonly code: number };
  }
  const call = async (gateway: TestGateway, more: object = {}, name = "asking__greet"): Promise<CallResponse> => {
    const params = { name, arguments: { times: 1 }, ...meta, ...more };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    return (await post(gateway, message, { ...headers, "mcp-name": name })).json() as Promise<CallResponse>;
  };
  const startWaiting = async (limits: Partial<GatewayLimits> = {}) => {
    const url = await serveLegacy(makeAsking);
    return startTestGateway({ asking: { type: "http", url }, echo: { type: "http", url } }, { limits });
  };

  test("continues a parked call with the response, once", async () => {
    const gateway = await startWaiting();
    const { result } = await call(gateway);
    expect(result).toMatchObject({
      resultType: "input_required",
      inputRequests: { "ask-1": { method: "elicitation/create", params: { mode: "form", message: "Who? 1" } } },
    });
    const inputResponses = { "ask-1": { action: "accept", content: { name: "Ada" } } };
    const more = { inputResponses, requestState: result?.requestState };
    expect((await call(gateway, more)).result?.content[0]?.text).toBe("Hello Ada");
    expect((await call(gateway, more)).error?.code).toBe(-32_602);
  });

  test("asks again if the response is missing", async () => {
    const gateway = await startWaiting();
    const first = await call(gateway);
    const again = await call(gateway, { inputResponses: {}, requestState: first.result?.requestState });
    expect(again.result).toMatchObject({ resultType: "input_required", inputRequests: first.result?.inputRequests });
  });

  test("does not find a parked call by another call or an invented state", async () => {
    const gateway = await startWaiting();
    const { result } = await call(gateway);
    const more = { inputResponses: {}, requestState: result?.requestState };
    expect((await call(gateway, more, "echo__greet")).error?.code).toBe(-32_602);
    expect((await call(gateway, { ...more, requestState: "p.made-up" })).error?.code).toBe(-32_602);
    expect((await call(gateway, more)).result?.resultType).toBe("input_required");
  });

  test("cancels a parked call if the client does not return", async () => {
    const gateway = await startWaiting({ inputMs: 50 });
    const { result } = await call(gateway);
    await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, pollOptions).toBe(0);
    expect((await call(gateway, { requestState: result?.requestState })).error?.code).toBe(-32_602);
  });

  test("refuses a call if the limit of parked calls is reached", async () => {
    const gateway = await startWaiting({ parkedCalls: 1 });
    expect((await call(gateway)).result?.resultType).toBe("input_required");
    expect((await call(gateway)).error?.code).toBe(-32_000);
    expect(gateway.events.filter(({ kind }) => kind === "refused")).toMatchObject([{ limit: "parked-calls" }]);
    await expect.poll(() => gateway.gateway.servers()[0]?.callsInFlight, pollOptions).toBe(1);
  });
});

test("compares arguments that a tool declares as headers with the headers, and forwards them as headers", async () => {
  const seen: unknown[] = [];
  // The protocol's schema extensions are not in the schema types.
  const region = { type: "string" as const, "x-mcp-header": "Region" };
  const inputSchema = fromJsonSchema<{ region: string }>({ type: "object", properties: { region } });
  const listener = modernListener(() => {
    const server = new McpServer({ name: "routed", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("where", { inputSchema }, ({ region }) => ({ content: [{ type: "text", text: region }] }));
    return server;
  });
  const port = await serve((request, response) => {
    if (request.headers["mcp-method"] === "tools/call") seen.push(request.headers["mcp-param-region"]);
    listener(request, response);
  });
  const gateway = await startTestGateway({ routed: { type: "http", url: `http://127.0.0.1:${port}/mcp` } });
  for (const mode of ["modern", "legacy"] as const) {
    const client = await connect(gateway, mode);
    await client.listTools();
    expect(textOf(await client.callTool({ name: "routed__where", arguments: { region: "größer" } }))).toBe("größer");
  }
  const wrapped = `=?base64?${Buffer.from("größer").toString("base64")}?=`;
  expect(seen).toEqual([wrapped, wrapped]);
});

describe("a server of both eras whose tool sends requests to its client", () => {
  /** In the modern era a tool cannot send requests, and this one does not return its request in a result. */
  const makeSampling: MakeServer = () => {
    const server = new McpServer({ name: "sampling", version: "1.0.0" }, { capabilities: { tools: {} } });
    server.registerTool("ask", { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: "Hi" } }];
      const response = await mcpReq.send({ method: "sampling/createMessage", params: { messages, maxTokens: 5 } });
      return { content: [{ type: "text", text: JSON.stringify(response.content) }] };
    });
    return server;
  };
  const sampling = { capabilities: { sampling: {} } };
  const sample = (client: Client): void =>
    client.setRequestHandler("sampling/createMessage", async () => ({
      role: "assistant",
      model: "test",
      content: { type: "text", text: "sampled" },
    }));

  test.each(["legacy", "modern"] as const)(
    "serves a %s client if its era is set to legacy [TS-D-EXT-8]",
    async (mode) => {
      const url = await serveBoth(makeSampling);
      const entries = { one: { type: "http", url } };
      const gateway = await startTestGateway(entries, { servers: { one: { era: "legacy" } } });
      const client = await connect(gateway, mode, sampling, sample);
      expect(textOf(await client.callTool({ name: "one__ask", arguments: {} }))).toContain("sampled");
      expect(gateway.gateway.servers()[0]?.protocolVersion).toBe("2025-11-25");
    },
  );

  test("uses the modern era by default with a server that supports both", async () => {
    const gateway = await startTestGateway({ one: { type: "http", url: await serveBoth(makeSampling) } });
    await expect.poll(() => gateway.gateway.servers()[0]?.protocolVersion, pollOptions).toBe("2026-07-28");
  });

  test("reports to a legacy server that the user of a modern client declined, and its tool ends", async () => {
    const gateway = await startTestGateway({ one: { type: "http", url: await serveLegacy(makeSampling) } });
    await expect.poll(() => gateway.gateway.servers()[0]?.tools, pollOptions).toBe(1);
    const capabilities = { sampling: {} };
    const call = (more: object): ReturnType<typeof request> =>
      request(gateway, "tools/call", { name: "one__ask", arguments: {}, ...more }, { capabilities });
    const { result: asked } = await call({});
    expect(asked?.resultType).toBe("input_required");
    const [key = ""] = Object.keys(asked?.inputRequests as object);
    const inputResponses = { [key]: { error: { code: -1, message: "The user declined the request." } } };
    const { result } = await call({ requestState: asked?.requestState, inputResponses });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain("The user declined the request.");
  });

  test("returns the protocol's error to a modern client that does not support the request [TS-D-EXT-8]", async () => {
    const gateway = await startTestGateway({ one: { type: "http", url: await serveLegacy(makeSampling) } });
    await expect.poll(() => gateway.gateway.servers()[0]?.tools, pollOptions).toBe(1);
    const response = await post(
      gateway,
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name: "one__ask",
          arguments: {},
          _meta: { [metaKeys.protocolVersion]: "2026-07-28", [metaKeys.clientCapabilities]: {} },
        },
      },
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "one__ask" },
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: -32_021, data: { requiredCapabilities: { sampling: {} } } },
    });
  });
});
