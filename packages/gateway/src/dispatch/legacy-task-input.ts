import { jsonLengthOf, RpcError, type RpcObject, rpcCodes } from "@wirescope/tool-server/internal";
import { type ClientAccount, ClientCall } from "../client-call.js";
import { InputRequests } from "../input-requests.js";
import type { GatewayServer } from "../servers/server.js";
import type { KnownTask } from "../servers/task-table.js";

/**
 * Requests from legacy servers about tasks of modern clients. A legacy server sends them while its client waits for the result of the
 * task; so the gateway waits for the result, and keeps the requests until the client responds to them.
 */
export interface LegacyTaskInput {
  /** Starts to wait for requests about a task, if it is not waiting yet. Resolves when there is one, or after a second. */
  collect(task: KnownTask, server: GatewayServer, client: ClientCall): Promise<void>;
  /** The open requests by key; undefined if there are none. */
  inputRequestsOf(task: KnownTask): RpcObject | undefined;
  respond(task: KnownTask, responses: unknown): void;
  /** The task has ended, or was cancelled. */
  end(task: KnownTask): void;
  close(): void;
}

export interface LegacyTaskInputOptions {
  /** The maximum number of tasks that wait for input at the same time. */
  readonly max: number;
  /** Milliseconds for a client to respond. */
  readonly timeoutMs: number;
}

/** How long a client's request waits for the first server request, in milliseconds. */
const firstRequestMs = 1000;
/** The maximum length of all server requests about one task, in characters. */
const maxLength = 256 * 1024;

export function createLegacyTaskInput({ max, timeoutMs }: LegacyTaskInputOptions): LegacyTaskInput {
  const waiting = new Map<string, TaskInputCall>();
  let started = 0;

  const begin = (task: KnownTask, server: GatewayServer, client: ClientCall): TaskInputCall => {
    started += 1;
    // Keys must be unique for the lifetime of a task, so they differ each time the gateway starts to wait.
    const call = new TaskInputCall(`input-${started}-`, client);
    waiting.set(task.id, call);
    const timer = setTimeout(() => call.cancel(), timeoutMs);
    timer.unref();
    call.setRoute(server.name, task.original);
    // The server responds when the task ends, and may be silent until then.
    call.openRequests += 1;
    server
      .forward(call, { method: "tasks/result", params: { taskId: task.original } })
      // The client gets the result, or the error, with its next request.
      .catch(() => {})
      .finally(() => {
        clearTimeout(timer);
        if (waiting.get(task.id) === call) waiting.delete(task.id);
        call.cancel();
      });
    return call;
  };

  return {
    async collect(task, server, client) {
      if (!waiting.has(task.id) && waiting.size >= max) {
        throw new RpcError(
          rpcCodes.failed,
          "The gateway has reached its limit of tasks that wait for input. Try again later.",
          {
            data: { reason: "OVERLOADED" },
          },
        );
      }
      const call = waiting.get(task.id) ?? begin(task, server, client);
      await call.waitForRequest(firstRequestMs);
    },
    inputRequestsOf: (task) => waiting.get(task.id)?.inputRequests.list(),
    respond: (task, responses) => waiting.get(task.id)?.inputRequests.respond(responses),
    end: (task) => waiting.get(task.id)?.cancel(),
    close() {
      for (const call of waiting.values()) call.cancel();
    },
  };
}

/** Waits for the result of a task on behalf of a client, and keeps the server's requests for it. */
class TaskInputCall extends ClientCall {
  readonly session: undefined = undefined;
  readonly logLevel: undefined = undefined;
  readonly progressToken: undefined = undefined;
  readonly account: ClientAccount;
  readonly capabilities: RpcObject;
  readonly inputRequests: InputRequests;
  #length = 0;
  #onRequest = (): void => {};

  constructor(prefix: string, { account, capabilities }: ClientCall) {
    super({ id: 0, method: "tasks/result" }, "modern", undefined);
    this.account = account;
    this.capabilities = capabilities;
    this.inputRequests = new InputRequests(prefix);
  }

  /** It is not dispatched, so it has no response. */
  respond(): void {}

  /** Resolves when a request is open, after the timeout, or when the call has ended. */
  waitForRequest(timeoutMs: number): Promise<void> {
    if (this.inputRequests.list() !== undefined || this.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.removeEventListener("abort", settle);
        resolve();
      };
      const timer = setTimeout(settle, timeoutMs);
      this.addEventListener("abort", settle);
      const before = this.#onRequest;
      this.#onRequest = () => {
        before();
        settle();
      };
    });
  }

  notify(): void {}

  ask(method: string, params: RpcObject | undefined, signal?: AbortSignal): Promise<RpcObject> {
    this.#length += jsonLengthOf(params ?? {}) ?? Number.POSITIVE_INFINITY;
    if (this.#length > maxLength) {
      const message = `The requests about this task exceed the limit of ${maxLength} characters.`;
      return Promise.reject(new RpcError(rpcCodes.failed, message));
    }
    const response = this.inputRequests.add(method, params, this, signal);
    const onRequest = this.#onRequest;
    this.#onRequest = () => {};
    // Requests of the same turn are sent together.
    setImmediate(onRequest);
    return response;
  }
}
