import { expect, test } from "vitest";
import { connect, pollOptions, startTestGateway, type TestGateway } from "./gateway.test.helper.js";
import { serveRaw } from "./raw-server.test.helper.js";

/** A server with these instructions. */
async function serveInstructed(instructions: string | undefined, tools: readonly object[] = []) {
  return serveRaw({
    initialize: () =>
      JSON.stringify({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "raw", version: "1" },
        instructions,
      }),
    "tools/list": () => JSON.stringify({ tools }),
  });
}

const settled = ({ gateway }: TestGateway) =>
  expect
    .poll(
      () => gateway.servers().every(({ tools, failure }) => tools !== undefined || failure !== undefined),
      pollOptions,
    )
    .toBe(true);

const tool = { name: "search", inputSchema: { type: "object" } };

test("[TS-D-CONN-6] names each server in the first 2000 characters, whatever the others say, and shortens their texts fairly", async () => {
  const entries: Record<string, object> = { down: { type: "http", url: "http://127.0.0.1:1/mcp" } };
  for (let at = 0; at < 20; at += 1) {
    const talks = at % 2 === 0;
    const server = await serveInstructed(talks ? `Searches part ${at}.\n${"x".repeat(100_000)}` : "Short.", [tool]);
    entries[`part-${at}`] = server.entry;
  }
  const gateway = await startTestGateway(entries);
  await settled(gateway);
  const client = await connect(gateway, "legacy");
  const instructions = client.getInstructions() ?? "";
  const overview = instructions.slice(0, 2000);
  for (const name of Object.keys(entries)) expect(overview).toContain(`\n- ${name}: `);
  expect(overview).toMatch(/^- down: unavailable: /m);
  expect(overview).toMatch(/^- part-0: Searches part 0\. \(1 tool\)$/m);
  expect(overview).toMatch(/^- part-1: Short\. \(1 tool\)$/m);
  expect(instructions.length).toBeLessThan(18_000);
  expect(instructions).toContain("## part-1\n\nShort.");
  const shares = instructions.split("\n\n## ").filter((section) => section.includes("xxx"));
  expect(shares).toHaveLength(10);
  expect(new Set(shares.slice(0, -1).map((section) => section.length)).size).toBe(1);
  expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain("wirescope://instructions");
  const { contents } = await client.readResource({ uri: "wirescope://instructions" });
  expect(String((contents[0] as { text?: string }).text).length).toBeGreaterThan(1_000_000);
});

test("[TS-D-CONN-6] says how many servers the overview leaves out if there are too many", async () => {
  const entries = Object.fromEntries(
    Array.from({ length: 100 }, (_, at) => [`server-${at}`, { type: "http", url: "http://127.0.0.1:1/mcp" }]),
  );
  const gateway = await startTestGateway(entries);
  await settled(gateway);
  const instructions = (await connect(gateway, "modern")).getInstructions() ?? "";
  expect(instructions.length).toBeLessThan(2000);
  const shown = instructions.match(/^- server-/gm)?.length ?? 0;
  expect(shown).toBeGreaterThan(20);
  expect(instructions).toContain(`- and ${100 - shown} more`);
});

test("[TS-D-CONN-6] removes characters that nobody sees, and truncates long descriptions", async () => {
  const hidden = "\u001b[8m\u202e\u200b\u{e0041}\ufeff\u0000";
  const described = (text: string) => ({
    name: "search",
    title: `Ti${text}tle`,
    description: `De${text}scription\n${"y".repeat(5000)}`,
    inputSchema: {
      type: "object",
      properties: { title: { type: "string", description: `Ar${text}gument`, enum: [`kept${text}`] } },
    },
  });
  const server = await serveInstructed(`In${hidden}structions\nof two lines`, [described(hidden)]);
  const gateway = await startTestGateway({ server: server.entry });
  await settled(gateway);
  const client = await connect(gateway, "legacy");
  expect(client.getInstructions()).toContain("## server\n\nIn[8mstructions\nof two lines");
  const [listed] = (await client.listTools()).tools;
  expect(listed?.title).toBe("Ti[8mtle");
  expect(listed?.description).toMatch(/^De\[8mscription\ny+…$/);
  expect(listed?.description).toHaveLength(4096);
  expect(listed?.inputSchema.properties).toEqual({
    title: { type: "string", description: "Ar[8mgument", enum: [`kept${hidden}`] },
  });
});

test("[TS-D-CONN-6] removes characters that nobody sees from the names of resources, and keeps whole characters", async () => {
  const server = await serveRaw({
    initialize: () =>
      JSON.stringify({
        protocolVersion: "2025-11-25",
        capabilities: { resources: {} },
        serverInfo: { name: "raw", version: "1" },
      }),
    "resources/list": () =>
      JSON.stringify({ resources: [{ uri: "a://1", name: "in\u202evoice\u200b", description: "😀".repeat(3000) }] }),
    "resources/templates/list": () =>
      JSON.stringify({ resourceTemplates: [{ uriTemplate: "a://{x}", name: "\u0000b" }] }),
  });
  const gateway = await startTestGateway({ server: server.entry });
  const client = await connect(gateway, "legacy");
  const [resource] = (await client.listResources()).resources;
  expect(resource).toEqual({ uri: "a://1", name: "invoice", description: `${"😀".repeat(2047)}…` });
  expect((await client.listResourceTemplates()).resourceTemplates[0]?.name).toBe("b");
});
