import type { ServerResponse } from "node:http";
import { startHostileServer } from "./http/hostile-http-server.test.helper.js";

/** A stdio server without imports, because tests start it often. Its tools return where and how it runs. */
export const smallProgram: string = `
const run = () => ({ content: [{ type: "text", text: JSON.stringify({ cwd: process.cwd(), env: process.env }) }] });
const tools = { add: run, file_deleter: run };
const serverInfo = { name: "local", version: "1.0.0" };
const results = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo }),
  ping: () => ({}),
  "tools/list": () => ({ tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })) }),
  "tools/call": ({ name }) => tools[name](),
};
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const result = results[method]?.(params);
    const error = results[method] ? undefined : { code: -32601, message: "Method not found" };
    if (result || error) console.log(JSON.stringify({ jsonrpc: "2.0", id, result, error }));
  }
});
`;

/** Its entry in a configuration. */
export const smallEntry: { readonly command: string; readonly args: readonly string[] } = {
  command: process.execPath,
  args: ["-e", smallProgram],
};

/** A server over HTTP with SSE, with an echo tool, until the test ends; returns its url. */
export async function serveSse(): Promise<string> {
  const results: Record<string, (params: { arguments?: { message?: string } }) => object> = {
    initialize: () => ({
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "remote", version: "1.0.0" },
    }),
    "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
    "tools/call": (params) => ({ content: [{ type: "text", text: `Echo: ${params.arguments?.message}` }] }),
  };
  let stream: ServerResponse | undefined;
  const server = await startHostileServer((request, response) => {
    if (request.method === "GET") {
      stream = response.writeHead(200, { "content-type": "text/event-stream" });
      stream.write("event: endpoint\ndata: /messages\n\n");
      return;
    }
    if (request.url !== "/messages") return void response.writeHead(404).end();
    response.writeHead(202).end();
    const { id, method, params } = JSON.parse(request.body);
    const message = JSON.stringify({ jsonrpc: "2.0", id, result: results[method]?.(params) ?? {} });
    if (id !== undefined) stream?.write(`event: message\ndata: ${message}\n\n`);
  });
  return new URL("/sse", server.url).href;
}
