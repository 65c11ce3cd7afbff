import { isObject, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { askClient } from "../servers/forward.js";

/** The requests about a task of a modern server. */
export interface ModernTaskRequests {
  state(): Promise<RpcObject>;
  respond(inputResponses: RpcObject): Promise<unknown>;
}

/** The bounds of the time between two requests for the state of a task, in milliseconds. */
const pollMs = { min: 250, usual: 1000, max: 5000 };
/** How many questions a server may ask in one task: their keys are kept until it ends. */
const maxQuestions = 100;
/** In characters. */
const maxKeyLength = 1024;

/** The result of a task of a modern server for a legacy client, which responds to its questions meanwhile. */
export async function awaitModernTask(call: ClientCall, requests: ModernTaskRequests): Promise<RpcObject> {
  const asked = new Set<string>();
  for (;;) {
    const state = await requests.state();
    if (state.status === "completed") return isObject(state.result) ? withoutType(state.result) : {};
    if (state.status === "failed") throw failureOf(state);
    if (state.status === "cancelled") throw new RpcError(rpcCodes.failed, "The task was cancelled.");
    const questions = isObject(state.inputRequests)
      ? Object.entries(state.inputRequests).filter(([key]) => !asked.has(key))
      : [];
    if (questions.length === 0) {
      const { pollIntervalMs } = state;
      const wanted = typeof pollIntervalMs === "number" ? pollIntervalMs : pollMs.usual;
      await pause(Math.min(Math.max(wanted, pollMs.min), pollMs.max), call);
      continue;
    }
    for (const [key] of questions) {
      if (key.length > maxKeyLength) throw refused(call, `used a key of more than ${maxKeyLength} characters`);
      asked.add(key);
    }
    if (asked.size > maxQuestions) throw refused(call, `asked more than the maximum of ${maxQuestions} questions`);
    const responses = await Promise.all(
      questions.map(async ([key, question]) => [key, await askClient(question, call)] as const),
    );
    await requests.respond(Object.fromEntries(responses));
  }
}

function failureOf({ error }: RpcObject): RpcError {
  const { code, message, data } = isObject(error) ? error : {};
  const text = String(message ?? "The task failed.");
  return new RpcError(typeof code === "number" ? code : rpcCodes.failed, text, { data });
}

function refused({ route }: ClientCall, what: string): RpcError {
  return new RpcError(rpcCodes.failed, `Server ${JSON.stringify(route?.server)} ${what} in one task.`);
}

function withoutType({ resultType, ...result }: RpcObject): RpcObject {
  return result;
}

function pause(ms: number, call: ClientCall): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(call.reason ?? new RpcError(rpcCodes.failed, "The call was cancelled."));
    };
    const timer = setTimeout(() => {
      call.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (call.aborted) onAbort();
    else call.addEventListener("abort", onAbort);
  });
}
