import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { connect, connectOld, startTestGateway } from "./gateway.test.helper.js";
import { serveRaw } from "./raw-server.test.helper.js";

const capabilities = { tools: {}, prompts: {}, resources: {} };
const initialized = JSON.stringify({
  protocolVersion: "2025-11-25",
  capabilities,
  serverInfo: { name: "raw", version: "1" },
});
const inputSchema = { type: "object" };
const goodTool = { name: "good", inputSchema };

interface Lists {
  readonly tools?: readonly unknown[];
  readonly prompts?: readonly unknown[];
  readonly resources?: readonly unknown[];
  readonly resourceTemplates?: readonly unknown[];
}

/** A gateway with a server that has these items, and one that has a good tool. */
async function startWith({ tools = [], prompts = [], resources = [], resourceTemplates = [] }: Lists) {
  const bad = await serveRaw({
    initialize: () => initialized,
    "tools/list": () => JSON.stringify({ tools, nextCursor: null, _meta: null }),
    "prompts/list": () => JSON.stringify({ prompts }),
    "resources/list": () => JSON.stringify({ resources }),
    "resources/templates/list": () => JSON.stringify({ resourceTemplates }),
  });
  const other = await serveRaw({ "tools/list": () => JSON.stringify({ tools: [goodTool] }) });
  return startTestGateway({ bad: bad.entry, other: other.entry });
}

/** The lists that clients of both SDKs and both eras get. */
async function listsOf(gateway: Awaited<ReturnType<typeof startWith>>) {
  const old = await connectOld(gateway);
  const [legacy, modern] = [await connect(gateway, "legacy"), await connect(gateway, "modern")];
  return Promise.all(
    [old, legacy, modern].map(async (client) => ({
      tools: (await client.listTools()).tools,
      prompts: (await client.listPrompts()).prompts,
      resources: (await client.listResources()).resources.filter(({ uri }) => uri !== "wirescope://status"),
      templates: (await client.listResourceTemplates()).resourceTemplates,
    })),
  );
}

const unresolved = { type: "object", properties: { a: { $ref: "#/$defs/A" } } };

const output = (property: object) => ({ outputSchema: { type: "object", properties: { a: property } } });

function nested(depth: number): object {
  let schema: object = { type: "string" };
  for (let level = 0; level < depth; level += 1) schema = { anyOf: [schema] };
  return schema;
}

describe("a malformed item", () => {
  test.each<[string, object, object | undefined, string | undefined]>([
    ["an input schema without a type", { inputSchema: {} }, {}, undefined],
    [
      "an input schema of another type",
      { inputSchema: { type: "array" } },
      undefined,
      'inputSchema.type: Invalid input: expected "object"',
    ],
    ["no input schema", { inputSchema: undefined }, undefined, "inputSchema is missing"],
    [
      "an invalid list of required properties",
      { inputSchema: { type: "object", required: "a" } },
      {},
      "inputSchema.required",
    ],
    ["a list of properties", { inputSchema: { type: "object", properties: [] } }, {}, "inputSchema.properties"],
    [
      "properties that are true or false",
      { inputSchema: { type: "object", properties: { a: true, b: false } } },
      { inputSchema: { type: "object", properties: { a: {}, b: { not: {} } } } },
      undefined,
    ],
    [
      "a property without a schema",
      { inputSchema: { type: "object", properties: { a: "string", b: {} } } },
      { inputSchema: { type: "object", properties: { b: {} } } },
      'property "a"',
    ],
    ["a description that is a number", { description: 5 }, {}, "description: Invalid input: expected string"],
    ["a description that is null", { description: null }, {}, undefined],
    ["a title that is a list", { title: [] }, {}, "title: Invalid input: expected string"],
    ["invalid annotations", { annotations: { readOnlyHint: "yes" } }, {}, "annotations.readOnlyHint"],
    [
      "an invalid icon",
      { icons: [{ src: 5 }, { src: "https://a.example/i.png" }] },
      { icons: [{ src: "https://a.example/i.png" }] },
      "icons[0].src",
    ],
    ["invalid metadata", { _meta: "x" }, {}, "_meta"],
    [
      "an output schema with a reference to nothing",
      { outputSchema: unresolved },
      {},
      '$ref "#/$defs/A" is not a schema in it',
    ],
    [
      "an output schema with an unknown type",
      { outputSchema: { type: "object", properties: { a: { type: "any" } } } },
      {},
      "the value of type is invalid",
    ],
    [
      "an output schema with an invalid pattern",
      { outputSchema: { type: "object", properties: { a: { pattern: "(" } } } },
      {},
      "the value of pattern is invalid",
    ],
    [
      "an output schema with a reference to another document",
      output({ $ref: "https://example.com/schema.json" }),
      {},
      '$ref "https://example.com/schema.json" is not a schema in it',
    ],
    ["an output schema that refers to itself", output({ $ref: "#/properties/a" }), {}, '$ref "#/properties/a"'],
    [
      "an output schema that is invalid where a reference leads",
      {
        outputSchema: {
          type: "object",
          properties: { a: { $ref: "#/components/A" } },
          components: { A: { type: "any" } },
        },
      },
      {},
      "the value of type is invalid",
    ],
    ["an output schema that is nullable without a type", output({ nullable: true, enum: [1] }), {}, "nullable"],
    ["an output schema with two parts of one id", output({ $id: "a", not: { $id: "a" } }), {}, "the value of $id"],
    ["an output schema with an id of draft 4", output({ id: "a" }), {}, "the value of id is invalid"],
    ["an output schema that is nested too deeply", output(nested(2000)), {}, "nested too deeply"],
    [
      "an output schema with an id and a reference to the whole",
      { outputSchema: { $id: "urn:a", type: "object", properties: { a: { $ref: "#" } } } },
      { outputSchema: { type: "object", properties: { a: { $ref: "#" } } } },
      undefined,
    ],
  ])("[TS-D-CONN-5] does not take away the tools of all servers: %s", async (_, given, expected, reason) => {
    const gateway = await startWith({ tools: [{ ...goodTool, name: "bad", ...given }, goodTool] });
    const listed = { name: "bad__bad", inputSchema, ...expected };
    for (const { tools } of await listsOf(gateway)) {
      expect(tools).toEqual([
        ...(expected === undefined ? [] : [listed]),
        { ...goodTool, name: "bad__good" },
        { ...goodTool, name: "other__good" },
      ]);
    }
    const omissions = gateway.events.flatMap((event) => (event.kind === "omitted" ? [event.reason] : []));
    expect(omissions).toEqual(reason === undefined ? [] : [expect.stringContaining(reason)]);
    expect(gateway.gateway.servers()[0]?.listProblems).toHaveLength(reason === undefined ? 0 : 1);
  });

  test("[TS-D-CONN-5] does not take away prompts, resources and templates of all servers", async () => {
    const gateway = await startWith({
      prompts: [
        { name: "text", arguments: "x" },
        { name: "nameless", arguments: [{ description: "?" }, { name: "b" }] },
        { description: "no name" },
      ],
      resources: [{ uri: "a://1" }, { uri: "a://2", name: "two", size: "big" }, "text"],
      resourceTemplates: [{ uriTemplate: "a://{x}" }, { uriTemplate: "a://{y}", name: "y", mimeType: 5 }],
    });
    for (const { prompts, resources, templates } of await listsOf(gateway)) {
      expect(prompts).toEqual([{ name: "bad__text" }, { name: "bad__nameless", arguments: [{ name: "b" }] }]);
      expect(resources).toEqual([{ uri: "a://2", name: "two" }]);
      expect(templates).toEqual([{ uriTemplate: "a://{y}", name: "y" }]);
    }
    expect(gateway.gateway.servers()[0]?.listProblems).toEqual([
      { item: 'prompt "text"', part: "arguments", reason: "arguments: Invalid input: expected array, received string" },
      {
        item: 'prompt "nameless"',
        part: "arguments[0]",
        reason: "arguments[0].name is missing",
      },
      { item: "prompt number 3", reason: "name is missing" },
      { item: 'resource "a://1"', reason: "name is missing" },
      { item: 'resource "a://2"', part: "size", reason: "size: Invalid input: expected number, received string" },
      { item: "resource number 3", reason: "it is not an object" },
      { item: 'resource template "a://{x}"', reason: "name is missing" },
      {
        item: 'resource template "a://{y}"',
        part: "mimeType",
        reason: "mimeType: Invalid input: expected string, received number",
      },
    ]);
  });

  test("reports an omission once until the list is complete, and no longer after that", async () => {
    let tools: readonly object[] = [{ name: "bad", inputSchema: { type: "array" } }, goodTool];
    const server = await serveRaw({ "tools/list": () => JSON.stringify({ tools }) });
    const gateway = await startTestGateway({ server: server.entry });
    const client = await connect(gateway, "legacy");
    const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
    const status = () => gateway.gateway.servers()[0];
    expect((await client.listTools()).tools).toHaveLength(1);
    await expect.poll(server.listening).toBe(1);
    tools = [...tools, { name: "more", inputSchema }];
    server.say(changed);
    await expect.poll(async () => (await client.listTools()).tools).toHaveLength(2);
    expect(gateway.events.filter(({ kind }) => kind === "omitted")).toHaveLength(1);
    tools = [{ name: "bad", inputSchema }];
    server.say(changed);
    await expect.poll(async () => (await client.listTools()).tools[0]?.name).toBe("server__bad");
    expect(status()?.listProblems).toEqual([]);
  });
});

const value = fc.oneof(
  fc.constantFrom<unknown>(null, true, 5, "x", "object", [], {}, ["a"], { type: "object" }, { name: 1 }, [{}], {
    a: null,
  }),
  fc.jsonValue({ maxDepth: 2 }),
);
const schema = fc.record(
  { type: fc.oneof(fc.constant("object"), value), properties: value, required: value, $defs: value, $ref: value },
  { requiredKeys: [] },
);
const item = fc.record(
  {
    name: fc.oneof(fc.constantFrom("a", "b"), value),
    uri: fc.oneof(fc.constantFrom("a://1", "a://2"), value),
    uriTemplate: fc.oneof(fc.constantFrom("a://{x}", "a://{y}"), value),
    title: value,
    description: value,
    inputSchema: fc.oneof(schema, value),
    outputSchema: fc.oneof(schema, value),
    annotations: value,
    arguments: value,
    icons: value,
    size: value,
    mimeType: value,
    _meta: value,
    execution: value,
  },
  { requiredKeys: ["name", "inputSchema", "uri", "uriTemplate"] },
);

test("[TS-D-CONN-5] clients of both SDKs accept every list, whatever a server lists", async () => {
  let items: readonly unknown[] = [];
  const lists = { "tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources" };
  const bad = await serveRaw({
    initialize: () => initialized,
    "resources/templates/list": () => JSON.stringify({ resourceTemplates: items }),
    ...Object.fromEntries(
      Object.entries(lists).map(([method, field]) => [method, () => JSON.stringify({ [field]: items })]),
    ),
  });
  const gateway = await startTestGateway({ bad: bad.entry });
  const clients = [await connectOld(gateway), await connect(gateway, "legacy"), await connect(gateway, "modern")];
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 8 }), async (given) => {
      items = [...given, { name: "good", uri: "good://", uriTemplate: "good://{x}", inputSchema }];
      await gateway.gateway.reconnect("bad");
      for (const client of clients) {
        expect((await client.listTools()).tools.map(({ name }) => name)).toContain("bad__good");
        expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain("bad__good");
        expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain("good://");
        expect((await client.listResourceTemplates()).resourceTemplates).toContainEqual(
          expect.objectContaining({ uriTemplate: "good://{x}" }),
        );
      }
    }),
    { numRuns: 20 },
  );
});
