import { isObject, metaOf, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";

/** The extension that modern clients and servers declare. Legacy ones have a capability, `tasks`. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** The key in the `_meta` of a legacy message with the id of its task. */
export const relatedTaskKey = "io.modelcontextprotocol/related-task";

/** A task in the form for legacy clients, under the id that the client uses. The state may be of either era. */
export function legacyTask(state: RpcObject, taskId: string): RpcObject {
  const { ttl, ttlMs = ttl, pollInterval } = state;
  const pollIntervalMs = state.pollIntervalMs ?? pollInterval;
  return {
    ...commonFields(state, taskId),
    ttl: ttlMs ?? null,
    ...(pollIntervalMs === undefined ? {} : { pollInterval: pollIntervalMs }),
  };
}

/** A task of a legacy server in the form for modern clients, under the id that the client uses. */
export function modernTask(state: RpcObject, taskId: string): RpcObject {
  const { ttl, pollInterval } = state;
  return {
    ...commonFields(state, taskId),
    ttlMs: ttl ?? null,
    ...(pollInterval === undefined ? {} : { pollIntervalMs: pollInterval }),
  };
}

function commonFields({ status, statusMessage, createdAt, lastUpdatedAt }: RpcObject, taskId: string): RpcObject {
  return { taskId, status, ...(statusMessage === undefined ? {} : { statusMessage }), createdAt, lastUpdatedAt };
}

export function isTerminal(status: unknown): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** The server's own id of the task that a message belongs to. */
export function relatedTaskOf(params: RpcObject | undefined): string | undefined {
  const related = metaOf(params)?.[relatedTaskKey];
  return isObject(related) && typeof related.taskId === "string" ? related.taskId : undefined;
}

/** A result without the key that has the server's own id of its task. */
export function withoutRelatedTask(result: RpcObject): RpcObject {
  const meta = metaOf(result);
  if (meta === undefined || !(relatedTaskKey in meta)) return result;
  const { [relatedTaskKey]: _, ...rest } = meta;
  const { _meta, ...others } = result;
  return Object.keys(rest).length === 0 ? others : { ...others, _meta: rest };
}

/** A result of a task for a legacy client. */
export function withRelatedTask(result: RpcObject, taskId: string): RpcObject {
  return { ...result, _meta: { ...metaOf(result), [relatedTaskKey]: { taskId } } };
}

/** Whether a client declares the extension. */
export function declaresTasks({ extensions }: RpcObject): boolean {
  return isObject(extensions) && isObject(extensions[tasksExtension]);
}

/** The error for a client that did not declare a capability that a request requires. */
export function capabilityMissing(requiredCapabilities: RpcObject): RpcError {
  return new RpcError(rpcCodes.capabilityMissing, "Missing required client capability", {
    data: { requiredCapabilities },
    status: 400,
  });
}

/** The error for a client that did not declare the tasks extension. */
export function tasksMissing(): RpcError {
  return capabilityMissing({ extensions: { [tasksExtension]: {} } });
}
