import {
  type CallOutcome,
  type CallRequest,
  isObject,
  type JsonObject,
  jsonLengthOf,
  type LogLevel,
  type RequestId,
  RpcError,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import { type ClientAccount, ClientCall, type RequestHeaders } from "../client-call.js";
import type { Outlet } from "./outlet.js";
import { maxQuestions, tooManyQuestions } from "./question-limits.js";

/** What a server wants to know, by keys. */
export interface Questions {
  readonly questions: JsonObject;
  readonly result?: undefined;
  readonly fault?: undefined;
}

interface Asked {
  readonly method: string;
  readonly params: JsonObject | undefined;
  resolve(response: JsonObject): void;
}

export interface StatelessCallOptions {
  /** What it is a call of: a client that returns must return for the same. */
  readonly subject: string;
  readonly account: ClientAccount;
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  readonly headers: RequestHeaders | undefined;
}

/** How many notifications between two legs are kept: the last ones. */
const maxKept = 32;

/** Characters of notifications, questions and the result that are kept between two legs. The client may never return. */
const maxKeptLength = 256 * 1024;

const tooLargeText = `The client has to give input first, and more than ${maxKeptLength} characters are not kept until it does.`;
const tooLargeToKeep: CallOutcome = { fault: { code: rpcCodes.failed, message: tooLargeText }, status: 200 };

/**
 * A call of the newer era, over as many requests as it takes: if a server asks something meanwhile, the client gets the question as
 * a result, and returns with the answer while the server still waits. Each of these requests is a leg.
 */
export class StatelessCall extends ClientCall {
  readonly session: undefined = undefined;
  readonly subject: string;
  readonly account: ClientAccount;
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  progressToken: RequestId | undefined = undefined;
  /** That of the current leg. Between two legs nobody listens, and what is sent then waits for the next. */
  #outlet: Outlet | undefined = undefined;
  #then: ((end: CallOutcome | Questions) => void) | undefined = undefined;
  #done: CallOutcome | undefined = undefined;
  #asked: Map<string, Asked> | undefined = undefined;
  #lastKey = 0;
  #kept: [method: string, params: JsonObject, length: number][] | undefined = undefined;
  #keptLength = 0;

  constructor(request: CallRequest, options: StatelessCallOptions) {
    super(request, "modern", options.headers);
    this.subject = options.subject;
    this.account = options.account;
    this.capabilities = options.capabilities;
    this.logLevel = options.logLevel;
  }

  /**
   * Begins a leg. `then` is called once, with the outcome or the questions to be answered first. Until then what relates to the call
   * goes to the outlet; progress, by the token of this leg.
   */
  leg(outlet: Outlet, progressToken: RequestId | undefined, then: (end: CallOutcome | Questions) => void): void {
    this.#outlet = outlet;
    this.#then = then;
    this.progressToken = progressToken;
    this.#keptLength = 0;
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    for (const [method, params] of kept) {
      if (params.progressToken === undefined) this.notify(method, params);
      else if (progressToken !== undefined) this.notify(method, { ...params, progressToken });
    }
    this.#endLeg();
  }

  /** Takes the client's answers, by the keys of the questions. */
  answer(responses: unknown): void {
    if (!isObject(responses)) return;
    for (const [key, response] of Object.entries(responses)) {
      if (isObject(response)) this.#asked?.get(key)?.resolve(response);
    }
  }

  notify(method: string, params: JsonObject): void {
    if (this.#outlet === undefined) {
      const before = this.#keptLength;
      if (!this.#keeps(params)) return;
      this.#kept ??= [];
      this.#kept.push([method, params, this.#keptLength - before]);
      if (this.#kept.length > maxKept) this.#keptLength -= this.#kept.shift()?.[2] ?? 0;
    } else if (this.#outlet.isOpen) this.#outlet.send({ jsonrpc: "2.0", method, params });
  }

  ask(method: string, params: JsonObject | undefined, signal?: AbortSignal): Promise<JsonObject> {
    this.#asked ??= new Map();
    const asked = this.#asked;
    if (asked.size >= maxQuestions) return Promise.reject(tooManyQuestions());
    if (!this.#keeps(params ?? {})) return Promise.reject(new RpcError(rpcCodes.failed, tooLargeText));
    this.#lastKey += 1;
    const key = `ask-${this.#lastKey}`;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        asked.delete(key);
        this.removeEventListener("abort", giveUp);
        signal?.removeEventListener("abort", giveUp);
      };
      const giveUp = (): void => {
        settle();
        reject(new RpcError(rpcCodes.failed, "The question is not asked any more."));
      };
      if (this.aborted || signal?.aborted) {
        giveUp();
        return;
      }
      this.addEventListener("abort", giveUp);
      signal?.addEventListener("abort", giveUp, { once: true });
      asked.set(key, {
        method,
        params: params === undefined ? undefined : asModern(params),
        resolve(response) {
          settle();
          resolve(response);
        },
      });
      // What is asked together is sent together.
      setImmediate(() => this.#endLeg());
    });
  }

  protected override onSettled(outcome: CallOutcome): void {
    this.#done = this.#keeps(outcome) ? outcome : tooLargeToKeep;
    this.#endLeg();
  }

  /** Ends the leg if there is an outcome, or a question. */
  #endLeg(): void {
    const then = this.#then;
    const end = this.#done ?? this.#questions();
    if (then === undefined || end === undefined) return;
    this.#then = undefined;
    this.#outlet = undefined;
    // The response may wait long for its client. The result must not wait with it.
    this.#done = undefined;
    then(end);
  }

  /** Whether something may be kept until there is a leg; it is then counted. */
  #keeps(value: unknown): boolean {
    if (this.#outlet !== undefined) return true;
    const length = jsonLengthOf(value) ?? Number.POSITIVE_INFINITY;
    if (this.#keptLength + length > maxKeptLength) return false;
    this.#keptLength += length;
    return true;
  }

  #questions(): Questions | undefined {
    if (this.#asked === undefined || this.#asked.size === 0) return undefined;
    const questions = [...this.#asked].map(([key, { method, params }]) => [
      key,
      params === undefined ? { method } : { method, params },
    ]);
    return { questions: Object.fromEntries(questions) };
  }
}

/** A question of a server of the older era in the form of the newer one: without its own `_meta`, and ids of visits. */
function asModern({ _meta, elicitationId, task, ...params }: JsonObject): JsonObject {
  return params;
}
