import type { CallRequest, RpcObject } from "@wirescope/tool-server/internal";
import { jsonLengthOf, RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import { type ClientAccount, ClientCall } from "../client-call.js";
import { InputQuestions } from "../input-questions.js";
import type { GatewayServer } from "../servers/server.js";
import type { KnownTask } from "../servers/task-table.js";

/**
 * The questions of legacy servers about tasks of modern clients. A legacy server asks while its client waits for the result of the
 * task; so the gateway waits for the result, and keeps the questions until the client responds to them.
 */
export interface LegacyTaskInput {
  /** Starts to wait for questions about a task, unless it does already. Resolves when there is one, or after a moment. */
  collect(task: KnownTask, server: GatewayServer, client: ClientCall): Promise<void>;
  /** The open questions by key; undefined if there are none. */
  questionsOf(task: KnownTask): RpcObject | undefined;
  respond(task: KnownTask, responses: unknown): void;
  /** The task has ended, or was cancelled. */
  end(task: KnownTask): void;
  close(): void;
}

export interface LegacyTaskInputOptions {
  /** Tasks that wait for input at once. */
  readonly max: number;
  /** Milliseconds for a client to respond. */
  readonly timeoutMs: number;
}

/** How long a request waits for the first question, in milliseconds. */
const patienceMs = 1000;
/** Characters of the questions about one task. */
const maxLength = 256 * 1024;

export function createLegacyTaskInput({ max, timeoutMs }: LegacyTaskInputOptions): LegacyTaskInput {
  const waiting = new Map<string, TaskInputCall>();
  let started = 0;

  const begin = (task: KnownTask, server: GatewayServer, client: ClientCall): TaskInputCall => {
    started += 1;
    // Keys are unique for the lifetime of a task, so each time it starts the keys differ.
    const call = new TaskInputCall(`input-${started}-`, client);
    waiting.set(task.id, call);
    const timer = setTimeout(() => call.cancel(), timeoutMs);
    timer.unref();
    call.setRoute(server.name, task.original);
    // The server responds when the task ends, and may be silent until then.
    call.openQuestions += 1;
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
        throw new RpcError(rpcCodes.failed, "The limit of tasks that wait for input is reached. Try again later.", {
          data: { reason: "OVERLOADED" },
        });
      }
      const call = waiting.get(task.id) ?? begin(task, server, client);
      await call.asked(patienceMs);
    },
    questionsOf: (task) => waiting.get(task.id)?.questions.list(),
    respond: (task, responses) => waiting.get(task.id)?.questions.respond(responses),
    end: (task) => waiting.get(task.id)?.cancel(),
    close() {
      for (const call of waiting.values()) call.cancel();
    },
  };
}

/** Waits for the result of a task on behalf of a client, and keeps the questions for it. */
class TaskInputCall extends ClientCall {
  readonly session: undefined = undefined;
  readonly logLevel: undefined = undefined;
  readonly progressToken: undefined = undefined;
  readonly account: ClientAccount;
  readonly capabilities: RpcObject;
  readonly questions: InputQuestions;
  #length = 0;
  #onAsked = (): void => {};

  constructor(prefix: string, { account, capabilities }: ClientCall) {
    const request: CallRequest = { id: 0, method: "tasks/result" };
    super(request, "modern", undefined);
    this.account = account;
    this.capabilities = capabilities;
    this.questions = new InputQuestions(prefix);
  }

  /** Resolves when a question is open, after a time, or when the call has ended. */
  asked(timeoutMs: number): Promise<void> {
    if (this.questions.list() !== undefined || this.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.removeEventListener("abort", settle);
        resolve();
      };
      const timer = setTimeout(settle, timeoutMs);
      this.addEventListener("abort", settle);
      const before = this.#onAsked;
      this.#onAsked = () => {
        before();
        settle();
      };
    });
  }

  notify(): void {}

  ask(method: string, params: RpcObject | undefined, signal?: AbortSignal): Promise<RpcObject> {
    this.#length += jsonLengthOf(params ?? {}) ?? Number.POSITIVE_INFINITY;
    if (this.#length > maxLength) {
      const message = `The questions about this task exceed ${maxLength} characters.`;
      return Promise.reject(new RpcError(rpcCodes.failed, message));
    }
    const asked = this.questions.ask(method, params, this, signal);
    const onAsked = this.#onAsked;
    this.#onAsked = () => {};
    // Questions of the same turn are sent together.
    setImmediate(onAsked);
    return asked;
  }
}
