import { randomUUID } from "node:crypto";
import { ToolServerError } from "@wirescope/tool-server";
import { faultOf, isObject, jsonLengthOf, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
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
import { createLegacyTaskInput } from "./legacy-task-input.js";
import { awaitModernTask } from "./modern-task-result.js";

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
/** The maximum length of all kept results, in characters: a result is kept if the server returned it instead of the requested task. */
const maxKeptLength = 64 * 1024 * 1024;
/** Added to the length of each kept result: many short ones need memory too. */
const keptOverhead = 1024;

export function createTasks({ table, servers, maxWaiting, inputMs }: TasksOptions): Tasks {
  const input = createLegacyTaskInput({ max: maxWaiting, timeoutMs: inputMs });
  /** Results that a modern server returned at once although a legacy client requested a task, by task id. */
  const kept = new Map<string, { readonly state: RpcObject; readonly result: RpcObject; readonly length: number }>();
  let keptLength = 0;

  const knownServer = (task: KnownTask): GatewayServer | undefined =>
    servers().find(({ name }) => name === task.server);
  const serverOf = (task: KnownTask, call: ClientCall): GatewayServer => {
    const server = knownServer(task);
    if (server === undefined) {
      throw new RpcError(
        rpcCodes.invalidParams,
        `The server of the task, ${JSON.stringify(task.server)}, was removed.`,
      );
    }
    call.setRoute(server.name, task.original);
    return server;
  };
  const find = (call: ClientCall): KnownTask => {
    if (call.era === "modern" && !declaresTasks(call.capabilities)) throw tasksMissing();
    return table.find(call.params.taskId, call);
  };
  /** Sends a request about a task. `params` are the client's. */
  const send = (server: GatewayServer, call: ClientCall, task: KnownTask, method: string, params: RpcObject = {}) =>
    server.forward(call, { method, params: { ...params, taskId: task.original } });
  const stateOf = async (server: GatewayServer, call: ClientCall, task: KnownTask): Promise<RpcObject> => {
    const state = await send(server, call, task, "tasks/get", metaParams(call));
    table.update(task, state);
    return state;
  };

  /** The state of a legacy server's task for a modern client, with its result or its input requests. */
  const detailed = async (server: GatewayServer, call: ClientCall, task: KnownTask): Promise<RpcObject> => {
    const state = modernTask(await stateOf(server, call, task), task.id);
    if (state.status === "completed" || state.status === "failed") {
      input.end(task);
      try {
        const result = withoutRelatedTask(await send(server, call, task, "tasks/result", metaParams(call)));
        // On a legacy server, a tool that reports a failure ends its task as failed.
        return { ...state, status: "completed", result };
      } catch (error) {
        if (!ToolServerError.is(error, "CALL_REFUSED")) throw error;
        return { ...state, status: "failed", error: faultOf(error) };
      }
    }
    if (state.status === "cancelled") {
      input.end(task);
      return state;
    }
    if (state.status === "input_required") await input.collect(task, server, call);
    const inputRequests = input.inputRequestsOf(task);
    return inputRequests === undefined
      ? { ...state, status: "working" }
      : { ...state, status: "input_required", inputRequests };
  };

  const modern: Record<string, TaskMethod> = {
    async "tasks/get"(call) {
      const task = find(call);
      const server = serverOf(task, call);
      if (task.era === "legacy") return detailed(server, call, task);
      const state = await stateOf(server, call, task);
      return { ...state, taskId: task.id };
    },
    async "tasks/update"(call) {
      const task = find(call);
      const server = serverOf(task, call);
      if (task.era === "modern") return send(server, call, task, "tasks/update", call.params);
      if (!isObject(call.params.inputResponses))
        throw new RpcError(rpcCodes.invalidParams, "tasks/update requires an object `inputResponses`.");
      input.respond(task, call.params.inputResponses);
      return {};
    },
    async "tasks/cancel"(call) {
      const task = find(call);
      const server = serverOf(task, call);
      if (task.era === "modern") return send(server, call, task, "tasks/cancel", call.params);
      await cancelLegacy(server, call, task);
      return {};
    },
  };

  /** Legacy servers refuse to cancel a task that has ended; for modern clients that is not an error. */
  const cancelLegacy = async (server: GatewayServer, call: ClientCall, task: KnownTask): Promise<void> => {
    input.end(task);
    try {
      await send(server, call, task, "tasks/cancel", metaParams(call));
    } catch (error) {
      if (!ToolServerError.is(error, "CALL_REFUSED")) throw error;
      if (!isTerminal((await stateOf(server, call, task)).status)) throw error;
    }
  };

  const legacy: Record<string, TaskMethod> = {
    async "tasks/get"(call) {
      const task = find(call);
      const finished = kept.get(task.id);
      if (finished !== undefined) return finished.state;
      return legacyTask(await stateOf(serverOf(task, call), call, task), task.id);
    },
    async "tasks/result"(call) {
      const task = find(call);
      const finished = kept.get(task.id);
      if (finished !== undefined) return withRelatedTask(finished.result, task.id);
      const server = serverOf(task, call);
      if (task.era === "modern") return withRelatedTask(await awaitModern(server, call, task), task.id);
      // The server responds when the task ends, and may be silent until then.
      call.openRequests += 1;
      try {
        return withRelatedTask(await send(server, call, task, "tasks/result", call.params), task.id);
      } finally {
        call.openRequests -= 1;
      }
    },
    async "tasks/cancel"(call) {
      const task = find(call);
      if (kept.has(task.id)) throw new RpcError(rpcCodes.invalidParams, "The task has ended already.");
      const server = serverOf(task, call);
      if (task.era === "legacy")
        return legacyTask(await send(server, call, task, "tasks/cancel", call.params), task.id);
      await send(server, call, task, "tasks/cancel", metaParams(call));
      return legacyTask(await stateOf(server, call, task), task.id);
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
        const server = knownServer(task);
        // A task that its server has forgotten is not listed.
        const state =
          kept.get(task.id)?.state ??
          (server === undefined ? undefined : await stateOf(server, call, task).catch(unlessCancelled));
        if (state !== undefined) tasks.push(legacyTask(state, task.id));
      }
      const last = page.at(-1);
      return { tasks, ...(last === undefined || start + pageSize >= all.length ? {} : { nextCursor: last.id }) };
    },
  };

  const awaitModern = (server: GatewayServer, call: ClientCall, task: KnownTask): Promise<RpcObject> =>
    awaitModernTask(call, {
      state: () => stateOf(server, call, task),
      respond: (inputResponses) => send(server, call, task, "tasks/update", { ...metaParams(call), inputResponses }),
    });

  /** Keeps a result that the server returned at once as a completed task, for a legacy client that requested a task. */
  const keepAsTask = (server: GatewayServer, call: ClientCall, result: RpcObject): RpcObject => {
    const length = (jsonLengthOf(result) ?? Number.POSITIVE_INFINITY) + keptOverhead;
    if (length > maxKeptLength) {
      const message = `The result exceeds ${maxKeptLength} characters and cannot be kept as a task. Call the tool without \`task\`.`;
      throw new RpcError(rpcCodes.failed, message);
    }
    const now = new Date().toISOString();
    const state = { taskId: randomUUID(), status: "completed", createdAt: now, lastUpdatedAt: now, ttl: keptMs };
    const task = table.add(server.name, "modern", call, state);
    for (const [id, { length: other }] of kept) {
      if (keptLength + length <= maxKeptLength) break;
      kept.delete(id);
      keptLength -= other;
    }
    keptLength += length;
    const finished = { state: legacyTask(state, task.id), result, length };
    kept.set(task.id, finished);
    setTimeout(() => {
      if (kept.delete(task.id)) keptLength -= length;
    }, keptMs).unref();
    return { task: finished.state };
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
        return wasRequested && result.isError !== true ? keepAsTask(server, call, result) : result;
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
      if (task?.era !== "modern" || kept.has(id)) return undefined;
      const server = knownServer(task);
      return server && { server, original: task.original };
    },
    modern,
    legacy,
    close: input.close,
  };
}

/** How long a result is kept as a task, in milliseconds. */
const keptMs = 600_000;

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

/** The `_meta` of a call, for another request on its behalf. */
function metaParams({ params: { _meta } }: ClientCall): RpcObject {
  return _meta === undefined ? {} : { _meta };
}
