import type { Connection, Tool } from "@wirescope/tool-server";

/** What a client does in a scenario of the suite, once it is connected. */
export type Scenario = (connection: Connection, context: unknown) => Promise<void>;

/** The scenarios in which a client does more than to list the tools. Those of authorization are in a table of their own. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  initialize: async (connection) => void (await connection.listTools()),
  tools_call: async (connection) => {
    await connection.listTools();
    await connection.callTool({ name: "add_numbers", arguments: { a: 2, b: 3 } });
  },
  "elicitation-sep1034-client-defaults": async (connection) => {
    await connection.listTools();
    await connection.callTool({ name: "test_client_elicitation_defaults", arguments: {} });
  },
  "sse-retry": async (connection) => {
    await connection.listTools();
    await connection.callTool({ name: "test_reconnection", arguments: {} });
  },
  "json-schema-2020-12-preservation": async (connection) => {
    const { tools } = await connection.listTools();
    const focal = tools.find(({ name }) => name === "json_schema_2020_12_tool");
    await connection.callTool({ name: "json_schema_echo", arguments: { schema: focal?.inputSchema } });
  },
  "http-custom-headers": async (connection, context) => {
    const { tools } = await connection.listTools();
    for (const call of callsOf(context)) await connection.callTool(call).catch(reportOnly);
    if (callsOf(context).length === 0) await callEach(connection, tools);
  },
  "http-standard-headers": useEverything,
  "http-invalid-tool-headers": useEverything,
  "sep-2322-client-request-state": useEverything,
};

/** Lists everything, calls every tool, reads every resource and gets every prompt. */
export async function useEverything(connection: Connection): Promise<void> {
  const { tools } = await connection.listTools();
  await callEach(connection, tools);
  const { resources } = await connection.listResources();
  for (const { uri } of resources) await connection.readResource({ uri }).catch(reportOnly);
  const { prompts } = await connection.listPrompts();
  for (const { name } of prompts) await connection.getPrompt({ name }).catch(reportOnly);
}

/** In scenarios where the suite breaks things on purpose, a failure is what it looks for. */
function reportOnly(error: unknown): void {
  console.error(error instanceof Error ? error.message : String(error));
}

async function callEach(connection: Connection, tools: readonly Tool[]): Promise<void> {
  for (const { name, inputSchema } of tools) {
    await connection.callTool({ name, arguments: exampleOf(inputSchema) }).catch(reportOnly);
  }
}

function callsOf(context: unknown): { name: string; arguments: Record<string, unknown> }[] {
  if (typeof context !== "object" || context === null || !("toolCalls" in context)) return [];
  return Array.isArray(context.toolCalls) ? context.toolCalls : [];
}

function exampleOf(schema: Tool["inputSchema"]): Record<string, unknown> {
  const required = new Set(schema.required ?? []);
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => required.has(name));
  return Object.fromEntries(properties.map(([name, property]) => [name, exampleValue(property)]));
}

function exampleValue(property: unknown): unknown {
  const type = typeof property === "object" && property !== null && "type" in property ? property.type : undefined;
  if (type === "number" || type === "integer") return 1;
  if (type === "boolean") return true;
  if (type === "array") return [];
  return type === "object" ? {} : "example";
}
