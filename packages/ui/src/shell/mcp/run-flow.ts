import {
  type McpClient,
  type McpNotification,
  type McpRequestOptions,
  objectOf,
  type RpcObject,
} from "./mcp-client.js";

/** A server request that the user responds to: `elicitation/create` or `sampling/createMessage`. */
export interface InputRequest {
  readonly method: string;
  readonly params: RpcObject;
}

/** Callbacks for a running request. */
export interface FlowOptions extends Pick<McpRequestOptions, "headers"> {
  readonly signal: AbortSignal;
  /** Asks the user for a response. Rejects if the run is cancelled meanwhile. */
  readonly ask: (request: InputRequest) => Promise<RpcObject>;
  readonly onNotification?: (notification: McpNotification) => void;
  /** The state of the task that the request became. */
  readonly onTask?: (state: RpcObject) => void;
  /** Waits before the state of a task is polled. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

const maxRounds = 100;
const minPollMs = 250;
const maxPollMs = 10_000;

/**
 * Sends a request and resolves with its final result: responds to the server's input requests, and polls a task until it ends.
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
  throw new Error(`The server requested input more than ${maxRounds} times.`);
}

const abandonMs = 1000;

/**
 * Ends a request whose server waits for input: declines the input, and cancels the request a moment later. Otherwise the gateway would
 * keep it until the input request times out.
 */
function abandon(client: McpClient, method: string, params: RpcObject): void {
  void client.request(method, params, { signal: AbortSignal.timeout(abandonMs), isLast: true }).catch(() => {});
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
  const cancelTask = (): void => void client.request("tasks/cancel", { taskId }, { isLast: true }).catch(() => {});
  signal.addEventListener("abort", cancelTask, { once: true });
  const responded = new Set<string>();
  try {
    let state = created;
    for (;;) {
      onTask?.(state);
      if (state.status === "completed") return objectOf(state.result);
      if (state.status === "failed") throw taskFailure(state);
      if (state.status === "cancelled") throw new Error("The task was cancelled.");
      const newRequests = Object.fromEntries(
        Object.entries(objectOf(state.inputRequests)).filter(([key]) => !responded.has(key)),
      );
      if (Object.keys(newRequests).length > 0) {
        const inputResponses = await respond(newRequests, options);
        for (const key of Object.keys(newRequests)) responded.add(key);
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

/** Asks the user for one response after the other. */
async function respond(requests: unknown, { ask }: FlowOptions): Promise<RpcObject> {
  const responses: [string, RpcObject][] = [];
  for (const [key, request] of Object.entries(objectOf(requests))) {
    const { method, params } = objectOf(request);
    responses.push([key, await ask({ method: String(method), params: objectOf(params) })]);
  }
  return Object.fromEntries(responses);
}

/** The response for a request that the user declined. For a sampling request, which has no such result, it is an error. */
export function declineResponse(method: string, action: "decline" | "cancel"): RpcObject {
  if (method === "elicitation/create") return { action };
  return { error: { code: -1, message: "The user declined the request." } };
}

function taskFailure(state: RpcObject): Error {
  const { message } = objectOf(state.error);
  const reason = [message, state.statusMessage].find((text) => typeof text === "string" && text !== "");
  return new Error(typeof reason === "string" ? reason : "The task failed.");
}
