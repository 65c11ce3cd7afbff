import type { Socket } from "node:net";
import { AnswerDefect, SocketClosed } from "./answer-defect.js";
import type { AnswerHead } from "./answer-head.js";
import { type AnswerHandler, AnswerParser } from "./answer-parser.js";
import type { RequestHead } from "./request-head.js";
import type { OpenWire } from "./socket-wire.js";

/** A request that is written to a socket, and hears of its answer. */
export interface SocketUser {
  /** About to be written; false where it is not wanted any more. */
  onWriting(): boolean;
  onHead(head: AnswerHead): void;
  /** A piece of the body; false where no more is to come until it is resumed. */
  onBody(piece: Buffer): boolean;
  onComplete(): void;
  /** There is no answer, or the rest of it does not come. */
  onError(error: Error): void;
}

/**
 * Hears that a socket can be used for another request; `keptMs` says for how long, where the server does. Where `wasUsed` is false nothing was
 * written since it was idle before.
 */
export type OnIdle = (socket: HttpSocket, wasUsed: boolean, keptMs: number | undefined) => void;

/** Requests for sockets that were idle, which wait until it is known whether those are still there. */
let waiting: HttpSocket[] = [];

function writeWaiting(): void {
  const sockets = waiting;
  waiting = [];
  for (const socket of sockets) socket.write();
}

/** A socket that speaks HTTP/1.1, one request at a time. */
export class HttpSocket implements AnswerHandler {
  readonly wire: OpenWire;
  readonly origin: string;
  /** Until when it may be used, while it is idle; in the time of `performance.now()`. */
  idleUntil = 0;
  readonly #socket: Socket;
  readonly #onIdle: OnIdle;
  readonly #parser = new AnswerParser(this);
  #head: RequestHead | undefined;
  #body: string | undefined;
  #user: SocketUser | undefined;
  #keptMs: number | undefined;
  #wasIdle = false;
  /** What the end of what the server sends means. */
  #ending: Error | undefined;

  constructor(wire: OpenWire, origin: string, onIdle: OnIdle) {
    this.wire = wire;
    this.origin = origin;
    this.#socket = wire.facts.socket;
    this.#onIdle = onIdle;
    this.#socket.on("data", (bytes: Buffer) => this.#onData(bytes));
    this.#socket.on("end", () => this.#onEnd());
    this.#socket.on("close", () => this.#onClose());
    // A direct one waits for that.
    this.#socket.resume();
  }

  /** Whether a request was written to it whose answer has not come yet. */
  get isAsked(): boolean {
    return this.#user !== undefined && this.#head === undefined;
  }

  get isGone(): boolean {
    return this.#socket.destroyed;
  }

  /** Sends a request. It must be idle. */
  send(head: RequestHead, body: string | undefined, user: SocketUser): void {
    this.#head = head;
    this.#body = body;
    this.#user = user;
    if (!this.#wasIdle) {
      this.write();
      return;
    }
    this.#socket.ref();
    // A server may have ended it by now, which is heard of before the next turn: what is written to it then is lost.
    if (waiting.push(this) === 1) setImmediate(writeWaiting);
  }

  /** Writes the request that was sent. */
  write(): void {
    const [head, body, user] = [this.#head, this.#body, this.#user];
    if (head === undefined || user === undefined) return;
    this.#head = undefined;
    this.#body = undefined;
    if (this.#socket.destroyed) this.#fail(new SocketClosed("The socket is gone."));
    else if (user.onWriting()) {
      this.#parser.begin();
      this.#writeBytes(head, body);
    } else {
      this.#user = undefined;
      this.#rest(false);
    }
  }

  /** Ends it, for this reason. The request on it hears of `error`. */
  abort(error: Error, reason: string): void {
    this.wire.end(reason);
    this.#fail(error);
  }

  resume(): void {
    this.#socket.resume();
  }

  onHead(head: AnswerHead): void {
    this.#keptMs = head.keptMs;
    this.#user?.onHead(head);
  }

  onBody(piece: Buffer): void {
    if (this.#user?.onBody(piece) === false) this.#socket.pause();
  }

  onEnd(isClean: boolean): void {
    const user = this.#user;
    this.#user = undefined;
    // A server that answers before it has read all may not read the rest. Where nobody waits it was called off, and is gone.
    if (isClean && user !== undefined && this.#socket.writableLength === 0) this.#rest(true);
    else this.wire.end("The server takes one request for each connection.");
    user?.onComplete();
  }

  #writeBytes({ text, needsLatin1, tellsLength }: RequestHead, body: string | undefined): void {
    const socket = this.#socket;
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    const head = bytes > 0 || tellsLength ? `${text}content-length: ${bytes}\r\n\r\n` : `${text}\r\n`;
    // In one write, where both are written alike: only what is ASCII is the same in a header and in a body.
    if (body === undefined || bytes === body.length) socket.write(body === undefined ? head : head + body, "latin1");
    else if (!needsLatin1) socket.write(head + body, "utf8");
    else {
      socket.cork();
      socket.write(head, "latin1");
      socket.write(body, "utf8");
      socket.uncork();
    }
  }

  #rest(wasUsed: boolean): void {
    this.#wasIdle = true;
    // What waits for another request keeps no process alive.
    this.#socket.unref();
    if (this.#socket.isPaused()) this.#socket.resume();
    this.#onIdle(this, wasUsed, this.#keptMs);
  }

  #onData(bytes: Buffer): void {
    if (this.#user === undefined || this.#head !== undefined) {
      this.wire.end("The server spoke without being asked.");
      // What was not written yet can be sent on another.
      this.#fail(new SocketClosed("The server spoke before the request was written."));
      return;
    }
    try {
      this.#parser.push(bytes);
    } catch (error) {
      this.abort(error as Error, "The server does not speak HTTP as it should.");
    }
  }

  #onEnd(): void {
    try {
      this.#parser.end();
    } catch (error) {
      this.#ending = error as Error;
    }
    // At once, for it would take a request until what is left to be written has been.
    this.#socket.destroy();
  }

  #onClose(): void {
    const ending = this.#ending;
    // An error of the socket says more than that it ended.
    if (ending instanceof AnswerDefect) this.#fail(ending);
    else this.#fail(this.wire.error ?? ending ?? new SocketClosed("The socket was closed."));
  }

  #fail(error: Error): void {
    const user = this.#user;
    this.#user = undefined;
    this.#head = undefined;
    this.#body = undefined;
    user?.onError(error);
  }
}
