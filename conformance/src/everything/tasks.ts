import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type ElicitResult,
  inputRequired,
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type RegisteredTool,
  type ServerCapabilities,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { textResult } from "./contents.js";

type Era = "legacy" | "modern";
type Form = ElicitRequestFormParams["requestedSchema"];

const extension = "io.modelcontextprotocol/tasks";
const ttl = 300_000;
const pollInterval = 200;

/** What a server of each era declares. */
export const taskCapabilities: Readonly<Record<Era, ServerCapabilities>> = {
  modern: { extensions: { [extension]: {} } },
  legacy: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
};

/** The request that is handled: the SDK does not pass the `task` of a legacy request to a tool. */
export const currentRequest: AsyncLocalStorage<unknown> = new AsyncLocalStorage();

interface Question {
  readonly request: { readonly method: "elicitation/create"; readonly params: ElicitRequestFormParams };
  respond(response: ElicitResult): void;
}

/** A task and its work. */
class Task {
  readonly id = randomUUID();
  readonly questions = new Map<string, Question>();
  readonly ended: Promise<void>;
  readonly #createdAt = new Date().toISOString();
  readonly #cancelling = new AbortController();
  #updatedAt = this.#createdAt;
  #status: "working" | "completed" | "failed" | "cancelled" = "working";
  #onChange = (): void => {};
  result: CallToolResult | undefined;
  error: { readonly code: number; readonly message: string } | undefined;

  constructor(work: (task: Task) => Promise<CallToolResult>) {
    this.ended = work(this).then(
      (result) => {
        this.result = result;
        this.#end("completed");
      },
      (error: unknown) => {
        this.error = { code: ProtocolErrorCode.InternalError, message: String(error) };
        this.#end("failed");
      },
    );
  }

  get status(): string {
    return this.#status === "working" && this.questions.size > 0 ? "input_required" : this.#status;
  }

  get times(): { readonly createdAt: string; readonly lastUpdatedAt: string } {
    return { createdAt: this.#createdAt, lastUpdatedAt: this.#updatedAt };
  }

  cancel(): void {
    this.#end("cancelled");
    this.#cancelling.abort();
  }

  /** Resolves after a time, or when the task is cancelled. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#cancelling.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  ask(message: string, requestedSchema: Form): Promise<ElicitResult> {
    return new Promise((resolve) => {
      const key = randomUUID();
      const request = { method: "elicitation/create", params: { mode: "form", message, requestedSchema } } as const;
      const respond = (response: ElicitResult): void => {
        this.questions.delete(key);
        this.#changed();
        resolve(response);
      };
      this.questions.set(key, { request, respond });
      this.#changed();
    });
  }

  /** Resolves at the next change. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      const before = this.#onChange;
      this.#onChange = () => {
        before();
        resolve();
      };
    });
  }

  #end(status: "completed" | "failed" | "cancelled"): void {
    if (this.#status !== "working") return;
    this.#status = status;
    this.questions.clear();
    this.#changed();
  }

  #changed(): void {
    this.#updatedAt = new Date().toISOString();
    const onChange = this.#onChange;
    this.#onChange = () => {};
    onChange();
  }
}

const tasks = new Map<string, Task>();

function find(taskId: string): Task {
  const task = tasks.get(taskId);
  if (task === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Task not found");
  return task;
}

const modernState = (task: Task) => ({
  taskId: task.id,
  status: task.status,
  ...task.times,
  ttlMs: ttl,
  pollIntervalMs: pollInterval,
});
const legacyState = (task: Task) => ({ taskId: task.id, status: task.status, ...task.times, ttl, pollInterval });

/** The tools that the suite calls as tasks, and the methods of tasks. */
export function registerTasks(server: McpServer, era: Era): void {
  /** Runs work as a task if the client can handle one. */
  const run = async (
    context: ServerContext,
    work: (task: Task) => Promise<CallToolResult>,
    isRequired = false,
  ): Promise<CallToolResult> => {
    if (era === "legacy" ? wasTaskRequested() : declaresTasks(context)) {
      const task = new Task(work);
      tasks.set(task.id, task);
      const result =
        era === "legacy" ? { content: [], task: legacyState(task) } : { resultType: "task", ...modernState(task) };
      return result as unknown as CallToolResult;
    }
    if (isRequired) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "The tool must be called as a task");
    return work(new Task(async () => textResult("none")));
  };
  /** Declares that a tool may be, or must be, a task: modern servers do not say. */
  const declare = (tool: RegisteredTool, taskSupport: "optional" | "required"): void => {
    if (era === "legacy") tool.execution = { taskSupport };
  };
  const none = z.object({});

  server.registerTool(
    "greet",
    { description: "Greets, and is never a task", inputSchema: z.object({ name: z.string() }) },
    ({ name }) => textResult(`Hello, ${name}!`),
  );
  declare(
    server.registerTool(
      "slow_compute",
      {
        description: "Takes some seconds",
        inputSchema: z.object({ seconds: z.number(), label: z.string().optional() }),
      },
      ({ seconds, label }, context) =>
        run(context, async (task) => {
          await task.sleep(seconds * 1000);
          return textResult(`Computed ${label ?? "it"} in ${seconds} s.`);
        }),
    ),
    "optional",
  );
  declare(
    server.registerTool("failing_job", { description: "Fails as a tool", inputSchema: none }, (_, context) =>
      run(
        context,
        async (task) => {
          await task.sleep(1000);
          return { ...textResult("The job failed."), isError: true };
        },
        true,
      ),
    ),
    "required",
  );
  declare(
    server.registerTool("protocol_error_job", { description: "Fails with an error", inputSchema: none }, (_, context) =>
      run(context, async (task) => {
        await task.sleep(500);
        throw new Error("The job crashed.");
      }),
    ),
    "optional",
  );
  declare(
    server.registerTool(
      "confirm_delete",
      { description: "Asks for confirmation", inputSchema: z.object({ filename: z.string() }) },
      ({ filename }, context) =>
        run(context, async (task) => {
          const response = await task.ask(`Delete ${filename}?`, formOf("confirm", "boolean"));
          return textResult(response.action === "accept" ? `Deleted ${filename}.` : "Nothing was deleted.");
        }),
    ),
    "optional",
  );
  declare(
    server.registerTool("multi_input", { description: "Asks two things at once", inputSchema: none }, (_, context) =>
      run(context, async (task) => {
        const responses = await Promise.all([
          task.ask("Your name?", formOf("name", "string")),
          task.ask("Continue?", formOf("confirm", "boolean")),
        ]);
        return textResult(responses.map(({ action }) => action).join(", "));
      }),
    ),
    "optional",
  );
  declare(
    server.registerTool(
      "test_tool_with_task",
      { description: "Asks for a name, and then is a task", inputSchema: none },
      (_, context) => {
        const name = acceptedContent(context.mcpReq.inputResponses, "user_name")?.name;
        if (typeof name !== "string") {
          const params = { message: "What is your name?", requestedSchema: formOf("name", "string") };
          return inputRequired({ inputRequests: { user_name: inputRequired.elicit(params) } });
        }
        return run(
          context,
          async (task) => {
            await task.sleep(200);
            return textResult(`Hello, ${name}!`);
          },
          true,
        );
      },
    ),
    "required",
  );

  if (era === "modern") registerModernMethods(server);
  else registerLegacyMethods(server);
}

const requiredTools: readonly unknown[] = ["failing_job", "test_tool_with_task"];

/** The error for a call of a tool that is always a task, of a modern client that cannot handle one: a tool cannot return it. */
export function missingCapability(body: unknown): object | undefined {
  const { id, method, params } = body as {
    readonly id?: unknown;
    readonly method?: unknown;
    readonly params?: { readonly name?: unknown; readonly _meta?: Readonly<Record<string, ClientCapabilities>> };
  };
  if (method !== "tools/call" || !requiredTools.includes(params?.name)) return undefined;
  if (params?._meta?.[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[extension] !== undefined) return undefined;
  const { code, message, data } = capabilityError();
  return { jsonrpc: "2.0", id, error: { code, message, data } };
}

function capabilityError(): MissingRequiredClientCapabilityError {
  return new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [extension]: {} } } });
}

const taskParams = z.looseObject({ taskId: z.string() });

function registerModernMethods({ server }: McpServer): void {
  const assertDeclared = (context: ServerContext): void => {
    if (!declaresTasks(context)) throw capabilityError();
  };
  server.setRequestHandler("tasks/get", { params: taskParams }, ({ taskId }, context) => {
    assertDeclared(context);
    const task = find(taskId);
    const { status, result, error } = task;
    return {
      ...modernState(task),
      ...(status === "completed" ? { result } : {}),
      ...(status === "failed" ? { error } : {}),
      ...(status === "input_required"
        ? { inputRequests: Object.fromEntries([...task.questions].map(([key, { request }]) => [key, request])) }
        : {}),
    };
  });
  server.setRequestHandler("tasks/update", { params: taskParams }, ({ taskId }, context) => {
    assertDeclared(context);
    const { questions } = find(taskId);
    // The SDK takes them out of the parameters.
    for (const [key, response] of Object.entries(context.mcpReq.inputResponses ?? {}))
      questions.get(key)?.respond(response as ElicitResult);
    return {};
  });
  server.setRequestHandler("tasks/cancel", { params: taskParams }, ({ taskId }, context) => {
    assertDeclared(context);
    find(taskId).cancel();
    return {};
  });
}

function registerLegacyMethods({ server }: McpServer): void {
  server.setRequestHandler("tasks/get", { params: taskParams }, ({ taskId }) => legacyState(find(taskId)));
  server.setRequestHandler("tasks/list", { params: z.looseObject({}) }, () => ({
    tasks: [...tasks.values()].map(legacyState),
  }));
  server.setRequestHandler("tasks/cancel", { params: taskParams }, ({ taskId }) => {
    const task = find(taskId);
    if (!["working", "input_required"].includes(task.status))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "The task has ended");
    task.cancel();
    return legacyState(task);
  });
  server.setRequestHandler("tasks/result", { params: taskParams }, async ({ taskId }, { mcpReq }) => {
    const task = find(taskId);
    const _meta = { "io.modelcontextprotocol/related-task": { taskId } };
    const asked = new Set<string>();
    while (["working", "input_required"].includes(task.status)) {
      const changed = task.changed();
      for (const [key, { request, respond }] of task.questions) {
        if (asked.has(key)) continue;
        asked.add(key);
        const params = { ...request.params, _meta };
        void mcpReq.send({ method: request.method, params }).then(
          (response) => respond(response as ElicitResult),
          () => asked.delete(key),
        );
      }
      await changed;
    }
    if (task.error !== undefined) throw new ProtocolError(task.error.code, task.error.message);
    if (task.result === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "The task was cancelled");
    return { ...task.result, _meta };
  });
}

function formOf(field: string, type: "string" | "boolean"): Form {
  return { type: "object", properties: { [field]: { type } }, required: [field] } as Form;
}

function wasTaskRequested(): boolean {
  const { params } = (currentRequest.getStore() ?? {}) as { params?: { task?: unknown } };
  return params?.task !== undefined;
}

function declaresTasks({ mcpReq: { envelope } }: ServerContext): boolean {
  const given = envelope as Readonly<Record<string, ClientCapabilities | undefined>> | undefined;
  return given?.[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[extension] !== undefined;
}
