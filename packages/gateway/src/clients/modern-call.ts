import { isObject, type JsonObject, type RequestId } from "../rpc/json-rpc.js";
import { RpcError, rpcCodes } from "../rpc/rpc-error.js";
import { createCallOff } from "./call-off.js";
import type { Caller } from "./caller.js";
import type { Outlet } from "./outlet.js";
import type { Outcome } from "./perform.js";

/**
 * A call of a client of the newer era, over as many requests as it takes: where a server asks something meanwhile, the client
 * gets the question as a result, and comes back with the answer while the server still waits.
 */
export interface ModernCall {
  readonly caller: Caller;
  /** What it is a call of: who comes back must come back for the same. */
  readonly subject: string;
  /**
   * Resolves with the outcome, or with the questions to be answered first. What relates to the call goes to the outlet;
   * progress, by the token of this leg.
   */
  leg(outlet: Outlet, progressToken: RequestId | undefined): Promise<Outcome | Questions>;
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
  readonly facts: Pick<Caller, "id" | "account" | "capabilities" | "logLevel" | "headers">;
  readonly perform: (caller: Caller) => Promise<Outcome>;
}

export function createModernCall({ subject, facts, perform }: ModernCallOptions): ModernCall {
  const callOff = createCallOff();
  let asked: Map<string, Asked> | undefined;
  let last = 0;
  let outlet: Outlet | undefined;
  let token: RequestId | undefined;
  let onAsked: (() => void) | undefined;

  const caller: Caller = {
    ...facts,
    era: "modern",
    session: undefined,
    get progressToken() {
      return token;
    },
    callOff,
    notify(method, params) {
      // Between two requests nobody hears.
      if (outlet?.isOpen) outlet.send({ jsonrpc: "2.0", method, params });
    },
    ask(method, params, signal) {
      asked ??= new Map();
      const questions = asked;
      last += 1;
      const key = `ask-${last}`;
      return new Promise<JsonObject>((resolve, reject) => {
        let forget = (): void => {};
        const settle = (): void => {
          questions.delete(key);
          forget();
          signal?.removeEventListener("abort", giveUp);
        };
        const giveUp = (): void => {
          settle();
          reject(new RpcError(rpcCodes.failed, "The question is not asked any more."));
        };
        if (callOff.isOff || signal?.aborted) return giveUp();
        forget = callOff.onOff(giveUp);
        signal?.addEventListener("abort", giveUp, { once: true });
        questions.set(key, {
          method,
          params: params === undefined ? undefined : asModern(params),
          resolve(answer) {
            settle();
            resolve(answer);
          },
        });
        // What is asked together is told together.
        setImmediate(() => onAsked?.());
      });
    },
    story: {},
  };

  const done = perform(caller);

  const untilAsked = (): Promise<Questions> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (asked === undefined || asked.size === 0) return;
        onAsked = undefined;
        const questions = [...asked].map(([key, { method, params }]) => [
          key,
          params === undefined ? { method } : { method, params },
        ]);
        resolve({ questions: Object.fromEntries(questions) });
      };
      onAsked = look;
      look();
    });

  return {
    caller,
    subject,
    async leg(next, progressToken) {
      outlet = next;
      token = progressToken;
      const came = await Promise.race([done, untilAsked()]);
      outlet = undefined;
      return came;
    },
    answer(responses) {
      if (!isObject(responses)) return;
      for (const [key, response] of Object.entries(responses)) {
        if (isObject(response)) asked?.get(key)?.resolve(response);
      }
    },
    callOff: () => callOff.off(),
  };
}

/** What a server of the older era asks, as the newer one has it: without what it says to itself, and ids of visits. */
function asModern({ _meta, elicitationId, task, ...params }: JsonObject): JsonObject {
  return params;
}
