// A server with all that the suite asks servers for, of the official SDK, in both eras at one url: what our gateway is put before.
//
// With the argument `legacy` it speaks the older era alone. Listens on a free port of this machine, and says its url as the one line of its standard output.

import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, createRequestStateCodec, McpServer } from "@modelcontextprotocol/server";
import { type CallState, registerAskingTools } from "./everything/asking-tools.js";
import { registerPlainTools } from "./everything/plain-tools.js";
import { registerPrompts } from "./everything/prompts.js";
import { registerResources } from "./everything/resources.js";
import { createLegacySessions } from "./everything/sessions.js";
import { currentRequest, missingCapability, registerTasks, taskCapabilities } from "./everything/tasks.js";

const isOlder = process.argv[2] === "legacy";
const codec = createRequestStateCodec<CallState>({ key: randomBytes(32) });
const hint = { ttlMs: 60_000, cacheScope: "public" } as const;

function make(era: "legacy" | "modern"): McpServer {
  const server = new McpServer(
    { name: "everything", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        logging: {},
        completions: {},
        ...taskCapabilities[era],
      },
      requestState: { verify: codec.verify },
      cacheHints: {
        "tools/list": hint,
        "prompts/list": hint,
        "resources/list": hint,
        "resources/templates/list": hint,
        "resources/read": hint,
        "server/discover": hint,
      },
    },
  );
  registerPlainTools(server, {
    toolsChanged() {
      modern.notify.toolsChanged();
      for (const one of legacy.servers) one.sendToolListChanged();
    },
    promptsChanged() {
      modern.notify.promptsChanged();
      for (const one of legacy.servers) one.sendPromptListChanged();
    },
  });
  registerAskingTools(server, codec);
  registerResources(server);
  registerPrompts(server);
  registerTasks(server, era);
  return server;
}

const modern = createMcpHandler(() => make("modern"), { legacy: "reject" });
const legacy = createLegacySessions(() => {
  const server = make("legacy");
  // It says that it can, and nothing that it has ever changes.
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
  return server;
});
// Their types do not know exact optional properties.
const serveModern = toNodeHandler(modern) as unknown as (
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
) => Promise<void>;
const [isHostGood, isOriginGood] = [localhostHostValidation(), localhostOriginValidation()];

const listener = createServer(async (request, response) => {
  try {
    if (!isHostGood(request, response) || !isOriginGood(request, response)) return;
    const body = await readJson(request);
    if (isOlder || isLegacy(request, body)) {
      await currentRequest.run(body, () => legacy.handle(request, response, body));
      return;
    }
    const refusal = missingCapability(body ?? {});
    if (refusal !== undefined)
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(refusal));
    else await serveModern(request, response, body);
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    if (!response.headersSent) response.writeHead(500);
    response.end();
  }
});
listener.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp\n`);
});

/** Whether a request belongs to a session, or begins one. Everything else belongs to the newer era, and its errors are reported there. */
function isLegacy({ method, headers }: IncomingMessage, body: unknown): boolean {
  if (headers["mcp-session-id"] !== undefined || method !== "POST") return true;
  const { method: asked, params } = (body ?? {}) as { method?: unknown; params?: { _meta?: object } };
  return asked === "initialize" && headers["mcp-protocol-version"] !== "2026-07-28" && !params?._meta;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const written = Buffer.concat(chunks).toString();
  return written === "" ? undefined : JSON.parse(written);
}
