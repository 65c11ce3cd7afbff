// A stdio tool server that imports almost nothing, because tests start it often: node small-server.mjs

import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const objectOf = (type, ...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type }])),
  required: names,
});

const tools = {
  echo: {
    definition: { description: "Echoes back the input string", inputSchema: objectOf("string", "message") },
    call: ({ message }) => `Echo: ${message}`,
  },
  "get-sum": {
    definition: { description: "Returns the sum of two numbers", inputSchema: objectOf("number", "a", "b") },
    call: ({ a, b }) => `The sum of ${a} and ${b} is ${a + b}.`,
  },
};

const results = {
  initialize: () => ({
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, prompts: {} },
    serverInfo: { name: "small", version: "1.0.0" },
  }),
  ping: () => ({}),
  "prompts/list": () => ({ prompts: [] }),
  "tools/list": () => ({ tools: Object.entries(tools).map(([name, { definition }]) => ({ name, ...definition })) }),
  "tools/call": ({ name, arguments: args }) => ({ content: [{ type: "text", text: tools[name].call(args) }] }),
};

/** The response to a message; undefined for a notification. */
export function replyTo({ id, method, params }) {
  if (id === undefined) return undefined;
  const outcome = results[method]
    ? { result: results[method](params) }
    : { error: { code: -32601, message: "Method not found" } };
  return JSON.stringify({ jsonrpc: "2.0", id, ...outcome });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for await (const line of createInterface({ input: process.stdin })) {
    const reply = replyTo(JSON.parse(line));
    if (reply !== undefined) console.log(reply);
  }
}
