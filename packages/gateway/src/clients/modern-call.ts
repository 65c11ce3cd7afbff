import {
  isObject,
  type JsonObject,
  jsonLengthOf,
  type LogLevel,
  type RequestId,
  RpcError,
  rpcCodes,
} from "@wirescope/tool-server/rpc";
import { createCallOff } from "./call-off.js";
import type { Caller, CallStory, ClientAccount } from "./caller.js";
import type { Outlet } from "./outlet.js";
import type { Outcome } from "./perform.js";
import { callIsOver, mostQuestions, tooManyQuestions } from "./question-limits.js";

/**
 * A call of a client of the newer era, over as many requests as it takes: where a server asks something meanwhile, the client
 * gets the question as a result, and comes back with the answer while the server still waits.
 */
export interface ModernCall {
  readonly caller: Caller;
  /** What it is a call of: who comes back must come back for the same. */
  readonly subject: string;
  /**
   * Tells the outcome, or the questions to be answered first, once. What relates to the call goes to the outlet until then;
   * progress, by the token of this leg.
   */
  leg(outlet: Outlet, progressToken: RequestId | undefined, then: (came: Outcome | Questions) => void): void;
  /** Takes the client's answers, by the keys of the questions. */
  answer(responses: unknown): void;
  /** Calls it off; the outcome then is nobody's. */
  callOff(): void;
}

/** What a server wants to know, by keys. */
export interface Questions {
  readonly questions: JsonObject;
  readonly result?: undefined;
  readonly fault?: undefined;
}

interface Asked {
  readonly method: string;
  readonly params: JsonObject | undefined;
  resolve(answer: JsonObject): void;
}

export interface ModernCallOptions {
  readonly subject: string;
  readonly id: RequestId;
  readonly account: ClientAccount;
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  readonly headers: Caller["headers"];
  readonly perform: (caller: Caller, done: (outcome: Outcome) => void) => void;
}

export function createModernCall(options: ModernCallOptions): ModernCall {
  const caller = new ModernCaller(options);
  let done: Outcome | undefined;
  options.perform(caller, (outcome) => {
    done = caller.keeps(outcome) ? outcome : tooLargeToKeep;
    caller.callOff.off(callIsOver);
    caller.look();
  });
  return {
    caller,
    subject: options.subject,
    leg(outlet, progressToken, then) {
      caller.begin(outlet, progressToken);
      caller.look = () => {
        const came = done ?? caller.questions();
        if (came === undefined) return;
        caller.look = nothing;
        // Between two requests nobody hears: what is told then waits for the next.
        caller.outlet = undefined;
        // The response may wait long for its client. The result must not wait with it.
        done = undefined;
        then(came);
      };
      caller.look();
    },
    answer: (responses) => caller.answer(responses),
    callOff: () => caller.callOff.off(),
  };
}

const nothing = (): void => {};

/** How many notifications between two legs are kept: the last ones. */
const mostUntold = 32;

/** Characters of notifications, questions and the result that are kept between two legs. The client may never come back. */
const maxKeptLength = 256 * 1024;

const tooLargeText = `The client has to give input first, and more than ${maxKeptLength} characters are not kept until it does.`;
const tooLargeToKeep: Outcome = { fault: { code: rpcCodes.failed, message: tooLargeText }, status: 200 };

// A class, for one is made for every request.
class ModernCaller implements Caller {
  readonly era = "modern";
  readonly id: RequestId;
  readonly account: ClientAccount;
  readonly session: undefined = undefined;
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  readonly headers: Caller["headers"];
  readonly callOff = createCallOff();
  readonly story: CallStory = {};
  progressToken: RequestId | undefined = undefined;
  outlet: Outlet | undefined = undefined;
  /** Looks whether there is something to tell. */
  look: () => void = nothing;
  #asked: Map<string, Asked> | undefined = undefined;
  #last = 0;
  #untold: [method: string, params: JsonObject, length: number][] | undefined = undefined;
  #keptLength = 0;

  constructor({ id, account, capabilities, logLevel, headers }: ModernCallOptions) {
    this.id = id;
    this.account = account;
    this.capabilities = capabilities;
    this.logLevel = logLevel;
    this.headers = headers;
  }

  /** Begins a leg: what could not be told since the last is told now, by the token of this one. */
  begin(outlet: Outlet, progressToken: RequestId | undefined): void {
    this.outlet = outlet;
    this.progressToken = progressToken;
    this.#keptLength = 0;
    const untold = this.#untold;
    if (untold === undefined) return;
    this.#untold = undefined;
    for (const [method, params] of untold) {
      if (params.progressToken === undefined) this.notify(method, params);
      else if (progressToken !== undefined) this.notify(method, { ...params, progressToken });
    }
  }

  /** Whether something may be kept until it can be told; it is then counted. */
  keeps(value: unknown): boolean {
    if (this.outlet !== undefined) return true;
    const length = jsonLengthOf(value) ?? Number.POSITIVE_INFINITY;
    if (this.#keptLength + length > maxKeptLength) return false;
    this.#keptLength += length;
    return true;
  }

  notify(method: string, params: JsonObject): void {
    if (this.outlet === undefined) {
      const before = this.#keptLength;
      if (!this.keeps(params)) return;
      this.#untold ??= [];
      this.#untold.push([method, params, this.#keptLength - before]);
      if (this.#untold.length > mostUntold) this.#keptLength -= this.#untold.shift()?.[2] ?? 0;
    } else if (this.outlet.isOpen) this.outlet.send({ jsonrpc: "2.0", method, params });
  }

  ask(method: string, params: JsonObject | undefined, signal?: AbortSignal): Promise<JsonObject> {
    this.#asked ??= new Map();
    const asked = this.#asked;
    if (asked.size >= mostQuestions) return Promise.reject(tooManyQuestions());
    if (!this.keeps(params ?? {})) return Promise.reject(new RpcError(rpcCodes.failed, tooLargeText));
    this.#last += 1;
    const key = `ask-${this.#last}`;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        asked.delete(key);
        this.callOff.forget(giveUp);
        signal?.removeEventListener("abort", giveUp);
      };
      const giveUp = (): void => {
        settle();
        reject(new RpcError(rpcCodes.failed, "The question is not asked any more."));
      };
      if (this.callOff.isOff || signal?.aborted) {
        giveUp();
        return;
      }
      this.callOff.onOff(giveUp);
      signal?.addEventListener("abort", giveUp, { once: true });
      asked.set(key, {
        method,
        params: params === undefined ? undefined : asModern(params),
        resolve(answer) {
          settle();
          resolve(answer);
        },
      });
      // What is asked together is told together.
      setImmediate(() => this.look());
    });
  }

  questions(): Questions | undefined {
    if (this.#asked === undefined || this.#asked.size === 0) return undefined;
    const questions = [...this.#asked].map(([key, { method, params }]) => [
      key,
      params === undefined ? { method } : { method, params },
    ]);
    return { questions: Object.fromEntries(questions) };
  }

  answer(responses: unknown): void {
    if (!isObject(responses)) return;
    for (const [key, response] of Object.entries(responses)) {
      if (isObject(response)) this.#asked?.get(key)?.resolve(response);
    }
  }
}

/** What a server of the older era asks, as the newer one has it: without what it says to itself, and ids of visits. */
function asModern({ _meta, elicitationId, task, ...params }: JsonObject): JsonObject {
  return params;
}
