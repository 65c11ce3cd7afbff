import { ToolServerError } from "@wirescope/tool-server";
import { errorObjectOf, isObject, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { OfferedTool } from "../servers/offered.js";
import type { GatewayServer } from "../servers/server.js";
import type { KnownTask, TaskTable } from "../servers/task-table.js";
import {
  declaresTasks,
  isTerminal,
  legacyTask,
  modernTask,
  tasksMissing,
  withoutRelatedTask,
  withRelatedTask,
} from "../task-states.js";
import { createKeptResults } from "./kept-results.js";
import { createLegacyTaskInput } from "./legacy-task-input.js";
import { awaitModernTask, type TaskRequests } from "./modern-task-result.js";

/** Tasks of legacy and modern servers, for legacy and modern clients. */
export interface Tasks {
  readonly table: TaskTable;
  /** The parameters of a tool call that may create a task. Throws an RpcError if the tool cannot be called in this way. */
  paramsFor(server: GatewayServer, tool: OfferedTool, call: ClientCall, params: RpcObject): RpcObject;
  /** The result of a tool call for its client. A task in it is added to the table. */
  resultOf(server: GatewayServer, call: ClientCall, result: RpcObject): RpcObject;
  /** The server and id to subscribe to for a task; undefined if the client has no such task, or its server is legacy. */
  routeOf(id: string, principal: string): TaskRoute | undefined;
  /** The task methods for modern clients, and for legacy ones. */
  readonly modern: Readonly<Record<string, TaskMethod>>;
  readonly legacy: Readonly<Record<string, TaskMethod>>;
  close(): void;
}

export interface TaskRoute {
  readonly server: GatewayServer;
  /** The server's own id. */
  readonly original: string;
}

type TaskMethod = (call: ClientCall) => Promise<RpcObject>;

export interface TasksOptions {
  readonly table: TaskTable;
  readonly servers: () => readonly GatewayServer[];
  /** The maximum number of tasks of modern clients on legacy servers that wait for input at the same time. */
  readonly maxWaiting: number;
  readonly inputMs: number;
}

/** Tasks in one page of `tasks/list`. */
const pageSize = 20;

export function createTasks({ table, servers, maxWaiting, inputMs }: TasksOptions): Tasks {
  const input = createLegacyTaskInput({ max: maxWaiting, timeoutMs: inputMs });
  const kept = createKeptResults(table);

  const knownServer = (task: KnownTask): GatewayServer | undefined =>
    servers().find(({ name }) => name === task.server);
  const find = (call: ClientCall): KnownTask => {
    if (call.era === "modern" && !declaresTasks(call.capabilities)) throw tasksMissing();
    return table.find(call.params.taskId, call);
  };
  const serverOf = (task: KnownTask): GatewayServer => {
    const server = knownServer(task);
    if (server !== undefined) return server;
    const message = `The server of the task, ${JSON.stringify(task.server)}, was removed.`;
    throw new RpcError(rpcCodes.invalidParams, message);
  };
  /** Requests about a task, on behalf of a call, to its server, which a reload may replace between them. */
  const requestsFor = (task: KnownTask, call: ClientCall): TaskRequests => {
    const { _meta } = call.params;
    const meta = _meta === undefined ? {} : { _meta };
    const send: TaskRequests["send"] = async (method, params) =>
      serverOf(task).forward(call, { method, params: { ...meta, ...params, taskId: task.original } });
    return {
      send,
      async state() {
        const state = await send("tasks/get");
        table.update(task, state);
        return state;
      },
    };
  };
  /** The same to the server of the task, which becomes the route of the call. */
  const routed = (task: KnownTask, call: ClientCall): TaskRequests => {
    call.setRoute(serverOf(task).name, task.original);
    return requestsFor(task, call);
  };

  /** The state of a legacy server's task for a modern client, with its result or its input requests. */
  const detailed = async (task: KnownTask, requests: TaskRequests, call: ClientCall): Promise<RpcObject> => {
    const state = modernTask(await requests.state(), task.id);
    if (state.status === "completed" || state.status === "failed") {
      input.end(task);
      try {
        const result = withoutRelatedTask(await requests.send("tasks/result"));
        // On a legacy server, a tool that reports a failure ends its task as failed.
        return { ...state, status: "completed", result };
      } catch (error) {
        if (!ToolServerError.is(error, "CALL_REFUSED")) throw error;
        return { ...state, status: "failed", error: errorObjectOf(error) };
      }
    }
    if (state.status === "cancelled") {
      input.end(task);
      return state;
    }
    if (state.status === "input_required") await input.collect(task, serverOf(task), call);
    const inputRequests = input.inputRequestsOf(task);
    return inputRequests === undefined
      ? { ...state, status: "working" }
      : { ...state, status: "input_required", inputRequests };
  };

  const modern: Record<string, TaskMethod> = {
    async "tasks/get"(call) {
      const task = find(call);
      const requests = routed(task, call);
      if (task.era === "legacy") return detailed(task, requests, call);
      return { ...(await requests.state()), taskId: task.id };
    },
    async "tasks/update"(call) {
      const task = find(call);
      const { send } = routed(task, call);
      if (task.era === "modern") return send("tasks/update", call.params);
      if (!isObject(call.params.inputResponses))
        throw new RpcError(rpcCodes.invalidParams, "tasks/update requires an object `inputResponses`.");
      input.respond(task, call.params.inputResponses);
      return {};
    },
    async "tasks/cancel"(call) {
      const task = find(call);
      const { send, state } = routed(task, call);
      if (task.era === "modern") return send("tasks/cancel", call.params);
      input.end(task);
      try {
        await send("tasks/cancel");
      } catch (error) {
        if (!ToolServerError.is(error, "CALL_REFUSED")) throw error;
        // A legacy server refuses to cancel a task that has ended; for modern clients that is not an error.
        if (!isTerminal((await state()).status)) throw error;
      }
      return {};
    },
  };

  const legacy: Record<string, TaskMethod> = {
    async "tasks/get"(call) {
      const task = find(call);
      return kept.find(task.id)?.state ?? legacyTask(await routed(task, call).state(), task.id);
    },
    async "tasks/result"(call) {
      const task = find(call);
      const finished = kept.find(task.id);
      if (finished !== undefined) return withRelatedTask(finished.result, task.id);
      const requests = routed(task, call);
      if (task.era === "modern") return withRelatedTask(await awaitModernTask(call, requests), task.id);
      // The server responds when the task ends, and may be silent until then.
      call.openRequests += 1;
      try {
        return withRelatedTask(await requests.send("tasks/result", call.params), task.id);
      } finally {
        call.openRequests -= 1;
      }
    },
    async "tasks/cancel"(call) {
      const task = find(call);
      if (kept.find(task.id) !== undefined) throw new RpcError(rpcCodes.invalidParams, "The task has ended already.");
      const { send, state } = routed(task, call);
      if (task.era === "legacy") return legacyTask(await send("tasks/cancel", call.params), task.id);
      await send("tasks/cancel");
      return legacyTask(await state(), task.id);
    },
    async "tasks/list"(call) {
      const all = table.ownedBy(call.account.principal);
      const { cursor } = call.params;
      const start = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
      if (cursor !== undefined && start === 0)
        throw new RpcError(rpcCodes.invalidParams, "The cursor is unknown: start again without one.");
      const page = all.slice(start, start + pageSize);
      const tasks: RpcObject[] = [];
      const unlessCancelled = (error: unknown): undefined => {
        if (call.aborted) throw error;
      };
      for (const task of page) {
        // A task that its server has forgotten is not listed.
        const state = kept.find(task.id)?.state ?? (await requestsFor(task, call).state().catch(unlessCancelled));
        if (state !== undefined) tasks.push(legacyTask(state, task.id));
      }
      const last = page.at(-1);
      return { tasks, ...(last === undefined || start + pageSize >= all.length ? {} : { nextCursor: last.id }) };
    },
  };

  return {
    table,
    paramsFor(server, tool, call, params) {
      const { task: requested, ...plain } = params;
      const support = taskSupportOf(server, tool);
      if (call.era === "modern") {
        if (!isLegacy(server)) return params;
        if (support === undefined) return plain;
        if (declaresTasks(call.capabilities)) return { ...plain, task: {} };
        if (support === "required") throw tasksMissing();
        return plain;
      }
      if (requested === undefined || isLegacy(server)) return params;
      if (support !== undefined) return plain;
      throw new RpcError(rpcCodes.methodNotFound, `Tool ${tool.name} cannot be called as a task.`);
    },
    resultOf(server, call, result) {
      const isFromLegacy = isLegacy(server);
      const state = isFromLegacy ? result.task : result.resultType === "task" ? result : undefined;
      if (!isObject(state)) {
        const wasRequested = call.era === "legacy" && isObject(call.params.task) && !isFromLegacy;
        return wasRequested && result.isError !== true ? { task: kept.add(server.name, call, result) } : result;
      }
      const isRequested = call.era === "legacy" ? isObject(call.params.task) : declaresTasks(call.capabilities);
      if (!isRequested) {
        const message = `Server ${JSON.stringify(server.name)} created a task, which the client does not support.`;
        throw new RpcError(rpcCodes.failed, message, { data: { reason: "RESPONSE_INVALID" } });
      }
      const { id } = table.add(server.name, isFromLegacy ? "legacy" : "modern", call, state);
      if (call.era === "legacy") {
        const { _meta } = result;
        return { ...(_meta === undefined ? {} : { _meta }), task: legacyTask(state, id) };
      }
      if (!isFromLegacy) return { ...result, taskId: id };
      return { resultType: "task", ...modernTask(state, id) };
    },
    routeOf(id, principal) {
      const task = table.owned(id, principal);
      if (task?.era !== "modern" || kept.find(id) !== undefined) return undefined;
      const server = knownServer(task);
      return server && { server, original: task.original };
    },
    modern,
    legacy,
    close: input.close,
  };
}

function isLegacy(server: GatewayServer): boolean {
  return server.describe()?.era === "legacy";
}

/** Whether a server can create tasks for tool calls. */
function supportsTasks(server: GatewayServer): boolean {
  const description = server.describe();
  if (description === undefined) return false;
  const { tasks } = description.capabilities as RpcObject;
  if (description.era === "modern") return declaresTasks(description.capabilities);
  const requests = isObject(tasks) && isObject(tasks.requests) ? tasks.requests.tools : undefined;
  return isObject(requests) && isObject(requests.call);
}

/** Whether a tool can or must be called as a task. A modern server decides for each call. */
export function taskSupportOf(
  server: GatewayServer,
  { taskSupport }: Pick<OfferedTool, "taskSupport">,
): "optional" | "required" | undefined {
  if (!supportsTasks(server)) return undefined;
  return isLegacy(server) ? taskSupport : "optional";
}
