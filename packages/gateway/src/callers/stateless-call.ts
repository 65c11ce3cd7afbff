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
import { InputRequests } from "../input-requests.js";
import type { MessageWriter } from "./message-writer.js";

/** How a round ends: with the outcome of the call, or with open requests from the server, by key. */
export type RoundOutcome = CallOutcome | InputRequired;

interface InputRequired {
  readonly inputRequests: RpcObject;
}

export interface StatelessCallOptions {
  /** Method and name: a client that returns with input must return for the same subject. */
  readonly subject: string;
  readonly account: ClientAccount;
  readonly capabilities: RpcObject;
  readonly logLevel: LogLevel | undefined;
  readonly headers: RequestHeaders | undefined;
}

/** How many notifications are kept between two rounds: the latest. */
const maxKept = 32;

/** Characters of notifications, input requests and the result that are kept between two rounds. The client may never return. */
const maxKeptLength = 256 * 1024;

const tooLargeText = `The call waits for input from the client, and at most ${maxKeptLength} characters are kept until it returns.`;
const tooLargeToKeep: CallOutcome = { error: { code: rpcCodes.failed, message: tooLargeText }, status: 200 };

/**
 * A call from a modern client, in one or more rounds: if the server sends a request to the client, the client receives it as a result,
 * and sends the response with its next request while the server still waits. Each request of the client is a round.
 */
export class StatelessCall extends ClientCall {
  readonly session: undefined = undefined;
  readonly subject: string;
  readonly account: ClientAccount;
  readonly capabilities: RpcObject;
  readonly logLevel: LogLevel | undefined;
  progressToken: RequestId | undefined = undefined;
  /** The writer of the current round; undefined between two rounds, when messages are kept for the next one. */
  #writer: MessageWriter | undefined = undefined;
  #resolveRound: ((end: RoundOutcome) => void) | undefined = undefined;
  #outcome: CallOutcome | undefined = undefined;
  #inputRequests: InputRequests | undefined = undefined;
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
   * Runs until the call ends, or requires input. Until then the call's notifications are sent to the writer; progress has the token of
   * this round.
   */
  runRound(writer: MessageWriter, progressToken: RequestId | undefined): Promise<RoundOutcome> {
    const ended = new Promise<RoundOutcome>((resolve) => {
      this.#resolveRound = resolve;
    });
    this.#writer = writer;
    this.progressToken = progressToken;
    this.#keptLength = 0;
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    for (const [method, params] of kept) {
      if (params.progressToken === undefined) this.notify(method, params);
      else if (progressToken !== undefined) this.notify(method, { ...params, progressToken });
    }
    this.#endRound();
    return ended;
  }

  /** Resolves requests with the client's responses, by key. */
  receiveInput(responses: unknown): void {
    this.#inputRequests?.respond(responses);
  }

  notify(method: string, params: RpcObject): void {
    if (this.#writer === undefined) {
      const before = this.#keptLength;
      if (!this.#keeps(params)) return;
      this.#kept ??= [];
      this.#kept.push([method, params, this.#keptLength - before]);
      if (this.#kept.length > maxKept) this.#keptLength -= this.#kept.shift()?.[2] ?? 0;
    } else if (this.#writer.isOpen) this.#writer.send({ jsonrpc: "2.0", method, params });
  }

  ask(method: string, params: RpcObject | undefined, signal?: AbortSignal): Promise<RpcObject> {
    if (!this.#keeps(params ?? {})) return Promise.reject(new RpcError(rpcCodes.failed, tooLargeText));
    this.#inputRequests ??= new InputRequests();
    const response = this.#inputRequests.add(method, params, this, signal);
    // Requests of the same turn are sent together.
    setImmediate(() => this.#endRound());
    return response;
  }

  respond(outcome: CallOutcome): void {
    this.#outcome = this.#keeps(outcome) ? outcome : tooLargeToKeep;
    this.#endRound();
  }

  /** Ends the round if there is an outcome or an open request. */
  #endRound(): void {
    const resolve = this.#resolveRound;
    const end = this.#outcome ?? this.#inputRequired();
    if (resolve === undefined || end === undefined) return;
    this.#resolveRound = undefined;
    this.#writer = undefined;
    // The response may wait a long time for its client: the result must not be kept with it.
    this.#outcome = undefined;
    resolve(end);
  }

  /** Whether a value may be kept until the next round; if so, its length is counted. */
  #keeps(value: unknown): boolean {
    if (this.#writer !== undefined) return true;
    const length = jsonLengthOf(value) ?? Number.POSITIVE_INFINITY;
    if (this.#keptLength + length > maxKeptLength) return false;
    this.#keptLength += length;
    return true;
  }

  #inputRequired(): InputRequired | undefined {
    const inputRequests = this.#inputRequests?.list();
    return inputRequests === undefined ? undefined : { inputRequests };
  }
}
