import type { IncomingMessage, ServerResponse } from "node:http";
import { McpServer, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { metaKeys } from "@wirescope/tool-server/internal";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { TestGateway } from "./gateway.test.helper.js";
import { post } from "./gateway.test.helper.js";
import { modernListener, serve } from "./tool-servers.test.helper.js";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** A task of a test server. */
export interface TestTask {
  status: string;
  result?: unknown;
  error?: unknown;
  inputRequests?: Record<string, unknown>;
}

/** A modern SDK server whose tool `work` creates a task. */
export interface TaskServer {
  readonly url: string;
  readonly tasks: ReadonlyMap<string, TestTask>;
  /** Requests about tasks, with the id of the task. */
  readonly seen: readonly string[];
  /** The tasks of each subscription that the gateway has. */
  readonly listening: () => readonly (readonly string[])[];
  /** Sends the state of a task on the subscriptions that include it. */
  notify(taskId: string): void;
}

export interface TaskServerOptions {
  /** The id of the next task. */
  readonly nextId: () => string;
  readonly ttlMs?: number | null;
  /** Default: 10. */
  readonly pollIntervalMs?: number;
  /** Whether the tool returns a task even if the client does not support it. */
  readonly isStubborn?: boolean;
  /** Whether it refuses subscriptions to tasks. */
  readonly refusesListening?: boolean;
}

const times = { createdAt: "2026-11-16T12:00:00Z", lastUpdatedAt: "2026-11-16T12:00:00Z" };

export async function serveTasks(options: TaskServerOptions): Promise<TaskServer> {
  const { nextId, ttlMs = null, pollIntervalMs = 10, isStubborn, refusesListening } = options;
  const tasks = new Map<string, TestTask>();
  const seen: string[] = [];
  const find = (method: string, taskId: string): TestTask => {
    seen.push(`${method} ${taskId}`);
    const task = tasks.get(taskId);
    if (task === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Task not found");
    return task;
  };
  const streams = new Map<ServerResponse, { readonly id: unknown; readonly taskIds: readonly string[] }>();
  const send = (response: ServerResponse, id: unknown, method: string, params: object): void => {
    const _meta = { [metaKeys.subscriptionId]: id };
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", method, params: { ...params, _meta } })}\n\n`);
  };
  const notify = (taskId: string): void => {
    for (const [response, { id, taskIds }] of streams) {
      if (taskIds.includes(taskId))
        send(response, id, "notifications/tasks", { taskId, ...times, ttlMs, ...tasks.get(taskId) });
    }
  };
  /** The SDK does not implement task subscriptions. */
  const listen = ({ id, params }: ListenRequest, response: ServerResponse): void => {
    const isDeclared = params._meta[metaKeys.clientCapabilities]?.extensions?.[tasksExtension] !== undefined;
    if (!isDeclared || refusesListening) {
      const error = isDeclared ? { code: -32_602, message: "No." } : { code: -32_021, message: "Tasks are missing." };
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
      return;
    }
    const taskIds = (params.notifications.taskIds ?? []).filter((taskId) => tasks.has(taskId));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.once("close", () => streams.delete(response));
    response.cork();
    send(response, id, "notifications/subscriptions/acknowledged", { notifications: { taskIds } });
    streams.set(response, { id, taskIds });
    for (const taskId of taskIds) if (tasks.get(taskId)?.status !== "working") notify(taskId);
    response.uncork();
  };
  const listener = modernListener(() => {
    const server = new McpServer(
      { name: "tasks", version: "1.0.0" },
      { capabilities: { tools: {}, extensions: { [tasksExtension]: {} } } },
    );
    server.registerTool("work", { inputSchema: z.object({}) }, (_, { mcpReq: { envelope } }) => {
      const given = envelope as Record<string, { extensions?: Record<string, unknown> }> | undefined;
      const declared = given?.[metaKeys.clientCapabilities]?.extensions?.[tasksExtension];
      if (declared === undefined && !isStubborn) return { content: [{ type: "text", text: "done at once" }] };
      const taskId = nextId();
      tasks.set(taskId, { status: "working" });
      return { resultType: "task", taskId, status: "working", ...times, ttlMs, content: [] };
    });
    server.registerTool("now", { inputSchema: z.object({}) }, () => ({ content: [{ type: "text", text: "now" }] }));
    const params = z.looseObject({ taskId: z.string() });
    server.server.setRequestHandler("tasks/get", { params }, ({ taskId }) => {
      return { taskId, ...times, ttlMs, pollIntervalMs, ...find("tasks/get", taskId) };
    });
    server.server.setRequestHandler("tasks/update", { params }, ({ taskId }, { mcpReq: { inputResponses } }) => {
      const task = find("tasks/update", taskId);
      const { name } = inputResponses as { name?: { content?: { name?: string } } };
      task.status = "completed";
      task.result = { content: [{ type: "text", text: `Hello ${name?.content?.name}` }] };
      return {};
    });
    server.server.setRequestHandler("tasks/cancel", { params }, ({ taskId }) => {
      find("tasks/cancel", taskId).status = "cancelled";
      return {};
    });
    return server;
  });
  const port = await serve(async (request, response) => {
    if (request.headers["mcp-method"] !== "subscriptions/listen") {
      listener(request, response);
      return;
    }
    let body = "";
    for await (const chunk of request) body += chunk;
    const message = JSON.parse(body) as ListenRequest;
    if (message.params.notifications.taskIds === undefined) (listener as ParsedListener)(request, response, message);
    else listen(message, response);
  });
  const listening = (): (readonly string[])[] => [...streams.values()].map(({ taskIds }) => taskIds);
  return { url: `http://127.0.0.1:${port}/mcp`, tasks, seen, listening, notify };
}

type ParsedListener = (request: IncomingMessage, response: ServerResponse, body: unknown) => void;

interface ListenRequest {
  readonly id: unknown;
  readonly params: {
    readonly _meta: Record<string, { extensions?: Record<string, unknown> } | undefined>;
    readonly notifications: { readonly taskIds?: readonly string[] };
  };
}

/** The parameters of a modern client. */
export interface ModernRequest {
  readonly capabilities?: object;
  readonly token?: string;
  readonly name?: string;
}

/** A message from the gateway to a modern client. */
export interface Received {
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { code: number; message: string; data?: unknown };
}

/** Subscribes as a modern client until the test ends. */
export async function subscribe(
  gateway: TestGateway,
  notifications: Record<string, unknown>,
  options: ModernRequest = {},
): Promise<{ readonly received: readonly Received[]; close(): Promise<void> }> {
  const received: Received[] = [];
  const response = await send(gateway, "subscriptions/listen", { notifications }, options);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const close = async (): Promise<void> => reader?.cancel();
  onTestFinished(close);
  const read = async (): Promise<void> => {
    let text = "";
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      const events = (text + part.value).split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data !== undefined) received.push(JSON.parse(data));
      }
    }
  };
  void read().catch(() => {});
  return { received, close };
}

/** Sends one request as a modern client, and resolves with the response message. */
export async function request(
  gateway: TestGateway,
  method: string,
  params: Record<string, unknown>,
  options: ModernRequest = {},
): Promise<Received & { status: number }> {
  const response = await send(gateway, method, params, options);
  const text = await response.text();
  const json = text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "{}");
  return { status: response.status, ...JSON.parse(json) };
}

/** The `_meta` of a modern client's request, which declares the extension by default. */
export function modernMeta(capabilities: object = { extensions: { [tasksExtension]: {} } }): Record<string, unknown> {
  return {
    [metaKeys.protocolVersion]: "2026-07-28",
    [metaKeys.clientInfo]: { name: "raw", version: "1" },
    [metaKeys.clientCapabilities]: capabilities,
  };
}

function send(
  gateway: TestGateway,
  method: string,
  params: Record<string, unknown>,
  { capabilities, token = gateway.token, name }: ModernRequest,
): Promise<Response> {
  const _meta = modernMeta(capabilities);
  const header = name ?? params.name ?? params.uri ?? params.taskId;
  return post(
    { endpoint: gateway.endpoint, token },
    { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
    {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(header === undefined ? {} : { "mcp-name": String(header) }),
    },
  );
}
