import type { Cancellation } from "../cancellation.js";
import type { Clock } from "../clock.js";
import { isHeaderName, isHeaderValue } from "../config/headers.js";
import type { NetworkSocketInfo } from "../connection-info.js";
import { ToolServerError } from "../errors.js";
import { Exchange, type ExchangeOwner } from "./exchange.js";
import type { HttpRequest, HttpResponse } from "./http-client.js";
import type { HttpConnection } from "./http-connection.js";

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

/** The checked parts of a request's URL. */
interface PreparedRequest {
  readonly origin: string;
  /** The host name, without the port. */
  readonly host: string;
  /** Including the query. */
  readonly path: string;
}

interface Known extends PreparedRequest {
  readonly href: string;
  readonly headers: HttpRequest["headers"];
}

/**
 * Returns a function that prepares requests. It caches the last one, because nearly all requests use one URL and one headers
 * object: reading the parts of a URL creates new strings, and the headers would be checked again. It throws as `assertSendable` does.
 */
export function createRequestPreparer(): (request: Pick<HttpRequest, "url" | "headers">) => PreparedRequest {
  let last: Known | undefined;
  return ({ url, headers }) => {
    const { href } = url;
    if (last?.headers === headers && last.href === href) return last;
    const { origin, host, hostname, pathname, search } = url;
    // All URLs with an unknown scheme have the origin "null", so different hosts would share sockets.
    if (origin === "null") throw unsendable("its URL is not an http or https URL");
    const path = `${pathname}${search}`;
    assertSendable(headers, host, path);
    last = { href, headers, origin, host: hostname, path };
    return last;
  };
}

/** Headers that describe the framing of a request, which only the code that writes it knows. */
const ownHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** An http or https `URL` has no other characters here, but the request line must not rely on that. */
const [sendablePath, sendableHost] = [/^\/[\x21-\x7e]*$/, /^[\x21-\x7e]+$/];

/** Throws a TypeError, which quotes no value, if a header cannot be sent or the URL is not an HTTP URL. */
export function assertSendable(headers: HttpRequest["headers"], host: string, path: string): void {
  if (!sendablePath.test(path) || !sendableHost.test(host)) throw unsendable("its URL is not an http or https URL");
  for (const name of Object.keys(headers)) {
    if (!isHeaderName(name)) throw unsendable("a header name contains an invalid character");
    if (ownHeaders.has(name.toLowerCase())) throw unsendable(`the header ${name} is set by the connection itself`);
    if (!isHeaderValue(headers[name] ?? "")) throw unsendable(`the header ${name} contains an invalid character`);
  }
}

/** The reason is a clause that quotes no value. */
function unsendable(why: string): TypeError {
  return new TypeError(`The request cannot be sent: ${why}.`);
}
