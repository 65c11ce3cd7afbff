import { publisherOf } from "../diagnostics/channels.js";
import type { SocketWire } from "../diagnostics/facts.js";
import { ToolServerError } from "../errors.js";
import type { Clock } from "../process/clock.js";
import type { AnswerHead } from "./answer-head.js";
import { BytePieces } from "./byte-pieces.js";
import type { CancelSignal } from "./cancel-signal.js";
import { type BrokenExchange, exchangeFailure } from "./exchange-failure.js";
import type { AnswerHeaders, HttpAnswer } from "./http-client.js";
import type { HttpSocket, SocketUser } from "./http-socket.js";

/** How much of a body is kept before anybody reads it, in bytes; then the server has to wait. */
const unreadBytes = 64 * 1024;
/** In how many pieces: each takes far more than a byte, whatever its length. */
const mostPieces = 256;

/** How much of a body that nobody wants is read, and for how long, so that the socket can be used again. */
const discardBytes = 64 * 1024;
const discardMs = 1000;

const [streamStarted, streamSucceeded, streamFailed] = [
  publisherOf("wire:stream-started"),
  publisherOf("wire:stream-succeeded"),
  publisherOf("wire:stream-failed"),
];

/** Whose exchange it is, and who wants to know. */
export interface ExchangeOwner {
  /** Whom it is with, for messages. */
  readonly leg: string;
  readonly host: string;
  readonly clock: Clock;
  /** Calls it off, until the end of the body. */
  readonly signal: CancelSignal | undefined;
  /** Takes secrets out of messages. */
  redact(text: string): string;
  /** The request is written. */
  onWritten(wire: SocketWire): void;
  /** Called once with the head; or once with what broke it before that, as it came. */
  onHead(answer: HttpAnswer): void;
  onHeadFailure(exchange: Exchange, error: unknown): void;
}

/** One request and its answer over one socket: what the socket tells as the exchange goes on, and what the caller reads. */
export class Exchange implements HttpAnswer, SocketUser {
  status = 0;
  readonly wire: SocketWire;
  /** Whether the request was written, so that it may have arrived. */
  wasWritten = false;

  readonly #owner: ExchangeOwner;
  readonly #socket: HttpSocket;
  /** Why the caller gave up. */
  #calledOff: { readonly reason: unknown } | undefined;
  #head: AnswerHead | undefined;
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

  constructor(owner: ExchangeOwner, socket: HttpSocket) {
    this.#owner = owner;
    this.#socket = socket;
    this.wire = socket.wire.facts;
    owner.signal?.addEventListener("abort", this.#onAbort);
  }

  get headers(): AnswerHeaders {
    return this.#head?.headers ?? {};
  }

  get contentType(): string {
    return this.#head?.contentType ?? "";
  }

  /** Ends it, at any moment: whoever waits is rejected with `reason`. */
  callOff(reason: unknown): void {
    if (this.#isOver || this.#calledOff !== undefined) return;
    this.#calledOff = { reason };
    // What was not written yet is not written any more, and the socket can be used for something else.
    if (this.wasWritten) this.#socket.abort(new Error("aborted"), "A request on it was called off.");
    else this.#fail(reason);
  }

  onWriting(): boolean {
    if (this.#calledOff !== undefined) return false;
    this.wasWritten = true;
    streamStarted(this.wire);
    this.#owner.onWritten(this.wire);
    return true;
  }

  onHead(head: AnswerHead): void {
    this.status = head.status;
    this.#head = head;
    this.#owner.onHead(this);
  }

  onBody(piece: Buffer): boolean {
    if (this.#onChunk !== undefined) {
      this.#hand(piece);
      return !this.#isHeld;
    }
    this.#unread.push(piece);
    this.#unreadBytes += piece.length;
    return this.#unreadBytes < unreadBytes && this.#unread.length < mostPieces;
  }

  onComplete(): void {
    streamSucceeded(this.wire);
    this.#end();
    if (!this.#isHeld) this.#resolveBody?.();
  }

  onError(error: Error): void {
    if (this.wasWritten && !this.#isOver) streamFailed(this.wire);
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
      pieces.push(chunk);
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
    const framing = this.#head?.framing;
    return framing?.kind === "length" ? framing.bytes : 0;
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
    else this.#socket.resume();
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
    this.#failure = { error: isOurs || this.#head === undefined ? error : this.failureOf(error) };
    this.#end();
    if (this.#head === undefined) this.#owner.onHeadFailure(this, error);
    else if (!this.#isHeld && this.#unread.length === 0) this.#rejectBody?.(this.#failure.error);
  }

  #end(): void {
    this.#isOver = true;
    this.#owner.signal?.removeEventListener("abort", this.#onAbort);
  }

  /** What an error means that broke this exchange. */
  failureOf(error: unknown): Error {
    const { leg, host } = this.#owner;
    const broken: BrokenExchange = {
      leg,
      host,
      remoteName: this.wire.remoteName,
      wasWritten: this.wasWritten,
      hasHead: this.#head !== undefined,
      redact: (text) => this.#owner.redact(text),
    };
    return exchangeFailure(error, broken);
  }

  #refuse(limitBytes: number): Promise<never> {
    this.#isAsked = true;
    const error = this.#tooLarge(limitBytes);
    this.callOff(error);
    return Promise.reject(error);
  }

  #tooLarge(limitBytes: number): ToolServerError {
    const { leg } = this.#owner;
    const message = `The answer of ${leg} (${this.wire.remoteName}) is larger than ${limitBytes} bytes. Ask for less, or raise the limit.`;
    return new ToolServerError("MESSAGE_TOO_LARGE", message, { details: { status: this.status, wasSent: true } });
  }
}

function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks;
  if (first === undefined) return "";
  return (chunks.length === 1 ? first : Buffer.concat(chunks)).toString("utf8");
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
