import { publisherOf } from "../diagnostics/channels.js";
import type { ConnectionFacts } from "../diagnostics/facts.js";
import type { ToolServerError } from "../errors.js";
import { calledOff } from "./call-failure.js";
import type { ClientSession } from "./client-session.js";
import type { RelayedCall } from "./connection.js";
import type { RelayOutcome, RelayRequest, WireObject } from "./relayed-calls.js";

const [callStarted, callSucceeded, callFailed] = [
  publisherOf("connection:call-started"),
  publisherOf("connection:call-succeeded"),
  publisherOf("connection:call-failed"),
];

/** What a connection does for requests that are passed on. */
export interface RelayHost {
  readonly facts: ConnectionFacts;
  /** The live session; undefined where there is none yet. */
  readonly session: () => ClientSession | undefined;
  /** The session to come. */
  readonly ensure: () => Promise<ClientSession>;
  /** A request failed over a session: in our words, and whether it is made once more. */
  readonly judge: (
    session: ClientSession,
    cause: unknown,
    method: string,
  ) => { error: ToolServerError; isRepeated: boolean };
}

/** Passes a request on, as a call that the connection counts, and makes once more where that is safe. */
export function relayCall(host: RelayHost, request: RelayRequest): RelayedCall {
  const call = new Relaying(host, request);
  call.begin();
  return call;
}

// A class, for one is made for every call: functions that remember as much took three times the memory.
class Relaying implements RelayedCall, RelayOutcome {
  readonly result: Promise<WireObject>;
  readonly #host: RelayHost;
  readonly #request: RelayRequest;
  #resolve!: (result: WireObject) => void;
  #reject!: (error: unknown) => void;
  #session: ClientSession | undefined = undefined;
  #id = 0;
  #isRepeated = false;
  #isOver = false;

  constructor(host: RelayHost, request: RelayRequest) {
    this.#host = host;
    this.#request = request;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    callStarted(host.facts);
  }

  begin(): void {
    const session = this.#host.session();
    if (session !== undefined) this.#send(session);
    else {
      this.#host.ensure().then(
        (opened) => this.#send(opened),
        (error: unknown) => this.#fail(error),
      );
    }
  }

  onResult(value: WireObject): void {
    if (this.#isOver) return;
    this.#isOver = true;
    callSucceeded(this.#host.facts);
    this.#resolve(value);
  }

  onFailure(cause: unknown): void {
    if (this.#session === undefined) return;
    const { error, isRepeated } = this.#host.judge(this.#session, cause, this.#request.method);
    if (this.#isRepeated || !isRepeated) {
      this.#fail(error);
      return;
    }
    this.#isRepeated = true;
    this.begin();
  }

  cancel(reason: ToolServerError = calledOff(this.#host.facts.name, this.#request.method)): void {
    if (this.#isOver) return;
    this.#session?.giveUp(this.#id);
    this.#fail(reason);
  }

  #send(session: ClientSession): void {
    if (this.#isOver) return;
    this.#session = session;
    try {
      this.#id = session.relay(this.#request, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    callFailed(this.#host.facts);
    this.#reject(error);
  }
}
