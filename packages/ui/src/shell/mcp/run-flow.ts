import {
  type McpClient,
  type McpNotification,
  type McpRequestOptions,
  objectOf,
  type RpcObject,
} from "./mcp-client.js";

/** A question of a server that a person responds to: `elicitation/create` or `sampling/createMessage`. */
export interface ServerQuestion {
  readonly method: string;
  readonly params: RpcObject;
}

/** What a request does while it runs. */
export interface FlowOptions extends Pick<McpRequestOptions, "headers"> {
  readonly signal: AbortSignal;
  /** Responds to a question. Rejects if the request is cancelled meanwhile. */
  readonly ask: (question: ServerQuestion) => Promise<RpcObject>;
  readonly onNotification?: (notification: McpNotification) => void;
  /** The state of the task that the request became. */
  readonly onTask?: (state: RpcObject) => void;
  /** Waits before a task is asked for its state. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

const maxRounds = 100;
const minPollMs = 250;
const maxPollMs = 10_000;

/**
 * Sends a request and resolves with its final result: responds to the questions of the server, and follows a task until it ends.
 * If it is cancelled, the task is cancelled too.
 */
export async function runFlow(
  client: McpClient,
  method: string,
  params: RpcObject,
  options: FlowOptions,
): Promise<RpcObject> {
  const { signal, onNotification, headers } = options;
  let next = params;
  for (let round = 0; round < maxRounds; round += 1) {
    const result = await client.request(method, next, {
      signal,
      ...(onNotification === undefined ? {} : { onNotification }),
      ...(headers === undefined ? {} : { headers }),
    });
    if (result.resultType === "task") return followTask(client, result, options);
    if (result.resultType !== "input_required") return result;
    const state = typeof result.requestState === "string" ? { requestState: result.requestState } : {};
    try {
      next = { ...params, inputResponses: await respond(result.inputRequests, options), ...state };
    } catch (error) {
      abandon(client, method, { ...params, inputResponses: declineAll(result.inputRequests), ...state });
      throw error;
    }
  }
  throw new Error(`The server asked more than ${maxRounds} times.`);
}

const abandonMs = 1000;

/**
 * Ends a request whose server waits for a response: it learns that there will be none, and a moment later the request is cancelled.
 * Otherwise the gateway would keep it until the question times out.
 */
function abandon(client: McpClient, method: string, params: RpcObject): void {
  void client.request(method, params, { signal: AbortSignal.timeout(abandonMs) }).catch(() => {});
}

function declineAll(requests: unknown): RpcObject {
  return Object.fromEntries(
    Object.entries(objectOf(requests)).map(([key, request]) => [
      key,
      declineResponse(String(objectOf(request).method), "cancel"),
    ]),
  );
}

async function followTask(client: McpClient, created: RpcObject, options: FlowOptions): Promise<RpcObject> {
  const { signal, wait, onTask } = options;
  const { taskId } = created;
  const cancelTask = (): void => void client.request("tasks/cancel", { taskId }).catch(() => {});
  signal.addEventListener("abort", cancelTask, { once: true });
  const responded = new Set<string>();
  try {
    let state = created;
    for (;;) {
      onTask?.(state);
      if (state.status === "completed") return objectOf(state.result);
      if (state.status === "failed") throw taskFailure(state);
      if (state.status === "cancelled") throw new Error("The task was cancelled.");
      const questions = Object.fromEntries(
        Object.entries(objectOf(state.inputRequests)).filter(([key]) => !responded.has(key)),
      );
      if (Object.keys(questions).length > 0) {
        const inputResponses = await respond(questions, options);
        for (const key of Object.keys(questions)) responded.add(key);
        await client.request("tasks/update", { taskId, inputResponses }, { signal });
      } else {
        const pollMs = typeof state.pollIntervalMs === "number" ? state.pollIntervalMs : 1000;
        await wait(Math.min(maxPollMs, Math.max(minPollMs, pollMs)), signal);
      }
      state = await client.request("tasks/get", { taskId }, { signal });
    }
  } finally {
    signal.removeEventListener("abort", cancelTask);
  }
}

/** Asks one question after the other. */
async function respond(requests: unknown, { ask }: FlowOptions): Promise<RpcObject> {
  const responses: [string, RpcObject][] = [];
  for (const [key, request] of Object.entries(objectOf(requests))) {
    const { method, params } = objectOf(request);
    responses.push([key, await ask({ method: String(method), params: objectOf(params) })]);
  }
  return Object.fromEntries(responses);
}

/** The response of a person who does not want to respond. A sampling request has no such result, so it is an error. */
export function declineResponse(method: string, action: "decline" | "cancel"): RpcObject {
  if (method === "elicitation/create") return { action };
  return { error: { code: -1, message: "The user declined the request." } };
}

function taskFailure(state: RpcObject): Error {
  const { message } = objectOf(state.error);
  const reason = [message, state.statusMessage].find((text) => typeof text === "string" && text !== "");
  return new Error(typeof reason === "string" ? reason : "The task failed.");
}
