import type { Dispatcher } from "undici";
import type { Cancellation } from "../cancellation.js";
import type { Clock } from "../clock.js";
import type { NetworkSocketInfo } from "../connection-info.js";
import { publisherOf } from "../diagnostics.js";
import { ToolServerError } from "../errors.js";
import { BytePieces } from "./byte-pieces.js";
import { type BrokenExchange, exchangeFailure } from "./exchange-failure.js";
import type { AnswerHeaders, HttpAnswer } from "./http-client.js";
import type { HttpConnection } from "./http-connection.js";

/** How much of a body is kept before anybody reads it, in bytes; then the server has to wait. */
const unreadBytes = 64 * 1024;
/** In how many pieces: each takes far more than a byte, whatever its length. */
const mostPieces = 256;

/** How many interim responses (1xx) may come before the response. */
const maxInterim = 16;

/** How much of a body that nobody wants is read, and for how long, so that the socket can be used again. */
const discardBytes = 64 * 1024;
const discardMs = 1000;

const [streamStarted, streamSucceeded, streamFailed] = [
  publisherOf("socket:stream-started"),
  publisherOf("socket:stream-succeeded"),
  publisherOf("socket:stream-failed"),
];

/** Whose exchange it is, and who wants to know. */
export interface ExchangeOwner {
  /** Whom it is with, for messages. */
  readonly leg: string;
  readonly host: string;
  readonly clock: Clock;
  /** Calls it off, until the end of the body. */
  readonly signal: Cancellation | undefined;
  /** Takes secrets out of messages. */
  redact(text: string): string;
  /** The request is written. */
  onWritten(socketInfo: NetworkSocketInfo): void;
  /** Called once with the head; or once with what broke it before that, as it came. */
  onHead(answer: HttpAnswer): void;
  onHeadFailure(exchange: Exchange, error: unknown): void;
  /** The whole response was received. undici closes the connection right after this if it cannot be used again. */
  onComplete(connection: HttpConnection): void;
}

type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * One request and its response over one connection: what undici reports as the exchange goes on (`onRequest…` and `onResponse…`),
 * and what the caller reads.
 */
export class Exchange implements HttpAnswer, Dispatcher.DispatchHandler {
  status = 0;
  readonly socketInfo: NetworkSocketInfo;
  /** Whether the request was written, so that it may have arrived. */
  wasWritten = false;
  // Headers have a limit of their own, however they arrive.
  fruitlessReads: number = Number.NEGATIVE_INFINITY;

  readonly #owner: ExchangeOwner;
  readonly #connection: HttpConnection;
  #controller: Dispatcher.DispatchController | undefined;
  /** Why the caller gave up. */
  #calledOff: { readonly reason: unknown } | undefined;
  /** As undici gives them; undefined until the response has begun. */
  #received: ResponseHeaders | undefined;
  #headers: AnswerHeaders | undefined;
  #interim = 0;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #onChunk: ((chunk: Buffer) => unknown) | undefined;
  #resolveBody: (() => void) | undefined;
  #rejectBody: ((error: unknown) => void) | undefined;
  /** Whether the reader is busy with what it got. */
  #isHeld = false;
  #isAsked = false;
  readonly #onAbort = (): void => this.callOff(this.#owner.signal?.reason);

  constructor(owner: ExchangeOwner, connection: HttpConnection) {
    this.#owner = owner;
    this.#connection = connection;
    this.socketInfo = connection.trackedSocket.info;
    connection.exchange = this;
    owner.signal?.addEventListener("abort", this.#onAbort);
  }

  get headers(): AnswerHeaders {
    this.#headers ??= headersOf(this.#received ?? {});
    return this.#headers;
  }

  get contentType(): string {
    return textOfHeader(this.#received?.["content-type"]);
  }

  /** Ends it, at any moment: whoever waits is rejected with `reason`. */
  callOff(reason: unknown): void {
    if (this.#isOver || this.#calledOff !== undefined) return;
    this.#calledOff = { reason };
    // What was not written yet is not written any more, and the socket can be used for something else.
    if (this.#controller !== undefined) this.#controller.abort(new Error("aborted"));
    else this.#fail(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // undici then takes the request back, and the connection stays as it is.
    if (this.#calledOff !== undefined) throw new Error("aborted");
    this.#controller = controller;
    this.wasWritten = true;
    streamStarted(this.socketInfo);
    this.#owner.onWritten(this.socketInfo);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    this.fruitlessReads = 0;
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > maxInterim) controller.abort(this.#tooMuchInterim());
      return;
    }
    this.status = status;
    this.#received = headers;
    this.#owner.onHead(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.fruitlessReads = 0;
    if (this.#onChunk !== undefined) {
      this.#hand(piece);
      if (this.#isHeld) controller.pause();
      return;
    }
    this.#unread.push(ownBytes(piece));
    this.#unreadBytes += piece.length;
    if (this.#unreadBytes >= unreadBytes || this.#unread.length >= mostPieces) controller.pause();
  }

  onResponseEnd(): void {
    streamSucceeded(this.socketInfo);
    this.#end();
    this.#owner.onComplete(this.#connection);
    if (!this.#isHeld) this.#resolveBody?.();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.wasWritten && !this.#isOver) streamFailed(this.socketInfo);
    if (this.#calledOff !== undefined && !this.wasWritten) this.#owner.onComplete(this.#connection);
    this.#fail(this.#calledOff === undefined ? error : this.#calledOff.reason);
  }

  wholeText(limitBytes: number): string | undefined {
    if (!this.#isOver || this.#failure !== undefined || this.#isAsked) return undefined;
    if (this.#unreadBytes > limitBytes) return undefined;
    this.#isAsked = true;
    return textOf(this.#unread);
  }

  text(limitBytes: number): Promise<string> {
    if (this.#toldBytes() > limitBytes) return this.#refuse(limitBytes);
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
    if (this.#isAsked) return Promise.reject(new TypeError("The body of the answer was asked for before."));
    this.#isAsked = true;
    return new Promise((resolve, reject) => {
      this.#resolveBody = resolve;
      this.#rejectBody = reject;
      this.#onChunk = onChunk;
      this.#drain();
    });
  }

  discard(): void {
    if (this.#isAsked) return;
    if (this.#isOver) {
      this.#isAsked = true;
      return;
    }
    const enough = (): void => this.callOff(new Error("The rest of the answer is not wanted."));
    let bytes = 0;
    const callOff = this.#owner.clock.after(discardMs, enough);
    this.read((chunk) => {
      bytes += chunk.length;
      if (bytes > discardBytes) enough();
    }).then(callOff, callOff);
    if (this.#toldBytes() > discardBytes) enough();
  }

  /** How long the body is, where the head says so; else 0. */
  #toldBytes(): number {
    if (this.status === 204 || this.status === 304) return 0;
    return Number(textOfHeader(this.#received?.["content-length"])) || 0;
  }

  /** Hands on what is there already, then lets more come. */
  #drain(): void {
    while (!this.#isHeld && this.#rejectBody !== undefined) {
      const chunk = this.#unread.shift();
      if (chunk === undefined) break;
      this.#hand(chunk);
    }
    if (this.#isHeld || this.#unread.length > 0) return;
    if (this.#failure !== undefined) this.#rejectBody?.(this.#failure.error);
    else if (this.#isOver) this.#resolveBody?.();
    else this.#controller?.resume();
  }

  #hand(chunk: Buffer): void {
    if (this.#isHeld) {
      this.#unread.push(chunk);
      return;
    }
    try {
      const result = this.#onChunk?.(chunk);
      if (!isThenable(result)) return;
      this.#isHeld = true;
      const go = (): void => {
        this.#isHeld = false;
        this.#drain();
      };
      result.then(go, (error: unknown) => {
        this.#isHeld = false;
        this.#giveUp(error);
      });
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** The reader wants no more. */
  #giveUp(error: unknown): void {
    this.#unread.length = 0;
    this.#rejectBody?.(error);
    this.#rejectBody = undefined;
    this.callOff(error);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    const isOurs = this.#calledOff !== undefined;
    const hasHead = this.#received !== undefined;
    this.#failure = { error: isOurs || !hasHead ? error : this.failureOf(error) };
    this.#end();
    if (!hasHead) this.#owner.onHeadFailure(this, error);
    else if (!this.#isHeld && this.#unread.length === 0) this.#rejectBody?.(this.#failure.error);
  }

  #end(): void {
    this.#isOver = true;
    this.#connection.exchange = undefined;
    this.#owner.signal?.removeEventListener("abort", this.#onAbort);
  }

  /** What an error means that broke this exchange. */
  failureOf(error: unknown): Error {
    const { leg, host } = this.#owner;
    const broken: BrokenExchange = {
      leg,
      host,
      remoteName: this.socketInfo.remoteName,
      wasWritten: this.wasWritten,
      hasHead: this.#received !== undefined,
      redact: (text) => this.#owner.redact(text),
    };
    // undici reports the last error of a socket; the first says more. A used connection may end at any time, for any reason.
    const { trackedSocket, wasUsed } = this.#connection;
    const first = this.wasWritten || !wasUsed ? (trackedSocket.error ?? error) : error;
    return exchangeFailure(ToolServerError.is(error) ? error : first, broken);
  }

  #refuse(limitBytes: number): Promise<never> {
    this.#isAsked = true;
    const error = this.#tooLarge(limitBytes);
    this.callOff(error);
    return Promise.reject(error);
  }

  #tooMuchInterim(): ToolServerError {
    const { leg } = this.#owner;
    const problem = `${leg.charAt(0).toUpperCase()}${leg.slice(1)} (${this.socketInfo.remoteName}) sent more than ${maxInterim} interim responses and no final one.`;
    return new ToolServerError(
      "MESSAGE_TOO_LARGE",
      { problem, advice: "Look into the server." },
      { details: { wasSent: true } },
    );
  }

  #tooLarge(limitBytes: number): ToolServerError {
    const { leg } = this.#owner;
    const problem = `The answer of ${leg} (${this.socketInfo.remoteName}) is larger than ${limitBytes} bytes.`;
    const parts = { problem, advice: "Ask for less, or raise the limit." };
    return new ToolServerError("MESSAGE_TOO_LARGE", parts, { details: { status: this.status, wasSent: true } });
  }
}

function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks;
  if (first === undefined) return "";
  return (chunks.length === 1 ? first : Buffer.concat(chunks)).toString("utf8");
}

/** The bytes themselves if they are a small part of what was read: a view of one byte would keep all of it. */
function ownBytes(piece: Buffer): Buffer {
  return piece.length * 2 < piece.buffer.byteLength ? Buffer.from(piece) : piece;
}

function headersOf(received: ResponseHeaders): AnswerHeaders {
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
