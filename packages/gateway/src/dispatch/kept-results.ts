import { randomUUID } from "node:crypto";
import { jsonLengthOf, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { TaskTable } from "../servers/task-table.js";
import { legacyTask } from "../task-states.js";

/** Results that modern servers returned at once although a legacy client requested a task: each is kept as a completed task. */
export interface KeptResults {
  /** Keeps a result. Returns the state of the task. Throws an RpcError if the result is too long. */
  add(server: string, call: ClientCall, result: RpcObject): RpcObject;
  /** The result of a task and its state; undefined if the task is not one of these, or no longer. */
  find(taskId: string): KeptResult | undefined;
}

export interface KeptResult {
  readonly state: RpcObject;
  readonly result: RpcObject;
}

/** How long a result is kept, in milliseconds. */
const keptMs = 600_000;
/** The maximum length of all kept results, in characters; above it, the oldest are dropped. */
const maxLength = 64 * 1024 * 1024;
/** Added to the length of each kept result: many short ones need memory too. */
const overhead = 1024;

export function createKeptResults(table: Pick<TaskTable, "add">): KeptResults {
  const kept = new Map<string, KeptResult & { readonly length: number }>();
  let keptLength = 0;
  const drop = (id: string): void => {
    keptLength -= kept.get(id)?.length ?? 0;
    kept.delete(id);
  };
  return {
    add(server, call, result) {
      const length = (jsonLengthOf(result) ?? Number.POSITIVE_INFINITY) + overhead;
      if (length > maxLength) {
        const message = `The result exceeds ${maxLength} characters and cannot be kept as a task. Call the tool without \`task\`.`;
        throw new RpcError(rpcCodes.failed, message);
      }
      const now = new Date().toISOString();
      const original = { taskId: randomUUID(), status: "completed", createdAt: now, lastUpdatedAt: now, ttl: keptMs };
      const { id } = table.add(server, "modern", call, original);
      for (const oldest of kept.keys()) {
        if (keptLength + length <= maxLength) break;
        drop(oldest);
      }
      const state = legacyTask(original, id);
      kept.set(id, { state, result, length });
      keptLength += length;
      setTimeout(drop, keptMs, id).unref();
      return state;
    },
    find: (taskId) => kept.get(taskId),
  };
}
