import type { Dispatcher } from "undici";
import type { Clock } from "../clock.js";
import type { NetworkSocketInfo } from "../connection-info.js";
import { publisherOf } from "../diagnostics.js";
import { ToolServerError } from "../errors.js";
import type { Redact } from "../secrets/redactor.js";
import { BytePieces } from "./byte-pieces.js";
import type { HttpRequest, HttpResponse, ResponseHeaders } from "./http-client.js";
import type { HttpConnection } from "./http-connection.js";
import { type BrokenExchange, capitalized, exchangeFailure } from "./http-failure.js";
import type { RequestTarget } from "./prepare-request.js";
import type { SocketPool } from "./socket-pool.js";

/** How much of an unread body is buffered, in bytes; then the socket is paused. */
const unreadBytes = 64 * 1024;
/** In how many pieces: each costs much more memory than its bytes. */
const maxPieces = 256;

/** The maximum number of interim responses (1xx). */
const maxInterim = 16;

/** How much of a discarded body is read, and for how long, so that the socket can be reused. */
const discardBytes = 64 * 1024;
const discardMs = 1000;

const [streamStarted, streamSucceeded, streamFailed] = [
  publisherOf("socket:stream-started"),
  publisherOf("socket:stream-succeeded"),
  publisherOf("socket:stream-failed"),
];

/** What all exchanges of one client share. */
export interface ExchangeContext {
  readonly clock: Clock;
  /** Gets the connection back once the whole response was received. */
  readonly pool: Pick<SocketPool, "giveBack">;
  /** The peer of requests that name none. */
  readonly defaultPeer: string;
  /** Redacts secrets in messages. */
  readonly redact: Redact;
}

type RawHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * One request and its response over one connection: the handler of undici's events (`onRequest…` and `onResponse…`),
 * and the response for the caller.
 */
export class Exchange implements HttpResponse, Dispatcher.DispatchHandler {
  status = 0;
  readonly socketInfo: NetworkSocketInfo;
  /** Whether the request was written, so that it may have arrived. */
  wasWritten = false;
  unproductiveBytes = 0;

  readonly #connection: HttpConnection;
  readonly #request: HttpRequest;
  readonly #target: RequestTarget;
  readonly #context: ExchangeContext;
  #resolveHeaders: ((response: HttpResponse) => void) | undefined;
  #rejectHeaders: ((error: unknown) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #cancelled: { readonly reason: unknown } | undefined;
  /** As undici passes them; undefined until the response starts. */
  #received: RawHeaders | undefined;
  #headers: ResponseHeaders | undefined;
  #interim = 0;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #onChunk: ((chunk: Buffer) => unknown) | undefined;
  #resolveBody: (() => void) | undefined;
  #rejectBody: ((error: unknown) => void) | undefined;
  #isReaderBusy = false;
  #isConsumed = false;
  readonly #onAbort = (): void => this.cancel(this.#request.signal?.reason);

  constructor(connection: HttpConnection, request: HttpRequest, target: RequestTarget, context: ExchangeContext) {
    this.#connection = connection;
    this.#request = request;
    this.#target = target;
    this.#context = context;
    this.socketInfo = connection.trackedSocket.info;
  }

  get #peer(): string {
    return this.#request.peer ?? this.#context.defaultPeer;
  }

  get isPaused(): boolean {
    return this.#controller?.paused === true;
  }

  get headers(): ResponseHeaders {
    this.#headers ??= headersOf(this.#received ?? {});
    return this.#headers;
  }

  get contentType(): string {
    return textOfHeader(this.#received?.["content-type"]);
  }

  /**
   * Sends the request. Resolves with this response when its headers are received, and rejects if they never are: with a
   * failure, or with the signal's reason.
   */
  start(): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      this.#resolveHeaders = resolve;
      this.#rejectHeaders = reject;
      const { method, headers, body = null, phases, signal } = this.#request;
      phases?.begin("request", this.socketInfo);
      this.#connection.exchange = this;
      // It can be cancelled until the end of the body.
      signal?.addEventListener("abort", this.#onAbort);
      this.#connection.client.dispatch({ method, path: this.#target.path, headers, body }, this);
    });
  }

  /** Cancels it at any moment: the caller is rejected with `reason`. */
  cancel(reason: unknown): void {
    if (this.#isOver || this.#cancelled !== undefined) return;
    this.#cancelled = { reason };
    // An unwritten request is dropped, and the socket can be reused.
    if (this.#controller !== undefined) this.#controller.abort(new Error("aborted"));
    else this.#fail(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // undici then drops the request, and the connection stays usable.
    if (this.#cancelled !== undefined) throw new Error("aborted");
    this.#controller = controller;
    this.wasWritten = true;
    // undici refers to the socket before each request, and no longer after it.
    if (this.#request.isBackground) this.socketInfo.socket.unref();
    streamStarted(this.socketInfo);
    this.#request.phases?.begin("server", this.socketInfo);
    this.#request.observer?.onWritten(this.socketInfo);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: RawHeaders): void {
    this.unproductiveBytes = 0;
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > maxInterim) controller.abort(this.#tooMuchInterim());
      return;
    }
    this.status = status;
    this.#received = headers;
    this.#resolveHeaders?.(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.unproductiveBytes = 0;
    if (this.#onChunk !== undefined) {
      this.#hand(piece);
      if (this.#isReaderBusy) controller.pause();
      return;
    }
    this.#unread.push(ownBytes(piece));
    this.#unreadBytes += piece.length;
    if (this.#unreadBytes >= unreadBytes || this.#unread.length >= maxPieces) controller.pause();
  }

  onResponseEnd(): void {
    streamSucceeded(this.socketInfo);
    this.#end();
    // Now: undici closes the connection right after this if it cannot be used again.
    this.#context.pool.giveBack(this.#connection);
    if (!this.#isReaderBusy) this.#resolveBody?.();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.wasWritten && !this.#isOver) streamFailed(this.socketInfo);
    if (this.#cancelled !== undefined && !this.wasWritten) this.#context.pool.giveBack(this.#connection);
    this.#fail(this.#cancelled === undefined ? error : this.#cancelled.reason);
  }

  textIfComplete(limitBytes: number): string | undefined {
    if (!this.#isOver || this.#failure !== undefined || this.#isConsumed) return undefined;
    if (this.#unreadBytes > limitBytes) return undefined;
    this.#isConsumed = true;
    return textOf(this.#unread);
  }

  text(limitBytes: number): Promise<string> {
    if (this.#declaredBytes() > limitBytes) return this.#refuse(limitBytes);
    const pieces = new BytePieces();
    let bytes = 0;
    const read = this.read((chunk) => {
      bytes += chunk.length;
      if (bytes > limitBytes) throw this.#tooLarge(limitBytes);
      pieces.push(ownBytes(chunk));
    });
    return read.then(() => pieces.take().toString("utf8"));
  }

  read(onChunk: (chunk: Buffer) => unknown): Promise<void> {
    if (this.#isConsumed) return Promise.reject(new TypeError("The body of the response was already consumed."));
    this.#isConsumed = true;
    return new Promise((resolve, reject) => {
      this.#resolveBody = resolve;
      this.#rejectBody = reject;
      this.#onChunk = onChunk;
      this.#drain();
    });
  }

  discard(): void {
    if (this.#isConsumed) return;
    if (this.#isOver) {
      this.#isConsumed = true;
      return;
    }
    const enough = (): void => this.cancel(new Error("The rest of the response is discarded."));
    let bytes = 0;
    const stopTimer = this.#context.clock.after(discardMs, enough);
    this.read((chunk) => {
      bytes += chunk.length;
      if (bytes > discardBytes) enough();
    }).then(stopTimer, stopTimer);
    if (this.#declaredBytes() > discardBytes) enough();
  }

  /** The length of the body according to its headers; 0 if they do not say. */
  #declaredBytes(): number {
    if (this.status === 204 || this.status === 304) return 0;
    return Number(textOfHeader(this.#received?.["content-length"])) || 0;
  }

  /** Passes on the buffered chunks, then resumes the socket. */
  #drain(): void {
    while (!this.#isReaderBusy && this.#rejectBody !== undefined) {
      const chunk = this.#unread.shift();
      if (chunk === undefined) break;
      this.#hand(chunk);
    }
    if (this.#isReaderBusy || this.#unread.length > 0) return;
    if (this.#failure !== undefined) this.#rejectBody?.(this.#failure.error);
    else if (this.#isOver) this.#resolveBody?.();
    else this.#controller?.resume();
  }

  #hand(chunk: Buffer): void {
    if (this.#isReaderBusy) {
      this.#unread.push(chunk);
      return;
    }
    try {
      const result = this.#onChunk?.(chunk);
      if (!isThenable(result)) return;
      this.#isReaderBusy = true;
      const resume = (): void => {
        this.#isReaderBusy = false;
        this.#drain();
      };
      result.then(resume, (error: unknown) => {
        this.#isReaderBusy = false;
        this.#readerFailed(error);
      });
    } catch (error) {
      this.#readerFailed(error);
    }
  }

  /** The reader failed: discards the rest. */
  #readerFailed(error: unknown): void {
    this.#unread.length = 0;
    this.#rejectBody?.(error);
    this.#rejectBody = undefined;
    this.cancel(error);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    const failure = this.#cancelled === undefined ? this.#failureOf(error) : error;
    this.#failure = { error: failure };
    this.#end();
    const { signal } = this.#request;
    if (this.#received === undefined) this.#rejectHeaders?.(signal?.aborted ? signal.reason : failure);
    else if (!this.#isReaderBusy && this.#unread.length === 0) this.#rejectBody?.(failure);
  }

  #end(): void {
    this.#isOver = true;
    this.#connection.exchange = undefined;
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
  }

  /** Converts an error that broke this exchange. */
  #failureOf(error: unknown): Error {
    const broken: BrokenExchange = {
      peer: this.#peer,
      host: this.#target.host,
      remoteName: this.socketInfo.remoteName,
      wasWritten: this.wasWritten,
      hasHeaders: this.#received !== undefined,
      redact: this.#context.redact,
    };
    // undici reports the last error of a socket; the first says more. A used connection may end at any time, for any reason.
    const { trackedSocket, wasUsed } = this.#connection;
    const first = this.wasWritten || !wasUsed ? (trackedSocket.error() ?? error) : error;
    return exchangeFailure(ToolServerError.is(error) ? error : first, broken);
  }

  #refuse(limitBytes: number): Promise<never> {
    this.#isConsumed = true;
    const error = this.#tooLarge(limitBytes);
    this.cancel(error);
    return Promise.reject(error);
  }

  #tooMuchInterim(): ToolServerError {
    const problem = `${capitalized(this.#peer)} (${this.socketInfo.remoteName}) sent more than ${maxInterim} interim responses and no final one.`;
    const parts = { problem, advice: "Check the server." };
    return new ToolServerError("MESSAGE_TOO_LARGE", parts, { details: { wasSent: true } });
  }

  #tooLarge(limitBytes: number): ToolServerError {
    const problem = `The response from ${this.#peer} (${this.socketInfo.remoteName}) is larger than ${limitBytes} bytes.`;
    const parts = { problem, advice: "Request less, or raise the limit." };
    return new ToolServerError("MESSAGE_TOO_LARGE", parts, { details: { status: this.status, wasSent: true } });
  }
}

function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks;
  if (first === undefined) return "";
  return (chunks.length === 1 ? first : Buffer.concat(chunks)).toString("utf8");
}

/** Copies the bytes if they are a small part of their buffer: a view of one byte would keep the whole buffer. */
function ownBytes(piece: Buffer): Buffer {
  return piece.length * 2 < piece.buffer.byteLength ? Buffer.from(piece) : piece;
}

function headersOf(received: RawHeaders): ResponseHeaders {
  const headers: Record<string, string> = Object.create(null);
  for (const name of Object.keys(received)) {
    const value = received[name];
    headers[name] = (name === "set-cookie" && Array.isArray(value) ? value.at(-1) : undefined) ?? textOfHeader(value);
  }
  return headers;
}

function textOfHeader(value: string | readonly string[] | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : value.join(", ");
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
