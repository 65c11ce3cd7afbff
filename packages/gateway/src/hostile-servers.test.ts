import { channels, createSecretRegistry, type SecretRegistry, type TraceEvent } from "@wirescope/tool-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect, type Mode, pollOptions, post, startTestGateway, textOf } from "./gateway.test.helper.js";
import { abyss, eventOf, type RawMethod, serveRaw } from "./raw-server.test.helper.js";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo: { name: "raw", version: "1" },
  },
};
const events = { "content-type": "text/event-stream" };

/** Sends a message before it responds, on the stream of the call. */
const sayingFirst =
  (text: (token: unknown) => string): RawMethod =>
  ({ id, params }, response) => {
    const token = (params?._meta as { progressToken?: unknown } | undefined)?.progressToken;
    response.writeHead(200, events).write(eventOf(text(token)));
    setTimeout(() => response.end(eventOf(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`)), 50);
    return undefined;
  };

describe.each<Mode>(["legacy", "modern"])("deeply nested messages (%s)", (mode) => {
  test.each<[string, Record<string, RawMethod>, RegExp | undefined]>([
    ["a result", { "tools/call": () => `{"content":[],"x":${abyss}}` }, /nested too deeply/],
    [
      "an error",
      {
        "tools/call"({ id }, response) {
          const error = `{"code":-32000,"message":"no","data":${abyss}}`;
          response.writeHead(200, { "content-type": "application/json" });
          response.end(`{"jsonrpc":"2.0","id":${id},"error":${error}}`);
          return undefined;
        },
      },
      /refused tools\/call/,
    ],
    [
      "progress",
      {
        "tools/call": sayingFirst(
          (token) =>
            `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":1,"x":${abyss}}}`,
        ),
      },
      undefined,
    ],
    [
      "a log message",
      {
        "tools/call": sayingFirst(
          () => `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":${abyss}}}`,
        ),
      },
      undefined,
    ],
  ])("fails at most one call because of %s, and continues the others", async (_, methods, failure) => {
    const [hostile, good] = [await serveRaw(methods), await serveRaw()];
    const gateway = await startTestGateway({ hostile: hostile.entry, good: good.entry });
    const client = await connect(gateway, mode);
    const call = client.callTool({ name: "hostile__echo", arguments: {} }, { onprogress: () => {} });
    if (failure === undefined) expect(await call).toMatchObject({ content: [] });
    else await expect(call).rejects.toThrow(failure);
    expect(textOf(await client.callTool({ name: "good__echo", arguments: {} }))).toBe("ok");
    expect(gateway.gateway.servers().map(({ callsInFlight }) => callsInFlight)).toEqual([0, 0]);
  });

  test("does not forward a request that is nested too deeply, and reports the failure", async () => {
    const question = `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","x":${abyss}}}}`;
    const [hostile, good] = [await serveRaw({ "tools/call": sayingFirst(() => question) }), await serveRaw()];
    const gateway = await startTestGateway({ hostile: hostile.entry, good: good.entry });
    const client = await connect(gateway, mode, { capabilities: { elicitation: {} } }, (prepared) =>
      prepared.setRequestHandler("elicitation/create", async () => ({ action: "decline" })),
    );
    const call = client.callTool({ name: "hostile__echo", arguments: {} });
    if (mode === "legacy") expect(await call).toMatchObject({ content: [] });
    else await expect(call).rejects.toThrow(/nested too deeply/);
    expect(textOf(await client.callTool({ name: "good__echo", arguments: {} }))).toBe("ok");
  });
});

test.each([
  [
    "a tool",
    `{"name":"deep","inputSchema":{"type":"object"},"annotations":${abyss}}`,
    ["hostile__echo", "hostile__deep"],
  ],
  ["a schema", `{"name":"deep","inputSchema":{"type":"object","x":${abyss}}}`, ["hostile__echo"]],
  [
    "properties",
    `{"name":"deep","inputSchema":${'{"properties":{"a":'.repeat(20_000)}{"x-mcp-header":"A"}${"}}".repeat(20_000)}}`,
    ["hostile__echo"],
  ],
])("omits %s that is nested too deeply, reports it, and lists the others", async (_, tool, listed) => {
  const hostile = await serveRaw({
    "tools/list": () => `{"tools":[{"name":"echo","inputSchema":{"type":"object"}},${tool}]}`,
  });
  const good = await serveRaw();
  const gateway = await startTestGateway({ hostile: hostile.entry, good: good.entry });
  const client = await connect(gateway, "legacy");
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([...listed, "good__echo"]);
  expect(gateway.events).toContainEqual(expect.objectContaining({ kind: "omitted", server: "hostile" }));
});

test("offers only the first of tools with the same name, because clients would reject the list", async () => {
  const tool = (name: string, description: string): string =>
    JSON.stringify({ name, description, inputSchema: { type: "object" } });
  const twice = await serveRaw({ "tools/list": () => `{"tools":[${tool("a", "first")},${tool("a", "second")}]}` });
  const other = await serveRaw({ "tools/list": () => `{"tools":[${tool("a", "of another")}]}` });
  const entries = { twice: twice.entry, other: other.entry };
  const listOf = async (isUnprefixed: boolean): Promise<(string | undefined)[]> => {
    const client = await connect(await startTestGateway(entries, { isUnprefixed }), "legacy");
    const { tools } = await client.listTools();
    return tools.flatMap(({ name, description }) => [name, description]);
  };
  expect(await listOf(false)).toEqual(["twice__a", "first", "other__a", "of another"]);
  expect(await listOf(true)).toEqual(["a", "first"]);
});

test.each<Mode>(["legacy", "modern"])(
  "limits the open requests of a server, and keeps none after its call (%s)",
  async (mode) => {
    const asked = 100;
    const hostile = await serveRaw({
      "tools/call"({ id }, response) {
        response.writeHead(200, events);
        for (let question = 0; question < asked; question += 1) {
          const params = { message: "?", requestedSchema: { type: "object", properties: {} } };
          response.write(
            eventOf(JSON.stringify({ jsonrpc: "2.0", id: question, method: "elicitation/create", params })),
          );
        }
        // Once all excess requests were refused.
        const timer = setInterval(() => {
          if (hostile.seen.filter(({ error }) => error !== undefined).length < asked - 32) return;
          clearInterval(timer);
          response.end(eventOf(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`));
        }, 10);
        return undefined;
      },
    });
    const gateway = await startTestGateway({ hostile: hostile.entry });
    const refusals = (): (string | undefined)[] => hostile.seen.flatMap(({ error }) => error?.message ?? []);
    if (mode === "modern") {
      const client = await connect(gateway, mode, { capabilities: { elicitation: {} } }, (prepared) =>
        prepared.setRequestHandler("elicitation/create", () => new Promise(() => {})),
      );
      void client.callTool({ name: "hostile__echo", arguments: {} }).catch(() => {});
    } else {
      const began = await post(gateway, initialize);
      const session = { "mcp-session-id": began.headers.get("mcp-session-id") ?? "" };
      const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "hostile__echo", arguments: {} } };
      const text = await (await post(gateway, call, session)).text();
      expect(text.match(/elicitation\/create/g)).toHaveLength(32);
      // The client is notified that the requests are cancelled.
      expect(text.match(/notifications\/cancelled/g)).toHaveLength(32);
      expect(text).toContain('"result":{"content":[]}');
    }
    await expect.poll(() => refusals().length, pollOptions).toBe(asked);
    expect(
      refusals().filter((message) => message?.includes("has reached its limit of 32 open requests to the client")),
    ).toHaveLength(asked - 32);
  },
);

test("neither keeps nor forwards a URI that is too long", async () => {
  const uriOf = (length: number): string => `x:${"y".repeat(length)}`;
  const content = [100, 10_000].map((length) => ({ type: "resource_link", uri: uriOf(length), name: "a" }));
  const speaking = await serveRaw({ "tools/call": () => JSON.stringify({ content }) });
  const other = await serveRaw();
  const gateway = await startTestGateway({ speaking: speaking.entry, other: other.entry });
  const client = await connect(gateway, "legacy");
  await client.callTool({ name: "speaking__echo", arguments: {} });
  await client.readResource({ uri: uriOf(100) }).catch(() => {});
  expect(speaking.seen.at(-1)).toMatchObject({ method: "resources/read", params: { uri: uriOf(100) } });
  await expect(client.readResource({ uri: uriOf(10_000) })).rejects.toThrow("A URI can have at most 8192 characters.");
});

test("truncates long instructions from a server", async () => {
  const capabilities = {};
  const instructions = "x".repeat(1_000_000);
  const talker = await serveRaw({
    initialize: () =>
      JSON.stringify({
        protocolVersion: "2025-11-25",
        capabilities,
        serverInfo: { name: "raw", version: "1" },
        instructions,
      }),
  });
  const gateway = await startTestGateway({ talker: talker.entry });
  await expect.poll(() => gateway.gateway.servers()[0]?.state, pollOptions).toBe("READY");
  const client = await connect(gateway, "legacy");
  expect(client.getInstructions()?.length).toBeLessThan(20_000);
  expect(client.getInstructions()).toContain("## talker");
});

test("sends all log messages about a call to its client, and those of a server that logs endlessly to nobody else", async () => {
  const log = (data: string): string =>
    JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "error", data } });
  const talker = await serveRaw({
    "tools/call"({ id }, response) {
      const own = Array.from({ length: 500 }, () => eventOf(log("own"))).join("");
      response.writeHead(200, events).end(`${own}${eventOf(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`)}`);
      return undefined;
    },
  });
  const gateway = await startTestGateway({ talker: talker.entry });
  const received: string[] = [];
  const client = await connect(gateway, "legacy", {}, (prepared) =>
    prepared.setNotificationHandler("notifications/message", ({ params }) => void received.push(String(params.data))),
  );
  await expect.poll(talker.listening, pollOptions).toBe(1);
  for (let times = 0; times < 1500; times += 1) talker.say(log("again"));
  await client.callTool({ name: "talker__echo", arguments: {} });
  expect(received.filter((text) => text === "own")).toHaveLength(500);
});

test("stops reading a list of endless pages at a limit, and lists the others", async () => {
  const long = "x".repeat(4 * 1024 * 1024);
  let pages = 0;
  const hostile = await serveRaw({
    "tools/list": () => {
      pages += 1;
      const tool = { name: `t${pages}`, description: long, inputSchema: { type: "object" } };
      return JSON.stringify({ tools: [tool], nextCursor: String(pages) });
    },
  });
  const good = await serveRaw();
  const gateway = await startTestGateway({ hostile: hostile.entry, good: good.entry });
  const client = await connect(gateway, "legacy");
  await expect
    .poll(() => gateway.events, pollOptions)
    .toContainEqual(expect.objectContaining({ kind: "omitted", reason: expect.stringMatching(/longer than/) }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["good__echo"]);
  expect(pages).toBeLessThan(10);
});

test("truncates a page with more tools than a function takes arguments, and reports unusable tools in one line", async () => {
  const tools = Array.from({ length: 200_000 }, (_, at) => `{"name":"t${at}"}`);
  const hostile = await serveRaw({ "tools/list": () => `{"tools":[${tools}]}` });
  const gateway = await startTestGateway({ hostile: hostile.entry });
  await expect.poll(() => gateway.gateway.servers()[0]?.tools, pollOptions).toBe(0);
  const reasons = gateway.events.flatMap((event) => (event.kind === "omitted" ? [event.reason] : []));
  expect(reasons).toEqual([expect.stringMatching(/^tool "t0" \(inputSchema is missing\), .*, and 19990 more\.$/)]);
});

/** A registry that reports the length of each redacted string. */
function measured(registry: SecretRegistry, onText: (length: number) => void): SecretRegistry {
  return {
    ...registry,
    scope: () => measured(registry.scope(), onText),
    redact(text) {
      onText(text.length);
      return registry.redact(text);
    },
  };
}

// Redacting 1 MiB takes half a second, and blocks the gateway meanwhile.
test("redacts no more of a long text than it shows, whether a server or a client sends it", async () => {
  let longest = 0;
  const secrets = measured(createSecretRegistry(), (length) => {
    longest = Math.max(longest, length);
  });
  const traced: string[] = [];
  const onTrace = (event: unknown): void => void traced.push((event as TraceEvent).text);
  channels.trace.subscribe(onTrace);
  onTestFinished(() => void channels.trace.unsubscribe(onTrace));
  const long = "A long text. ".repeat(100_000);
  const error = JSON.stringify({ code: -32000, message: long, data: { text: long } });
  const hostile = await serveRaw({
    "tools/call"({ id }, response) {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(`{"jsonrpc":"2.0","id":${id},"error":${error}}`);
      return undefined;
    },
  });
  const gateway = await startTestGateway({ hostile: hostile.entry }, { secrets });
  const client = await connect(gateway, "legacy");
  await expect(client.callTool({ name: "hostile__echo", arguments: {} })).rejects.toMatchObject({
    message: expect.stringMatching(/refused tools\/call: "A long text/),
    data: "[omitted: too large]",
  });
  await expect(client.readResource({ uri: `file:///${long}` })).rejects.toThrow("at most 8192 characters");
  await expect.poll(hostile.listening, pollOptions).toBe(1);
  hostile.say(`{"jsonrpc":"2.0","id":null,"error":${error}}`);
  await expect.poll(() => traced.find((text) => text.includes("A long text")), pollOptions).toHaveLength(4097);
  expect(longest).toBeLessThan(100_000);
});

test("lets only the server that sent a URL elicitation report its completion", async () => {
  const question = `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"mode":"url","message":"Pay?","url":"https://bank.example","elicitationId":"payment-1"}}`;
  const completion = `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"payment-1","note":"x"}}`;
  const [bank, evil] = [await serveRaw({ "tools/call": sayingFirst(() => question) }), await serveRaw()];
  const gateway = await startTestGateway({ bank: bank.entry, evil: evil.entry });
  const completed: unknown[] = [];
  let changes = 0;
  const client = await connect(gateway, "legacy", { capabilities: { elicitation: { url: {} } } }, (prepared) => {
    prepared.setRequestHandler("elicitation/create", async () => ({ action: "accept" }));
    prepared.setNotificationHandler("notifications/elicitation/complete", ({ params }) => void completed.push(params));
    prepared.setNotificationHandler("notifications/tools/list_changed", () => {
      changes += 1;
    });
  });
  await client.callTool({ name: "bank__echo", arguments: {} });
  await expect.poll(() => [bank.listening(), evil.listening()], pollOptions).toEqual([1, 1]);
  evil.say(completion);
  evil.say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
  await expect.poll(() => changes, pollOptions).toBe(1);
  expect(completed).toEqual([]);
  bank.say(completion);
  await expect.poll(() => completed, pollOptions).toEqual([{ elicitationId: "payment-1" }]);
});
