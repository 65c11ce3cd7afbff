import type { Cancellation } from "../cancellation.js";
import type { Clock } from "../clock.js";
import type { NetworkSocketInfo } from "../connection-info.js";
import { ToolServerError } from "../errors.js";
import { Exchange, type ExchangeOwner } from "./exchange.js";
import type { HttpRequest, HttpResponse } from "./http-client.js";
import type { HttpConnection } from "./http-connection.js";
import type { PreparedRequest } from "./prepared-request.js";

/** Provides attempts with connections. */
export interface AttemptHost {
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  /** The peer of requests that name none. */
  readonly defaultPeer: string;
  /** Throws a TypeError if the request cannot be sent. */
  prepare(request: HttpRequest): PreparedRequest;
  /** Returns an idle connection. */
  take(request: HttpRequest, origin: string): HttpConnection | undefined;
  /** Opens a new connection; at the limit, waits for one to become idle. */
  open(request: HttpRequest, origin: string, signal: Cancellation | undefined): Promise<HttpConnection>;
  /** Returns a connection to the pool after its response was received completely. */
  giveBack(connection: HttpConnection): void;
}

/**
 * Sends a request on an idle or a new connection, and again on a new one if the first was dead and repeating is safe. Resolves
 * with the response headers. Uses one promise in all, because every call would pay for each additional one.
 */
export function attemptRequest(
  host: AttemptHost,
  request: HttpRequest,
  signal: Cancellation | undefined,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    new Attempt(host, request, signal, resolve, reject).begin();
  });
}

// A class, because one is created for every request.
class Attempt implements ExchangeOwner {
  readonly signal: Cancellation | undefined;
  readonly #host: AttemptHost;
  readonly #request: HttpRequest;
  readonly #prepared: PreparedRequest;
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (reason: unknown) => void;
  #isLast = false;

  constructor(
    host: AttemptHost,
    request: HttpRequest,
    signal: Cancellation | undefined,
    resolve: (response: HttpResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#host = host;
    this.#request = request;
    this.#prepared = host.prepare(request);
    this.signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get peer(): string {
    return this.#request.peer ?? this.#host.defaultPeer;
  }

  get host(): string {
    return this.#prepared.host;
  }

  get clock(): Clock {
    return this.#host.clock;
  }

  redact(text: string): string {
    return this.#host.redact(text);
  }

  begin(): void {
    const connection = this.#host.take(this.#request, this.#prepared.origin);
    if (connection === undefined) this.#open();
    else this.#send(connection);
  }

  onWritten(socketInfo: NetworkSocketInfo): void {
    this.#request.phases?.begin("server", socketInfo);
    this.#request.onWritten?.(socketInfo);
  }

  onHeaders(response: HttpResponse): void {
    this.#resolve(response);
  }

  onHeadersFailure(exchange: Exchange, error: unknown): void {
    if (this.signal?.aborted) {
      this.#reject(this.signal.reason);
      return;
    }
    const failure = exchange.failureOf(error);
    const isRepeatable = !exchange.wasWritten || this.#request.isSafe === true;
    if (this.#isLast || !isRepeatable || !ToolServerError.is(failure, "CONNECTION_LOST")) this.#reject(failure);
    else {
      this.#isLast = true;
      this.#request.phases?.retry(failure.message);
      this.#open();
    }
  }

  onComplete(connection: HttpConnection): void {
    this.#host.giveBack(connection);
  }

  #open(): void {
    const { origin } = this.#prepared;
    const { phases } = this.#request;
    phases?.begin("connecting");
    this.#host.open(this.#request, origin, this.signal).then((connection) => {
      phases?.end("connecting", connection.trackedSocket.info);
      this.#send(connection);
    }, this.#reject);
  }

  #send(connection: HttpConnection): void {
    if (this.signal?.aborted) {
      connection.trackedSocket.end("The request it was opened for was cancelled.");
      this.#reject(this.signal.reason);
      return;
    }
    const { method, headers, body = null } = this.#request;
    this.#request.phases?.begin("request", connection.trackedSocket.info);
    const exchange = new Exchange(this, connection);
    connection.client.dispatch({ method, path: this.#prepared.path, headers, body }, exchange);
  }
}
