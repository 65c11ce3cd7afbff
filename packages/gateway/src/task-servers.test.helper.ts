import { McpServer, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { metaKeys } from "@wirescope/tool-server/internal";
import { z } from "zod";
import type { TestGateway } from "./gateway.test.helper.js";
import { post } from "./gateway.test.helper.js";
import { serveModern } from "./tool-servers.test.helper.js";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** A task of a test server. */
export interface TestTask {
  status: string;
  result?: unknown;
  error?: unknown;
  inputRequests?: Record<string, unknown>;
}

/** A modern server of the SDK whose tool `work` creates a task. */
export interface TaskServer {
  readonly url: string;
  readonly tasks: ReadonlyMap<string, TestTask>;
  /** Requests about tasks, with the id of the task. */
  readonly seen: readonly string[];
}

export interface TaskServerOptions {
  /** The id of the next task. */
  readonly nextId: () => string;
  readonly ttlMs?: number | null;
  /** Whether the tool returns a task even if the client does not support it. */
  readonly isStubborn?: boolean;
}

const times = { createdAt: "2026-11-16T12:00:00Z", lastUpdatedAt: "2026-11-16T12:00:00Z" };

export async function serveTasks({ nextId, ttlMs = null, isStubborn }: TaskServerOptions): Promise<TaskServer> {
  const tasks = new Map<string, TestTask>();
  const seen: string[] = [];
  const find = (method: string, taskId: string): TestTask => {
    seen.push(`${method} ${taskId}`);
    const task = tasks.get(taskId);
    if (task === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Task not found");
    return task;
  };
  const url = await serveModern(() => {
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
      return { taskId, ...times, ttlMs, pollIntervalMs: 10, ...find("tasks/get", taskId) };
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
  return { url, tasks, seen };
}

/** What a modern client sends. */
export interface ModernRequest {
  readonly capabilities?: object;
  readonly token?: string;
  readonly name?: string;
}

/** Sends one request of a modern client, and resolves with the message that is the response. */
export async function request(
  gateway: TestGateway,
  method: string,
  params: Record<string, unknown>,
  { capabilities = { extensions: { [tasksExtension]: {} } }, token = gateway.token, name }: ModernRequest = {},
): Promise<{
  status: number;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}> {
  const _meta = {
    [metaKeys.protocolVersion]: "2026-07-28",
    [metaKeys.clientInfo]: { name: "raw", version: "1" },
    [metaKeys.clientCapabilities]: capabilities,
  };
  const header = name ?? params.name ?? params.uri ?? params.taskId;
  const response = await post(
    { endpoint: gateway.endpoint, token },
    { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
    {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(header === undefined ? {} : { "mcp-name": String(header) }),
    },
  );
  const text = await response.text();
  const json = text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "{}");
  return { status: response.status, ...JSON.parse(json) };
}
