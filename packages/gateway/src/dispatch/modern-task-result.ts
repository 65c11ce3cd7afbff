import { isObject, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { askClient, pause } from "../servers/forward.js";

/** Requests to a server about one task. */
export interface TaskRequests {
  /** `params` are added to the id of the task and the `_meta` of the call. */
  send(method: string, params?: RpcObject): Promise<RpcObject>;
  /** Requests its state, by which the gateway keeps the task. */
  state(): Promise<RpcObject>;
}

/** The bounds of the time between two requests for the state of a task, in milliseconds. */
const pollMs = { min: 250, usual: 1000, max: 5000 };
/** How many input requests a server may send in one task: their keys are kept until it ends. */
const maxInputRequests = 100;
/** In characters. */
const maxKeyLength = 1024;

/** Waits for the result of a modern server's task for a legacy client, and sends its input requests to the client meanwhile. */
export async function awaitModernTask(call: ClientCall, requests: TaskRequests): Promise<RpcObject> {
  const handledKeys = new Set<string>();
  for (;;) {
    const state = await requests.state();
    if (state.status === "completed") return isObject(state.result) ? withoutType(state.result) : {};
    if (state.status === "failed") throw failureOf(state);
    if (state.status === "cancelled") throw new RpcError(rpcCodes.failed, "The task was cancelled.");
    const newRequests = isObject(state.inputRequests)
      ? Object.entries(state.inputRequests).filter(([key]) => !handledKeys.has(key))
      : [];
    if (newRequests.length === 0) {
      const { pollIntervalMs } = state;
      const requestedMs = typeof pollIntervalMs === "number" ? pollIntervalMs : pollMs.usual;
      await pause(call, Math.min(Math.max(requestedMs, pollMs.min), pollMs.max));
      continue;
    }
    for (const [key] of newRequests) {
      if (key.length > maxKeyLength) throw limitExceeded(call, `used a key of more than ${maxKeyLength} characters`);
      handledKeys.add(key);
    }
    if (handledKeys.size > maxInputRequests)
      throw limitExceeded(call, `sent more than the maximum of ${maxInputRequests} input requests`);
    await requests.send("tasks/update", { inputResponses: await askClient(newRequests, call) });
  }
}

function failureOf({ error }: RpcObject): RpcError {
  const { code, message, data } = isObject(error) ? error : {};
  const text = String(message ?? "The task failed.");
  return new RpcError(typeof code === "number" ? code : rpcCodes.failed, text, { data });
}

function limitExceeded({ route }: ClientCall, what: string): RpcError {
  return new RpcError(rpcCodes.failed, `Server ${JSON.stringify(route?.server)} ${what} in one task.`);
}

function withoutType({ resultType, ...result }: RpcObject): RpcObject {
  return result;
}
