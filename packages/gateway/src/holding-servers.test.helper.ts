import type { Socket } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { type MakeServer, modernListener, serve, serveLegacy } from "./tool-servers.test.helper.js";

/** A call that a server has received, without a response so far. */
export interface Held {
  readonly signal: AbortSignal;
  progress(progress: number): Promise<void>;
  release(): void;
}

export interface Holding {
  /** Its entry in a configuration. */
  readonly entry: { readonly type: string; readonly url: string };
  /** The calls that it has received. */
  readonly held: readonly Held[];
  /** Incoming connections; recorded only in the modern era. */
  readonly sockets: ReadonlySet<Socket>;
}

/** A server whose tool responds with its name once it is released. */
export async function serveHolding(mark: string, era: "legacy" | "modern"): Promise<Holding> {
  const held: Held[] = [];
  const sockets = new Set<Socket>();
  const make: MakeServer = () => {
    const server = new McpServer({ name: mark, version: "1" }, { capabilities: { tools: {} } });
    server.registerTool("hold", { inputSchema: z.object({}) }, async (_, { mcpReq: { _meta, signal, notify } }) => {
      await new Promise<void>((release) =>
        held.push({
          signal,
          release,
          progress: (progress) =>
            notify({
              method: "notifications/progress",
              params: { progressToken: _meta?.progressToken ?? "", progress },
            }),
        }),
      );
      return { content: [{ type: "text", text: mark }] };
    });
    return server;
  };
  if (era === "legacy") return { entry: { type: "http", url: await serveLegacy(make) }, held, sockets };
  const listener = modernListener(make);
  const port = await serve((request, response) => {
    sockets.add(request.socket);
    listener(request, response);
  });
  return { entry: { type: "http", url: `http://127.0.0.1:${port}/mcp` }, held, sockets };
}

/** A stdio server. It returns its pid, at once or after the client has responded to a request; or it never responds. */
const program = `
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const result = { content: [{ type: "text", text: String(process.pid) }] };
const schema = { type: "object", properties: {} };
let asking;
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const tool = params?.name;
  if (method === "initialize") {
    const { protocolVersion } = params;
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "pipes", version: "1" } } });
  } else if (method === "tools/list") {
    say({ id, result: { tools: ["pid", "ask", "never"].map((name) => ({ name, inputSchema: schema })) } });
  } else if (tool === "pid") say({ id, result });
  else if (tool === "ask") {
    asking = id;
    const params = { mode: "form", message: "Continue?", requestedSchema: schema };
    say({ id: "question", method: "elicitation/create", params });
  } else if (id === "question") say({ id: asking, result });
  else if (id !== undefined && tool !== "never") say({ id, error: { code: -32601, message: "Method not found." } });
});`;
export const pipes: { readonly command: string; readonly args: readonly string[]; readonly sandbox: false } = {
  command: process.execPath,
  args: ["-e", program],
  // In the sandbox, its pid is another one.
  sandbox: false,
};
