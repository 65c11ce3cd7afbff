import type { Cancellation } from "../cancellation.js";
import type { Clock } from "../clock.js";
import type { NetworkSocketInfo } from "../connection-info.js";
import { ToolServerError } from "../errors.js";
import { Exchange, type ExchangeOwner } from "./exchange.js";
import type { HttpAnswer, HttpRequest } from "./http-client.js";
import type { HttpConnection } from "./http-connection.js";
import type { RequestPlace } from "./prepared-request.js";

/** Where attempts get their sockets. */
export interface AttemptHost {
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  /** Whom requests go to that do not say so. */
  readonly defaultLeg: string;
  /** Throws a TypeError where it cannot be sent. */
  placeOf(request: HttpRequest): RequestPlace;
  /** One that is idle. */
  take(request: HttpRequest, origin: string): HttpConnection | undefined;
  /** A new one; or one that became idle while there were as many as allowed. */
  open(request: HttpRequest, origin: string, signal: Cancellation | undefined): Promise<HttpConnection>;
  /** Takes back a connection whose response was read to its end. */
  giveBack(connection: HttpConnection): void;
}

/**
 * Sends a request, on an idle connection or on a new one, and once more on a new one if the first was dead and that is safe.
 * Resolves with the head of the answer; one promise for it, whatever it takes, for each more would be paid by every call.
 */
export function attemptRequest(
  host: AttemptHost,
  request: HttpRequest,
  signal: Cancellation | undefined,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    new Attempt(host, request, signal, resolve, reject).begin();
  });
}

// A class, for one is made for every request.
class Attempt implements ExchangeOwner {
  readonly signal: Cancellation | undefined;
  readonly #host: AttemptHost;
  readonly #request: HttpRequest;
  readonly #place: RequestPlace;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (reason: unknown) => void;
  #isLast = false;

  constructor(
    host: AttemptHost,
    request: HttpRequest,
    signal: Cancellation | undefined,
    resolve: (answer: HttpAnswer) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#host = host;
    this.#request = request;
    this.#place = host.placeOf(request);
    this.signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get leg(): string {
    return this.#request.leg ?? this.#host.defaultLeg;
  }

  get host(): string {
    return this.#place.host;
  }

  get clock(): Clock {
    return this.#host.clock;
  }

  redact(text: string): string {
    return this.#host.redact(text);
  }

  begin(): void {
    const connection = this.#host.take(this.#request, this.#place.origin);
    if (connection === undefined) this.#open();
    else this.#send(connection);
  }

  onWritten(socketInfo: NetworkSocketInfo): void {
    this.#request.onWritten?.(socketInfo);
  }

  onHead(answer: HttpAnswer): void {
    this.#resolve(answer);
  }

  onHeadFailure(exchange: Exchange, error: unknown): void {
    if (this.signal?.aborted) {
      this.#reject(this.signal.reason);
      return;
    }
    const failure = exchange.failureOf(error);
    const isRepeatable = !exchange.wasWritten || this.#request.isSafe === true;
    if (this.#isLast || !isRepeatable || !ToolServerError.is(failure, "CONNECTION_LOST")) this.#reject(failure);
    else {
      this.#isLast = true;
      this.#open();
    }
  }

  onComplete(connection: HttpConnection): void {
    this.#host.giveBack(connection);
  }

  #open(): void {
    const { origin } = this.#place;
    this.#host.open(this.#request, origin, this.signal).then((connection) => this.#send(connection), this.#reject);
  }

  #send(connection: HttpConnection): void {
    if (this.signal?.aborted) {
      connection.trackedSocket.end("The request that it was opened for was called off.");
      this.#reject(this.signal.reason);
      return;
    }
    const { method, headers, body = null } = this.#request;
    const exchange = new Exchange(this, connection);
    connection.client.dispatch({ method, path: this.#place.path, headers, body }, exchange);
  }
}
