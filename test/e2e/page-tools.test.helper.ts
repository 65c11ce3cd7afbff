import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import {
  completable,
  createMcpHandler,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { z } from "zod";

/** A tool server for the page, until it is closed. */
export interface TryServer {
  readonly url: string;
  close(): Promise<void>;
}

/** A legacy server whose tools ask, wait, fail and send everything that a page could show. */
export interface LegacyTryServer extends TryServer {
  /** Calls of `wait` that were cancelled. */
  readonly cancelled: () => number;
  /** Responses to the question of `ask`. */
  readonly responses: readonly string[];
  /** Changes the resource `counter://now`, and notifies subscribers. */
  count(): Promise<void>;
}

/** A red square of one pixel. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/** A tenth of a second of silence. */
function silence(): string {
  const wav = Buffer.alloc(44 + 800, 128);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(36 + 800, 4);
  wav.write("WAVEfmt ", 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(8000, 24);
  wav.writeUInt32LE(8000, 28);
  wav.writeUInt16LE(1, 32);
  wav.writeUInt16LE(8, 34);
  wav.write("data", 36);
  wav.writeUInt32LE(800, 40);
  return wav.toString("base64");
}

/** Markup, controls, an override of the text direction and a very long line. */
const hostileText: string = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u001b[2J\u202eevil\u0000${"x".repeat(300_000)}`;

/** An app that shows what it receives, tries to leave its frame, and calls a tool. */
const appHtml = `<!doctype html><p id="state">starting</p><script>
let last = 0; const waiting = new Map();
const send = (method, params) => new Promise((resolve, reject) => {
  waiting.set(++last, { resolve, reject });
  parent.postMessage({ jsonrpc: "2.0", id: last, method, params }, "*");
});
const show = (text) => { document.getElementById("state").textContent = text; };
addEventListener("message", async ({ data }) => {
  if (waiting.has(data.id)) {
    const { resolve, reject } = waiting.get(data.id);
    return data.error ? reject(new Error(data.error.message)) : resolve(data.result);
  }
  if (data.method === "ui/notifications/tool-result") {
    let escaped = "no";
    try { escaped = parent.document.title ? "yes" : "no"; } catch {}
    const result = data.params.content[0].text;
    const other = await send("tools/call", { name: "now", arguments: {} }).then(() => "allowed", (error) => error.message);
    try {
      const { content: [{ text }] } = await send("tools/call", { name: "add", arguments: { a: 2, b: 3 } });
      show(result + ", escaped: " + escaped + ", other: " + other + ", sum: " + text);
    } catch (error) { show(error.message); }
  }
});
send("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "app", version: "1" }, appCapabilities: {} })
  .then(() => parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/initialized" }, "*"));
</script>`;

export async function startLegacyTryServer(): Promise<LegacyTryServer> {
  const open = new Set<McpServer>();
  let [cancelled, counter] = [0, 0];
  const responses: string[] = [];
  const make = (): McpServer => {
    const server = new McpServer(
      { name: "try", version: "1.0.0" },
      { capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} } },
    );
    server.server.setRequestHandler("resources/subscribe", () => ({}));
    server.server.setRequestHandler("resources/unsubscribe", () => ({}));
    server.registerTool(
      "add",
      {
        title: "Add two numbers",
        description: "Returns the sum of two numbers.",
        inputSchema: z.object({ a: z.number().describe("The first number"), b: z.number().min(0) }),
        outputSchema: z.object({ sum: z.number() }),
        annotations: { readOnlyHint: true },
      },
      ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }),
    );
    const card = z.object({ kind: z.literal("card"), number: z.string() });
    const bank = z.object({ kind: z.literal("bank"), iban: z.string() });
    const lines = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`line${index + 1}`, z.string()]));
    const zip = z
      .string()
      .regex(/^\d{5}$/)
      .describe("Five digits");
    const orderSchema = z.object({ ...lines, zip, payment: z.discriminatedUnion("kind", [card, bank]) });
    server.registerTool("order", { inputSchema: orderSchema }, ({ zip: code }) => ({
      content: [{ type: "text", text: `ordered to ${code}` }],
    }));
    server.registerTool("media", { inputSchema: z.object({}) }, () => ({
      content: [
        { type: "image", data: png, mimeType: "image/png" },
        { type: "audio", data: silence(), mimeType: "audio/wav" },
        { type: "resource_link", uri: "counter://now", name: "The counter" },
        { type: "resource", resource: { uri: "notes://one", mimeType: "text/plain", text: "embedded text" } },
        { type: "resource", resource: { uri: "notes://zip", mimeType: "application/zip", blob: "UEsDBA==" } },
      ],
    }));
    server.registerTool("wait", { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
      await mcpReq.notify({ method: "notifications/message", params: { level: "info", data: "about to wait" } });
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken !== undefined) {
        const params = { progressToken, progress: 1, total: 4, message: "one of four" };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      await new Promise((resolve) => mcpReq.signal.addEventListener("abort", resolve, { once: true }));
      cancelled += 1;
      return { content: [] };
    });
    server.registerTool("ask", { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
      const requestedSchema = {
        type: "object" as const,
        properties: {
          name: { type: "string" as const, title: "Your name", minLength: 2 },
          color: { type: "string" as const, enum: ["red", "green"], default: "green" },
          isMember: { type: "boolean" as const },
        },
        required: ["name", "color", "isMember"],
      };
      const params = { mode: "form" as const, message: "Who are you?", requestedSchema };
      const response = await mcpReq.send({ method: "elicitation/create", params }, { timeout: 60_000 });
      responses.push(JSON.stringify(response));
      return { content: [{ type: "text", text: JSON.stringify(response) }] };
    });
    server.registerTool("visit", { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
      const params = {
        mode: "url" as const,
        message: "Please pay.",
        url: "https://pay.example/in?id=1",
        elicitationId: "1",
      };
      const response = await mcpReq.send({ method: "elicitation/create", params }, { timeout: 60_000 });
      return { content: [{ type: "text", text: JSON.stringify(response) }] };
    });
    server.registerTool("sample", { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: "<b>Say hello</b>" } }];
      const params = { messages, maxTokens: 50, systemPrompt: "Be brief." };
      const response = await mcpReq.send({ method: "sampling/createMessage", params }, { timeout: 60_000 });
      return { content: [{ type: "text", text: JSON.stringify(response.content) }] };
    });
    server.registerTool(
      "chart",
      { inputSchema: z.object({}), _meta: { ui: { resourceUri: "ui://try/chart" } } },
      () => ({ content: [{ type: "text", text: "chart data" }] }),
    );
    server.registerResource("chart", "ui://try/chart", { mimeType: "text/html;profile=mcp-app" }, () => ({
      contents: [{ uri: "ui://try/chart", mimeType: "text/html;profile=mcp-app", text: appHtml }],
    }));
    server.registerResource("counter", "counter://now", { mimeType: "text/plain" }, () => ({
      contents: [{ uri: "counter://now", mimeType: "text/plain", text: `count ${counter}` }],
    }));
    server.registerPrompt(
      "greet",
      {
        description: "Greets somebody.",
        argsSchema: z.object({
          name: completable(z.string(), (value) => ["Ada", "Alan", "Grace"].filter((name) => name.startsWith(value))),
        }),
      },
      ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Hello ${name}!` } }] }),
    );
    return server;
  };
  const transports = new Map<string, NodeStreamableHTTPServerTransport>();
  const begin = async (): Promise<NodeStreamableHTTPServerTransport> => {
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    const server = make();
    open.add(server);
    await server.connect(transport);
    return transport;
  };
  const { url, close } = await serve(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const id = request.headers["mcp-session-id"];
    const isFirst = (body as { method?: string } | undefined)?.method === "initialize";
    const transport = typeof id === "string" ? transports.get(id) : isFirst ? await begin() : undefined;
    if (transport === undefined) response.writeHead(400).end();
    else await transport.handleRequest(request, response, body);
  });
  return {
    url,
    cancelled: () => cancelled,
    responses,
    async count() {
      counter += 1;
      await Promise.all([...open].map(({ server }) => server.sendResourceUpdated({ uri: "counter://now" })));
    },
    async close() {
      await Promise.all([...open].map((server) => server.close()));
      await close();
    },
  };
}

/** A server whose tools, schemas and results are meant to harm the page. The SDK would refuse to send them. */
export async function startHostileTryServer(): Promise<TryServer> {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/node" }, other: { $ref: "#/$defs/node" } } };
  const inputSchema = {
    type: "object",
    properties: {
      slow: { type: "string", pattern: "^(a+)+$" },
      tree: { $ref: "#/$defs/node" },
      self: { $ref: "#/properties/self" },
      many: { enum: Array.from({ length: 20_000 }, (_, index) => `value ${index}`) },
      [hostileText.slice(0, 200)]: { type: "string", title: "<i>title</i>", description: hostileText.slice(0, 200) },
    },
    $defs: { node },
  };
  const tools = [
    { name: "say", title: "<u>say</u>", description: hostileText.slice(0, 300), inputSchema: { type: "object" } },
    { name: "trap", inputSchema },
  ];
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=\'owned\'"/>').toString(
    "base64",
  );
  const content = [
    { type: "text", text: hostileText },
    { type: "image", data: "https://example.com/x.png", mimeType: "image/png" },
    { type: "image", data: svg, mimeType: "image/svg+xml" },
    { type: "resource_link", uri: "javascript:document.title='owned'", name: "<b>link</b>" },
    { type: "unheard-of", html: "<script>document.title='owned'</script>" },
    null,
  ];
  const respond = (method: string): object | undefined => {
    switch (method) {
      case "initialize": {
        const serverInfo = { name: "hostile", version: "1.0.0" };
        return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
      }
      case "tools/list":
        return { tools };
      case "tools/call":
        return { content, structuredContent: { "<b>": hostileText.slice(0, 100) }, isError: true };
      default:
        return undefined;
    }
  };
  return serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: unknown; method: string };
    const result = respond(method);
    if (id === undefined) response.writeHead(202).end();
    else {
      const outcome = result === undefined ? { error: { code: -32_601, message: "Method not found" } } : { result };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
    }
  });
}

/** A modern server whose tool becomes a task; the test ends the task. */
export interface TaskTryServer extends TryServer {
  readonly task: { status: string; result?: object; statusMessage?: string };
}

export async function startTaskTryServer(): Promise<TaskTryServer> {
  const task: TaskTryServer["task"] = { status: "working", statusMessage: "half done" };
  const times = { createdAt: "2026-11-16T12:00:00Z", lastUpdatedAt: "2026-11-16T12:00:00Z", ttlMs: null };
  const extension = "io.modelcontextprotocol/tasks";
  const handler = createMcpHandler(
    () => {
      const server = new McpServer(
        { name: "jobs", version: "1.0.0" },
        { capabilities: { tools: {}, extensions: { [extension]: {} } } },
      );
      server.registerTool("work", { inputSchema: z.object({}) }, () => {
        task.status = "working";
        return { resultType: "task", taskId: "t1", status: "working", ...times, pollIntervalMs: 10, content: [] };
      });
      const params = z.looseObject({ taskId: z.string() });
      server.server.setRequestHandler("tasks/get", { params }, ({ taskId }) => {
        if (taskId !== "t1") throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Task not found");
        return { taskId, ...times, pollIntervalMs: 10, ...task };
      });
      server.server.setRequestHandler("tasks/cancel", { params }, () => {
        task.status = "cancelled";
        return {};
      });
      return server;
    },
    { legacy: "reject" },
  );
  const { url, close } = await serve(toNodeHandler(handler) as unknown as RequestListener);
  return {
    url,
    task,
    async close() {
      await handler.close();
      await close();
    },
  };
}

async function serve(listener: RequestListener): Promise<TryServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
