import {
  type CallOutcome,
  type CallRequest,
  jsonLengthOf,
  type LogLevel,
  type RequestId,
  RpcError,
  type RpcObject,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import { type ClientAccount, ClientCall, type RequestHeaders } from "../client-call.js";
import { InputQuestions } from "../input-questions.js";
import type { Outlet } from "./outlet.js";

/** The questions of a server, by key. */
export interface InputRequests {
  readonly questions: RpcObject;
  readonly result?: undefined;
  readonly fault?: undefined;
}

export interface StatelessCallOptions {
  /** Method and name: a client that returns with input must return for the same subject. */
  readonly subject: string;
  readonly account: ClientAccount;
  readonly capabilities: RpcObject;
  readonly logLevel: LogLevel | undefined;
  readonly headers: RequestHeaders | undefined;
}

/** How many notifications are kept between two legs: the latest. */
const maxKept = 32;

/** Characters of notifications, questions and the result that are kept between two legs. The client may never return. */
const maxKeptLength = 256 * 1024;

const tooLargeText = `The call waits for input from the client, and at most ${maxKeptLength} characters are kept until it returns.`;
const tooLargeToKeep: CallOutcome = { fault: { code: rpcCodes.failed, message: tooLargeText }, status: 200 };

/**
 * A call of a modern client, over one or more requests: if the server asks a question, the client receives it as a result, and
 * returns with the response while the server still waits. Each of these requests is a leg.
 */
export class StatelessCall extends ClientCall {
  readonly session: undefined = undefined;
  readonly subject: string;
  readonly account: ClientAccount;
  readonly capabilities: RpcObject;
  readonly logLevel: LogLevel | undefined;
  progressToken: RequestId | undefined = undefined;
  /** That of the current leg; undefined between two legs. What is sent then is kept for the next. */
  #outlet: Outlet | undefined = undefined;
  #then: ((end: CallOutcome | InputRequests) => void) | undefined = undefined;
  #done: CallOutcome | undefined = undefined;
  #asked: InputQuestions | undefined = undefined;
  #kept: [method: string, params: RpcObject, length: number][] | undefined = undefined;
  #keptLength = 0;

  constructor(request: CallRequest, options: StatelessCallOptions) {
    super(request, "modern", options.headers);
    this.subject = options.subject;
    this.account = options.account;
    this.capabilities = options.capabilities;
    this.logLevel = options.logLevel;
  }

  /**
   * Starts a leg. `then` is called once, with the outcome or the open questions. Until then notifications of the call go to the
   * outlet; progress has the token of this leg.
   */
  leg(outlet: Outlet, progressToken: RequestId | undefined, then: (end: CallOutcome | InputRequests) => void): void {
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

  /** Resolves questions with the responses of the client, by key. */
  respond(responses: unknown): void {
    this.#asked?.respond(responses);
  }

  notify(method: string, params: RpcObject): void {
    if (this.#outlet === undefined) {
      const before = this.#keptLength;
      if (!this.#keeps(params)) return;
      this.#kept ??= [];
      this.#kept.push([method, params, this.#keptLength - before]);
      if (this.#kept.length > maxKept) this.#keptLength -= this.#kept.shift()?.[2] ?? 0;
    } else if (this.#outlet.isOpen) this.#outlet.send({ jsonrpc: "2.0", method, params });
  }

  ask(method: string, params: RpcObject | undefined, signal?: AbortSignal): Promise<RpcObject> {
    if (!this.#keeps(params ?? {})) return Promise.reject(new RpcError(rpcCodes.failed, tooLargeText));
    this.#asked ??= new InputQuestions();
    const asked = this.#asked.ask(method, params, this, signal);
    // Questions of the same turn are sent together.
    setImmediate(() => this.#endLeg());
    return asked;
  }

  protected override onSettled(outcome: CallOutcome): void {
    this.#done = this.#keeps(outcome) ? outcome : tooLargeToKeep;
    this.#endLeg();
  }

  /** Ends the leg if there is an outcome or a question. */
  #endLeg(): void {
    const then = this.#then;
    const end = this.#done ?? this.#questions();
    if (then === undefined || end === undefined) return;
    this.#then = undefined;
    this.#outlet = undefined;
    // The response may wait a long time for its client: the result must not be kept with it.
    this.#done = undefined;
    then(end);
  }

  /** Whether a value may be kept until the next leg; it is then counted. */
  #keeps(value: unknown): boolean {
    if (this.#outlet !== undefined) return true;
    const length = jsonLengthOf(value) ?? Number.POSITIVE_INFINITY;
    if (this.#keptLength + length > maxKeptLength) return false;
    this.#keptLength += length;
    return true;
  }

  #questions(): InputRequests | undefined {
    const questions = this.#asked?.list();
    return questions === undefined ? undefined : { questions };
  }
}
