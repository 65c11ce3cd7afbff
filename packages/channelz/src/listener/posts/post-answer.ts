import type { OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { answerHead, isBodiless } from "./answer-head.js";

/** Hears that an answer is out, or never will be. */
export type OnAnswerEnd = (answer: PostAnswer) => void;

type Listener = () => void;
type BodyEncoding = "utf8" | "latin1";

/** The answer to a `WholePost`: the part of Node's `ServerResponse` that an answer takes. One that is given whole leaves in one write. */
export class PostAnswer {
  readonly #socket: Socket;
  readonly #onEnd: OnAnswerEnd;
  #headers: OutgoingHttpHeaders = {};
  #more: OutgoingHttpHeaders | undefined;
  #onClose: Listener[] | undefined;
  #onDrain: Listener[] | undefined;
  #isChunked = false;
  #isOver = false;
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  /** Whether the system has taken all of it. */
  writableFinished = false;
  /** Whether there is a body. */
  hasBody = false;
  /** Whether the connection ends with it. */
  isLast = false;

  constructor(socket: Socket, onEnd: OnAnswerEnd) {
    this.#socket = socket;
    this.#onEnd = onEnd;
  }

  get destroyed(): boolean {
    return this.#isOver || this.#socket.destroyed || this.#socket.writableEnded;
  }

  /** What lies ready for the caller, in bytes. */
  get writableLength(): number {
    return this.#socket.writableLength;
  }

  /** Sets a header that `writeHead` does not. Throws a TypeError where the head is out. */
  setHeader(name: string, value: string | number): void {
    this.#assertHeadIsOurs();
    this.#more ??= {};
    this.#more[name.toLowerCase()] = value;
  }

  /** Says what the head is; it leaves with the body. Throws a TypeError where it is out. */
  writeHead(statusCode: number, headers: OutgoingHttpHeaders = {}): this {
    this.#assertHeadIsOurs();
    this.statusCode = statusCode;
    this.#headers = headers;
    return this;
  }

  /** Sends the head before there is a body. Throws a TypeError for what no head can carry, and then sends nothing; so do `write` and `end`. */
  flushHeaders(): void {
    if (this.headersSent || this.destroyed) return;
    this.#socket.write(this.#takeHead(undefined), "latin1");
  }

  /** Sends a part of the body; false where the caller has yet to take what it has. */
  write(text: string): boolean {
    if (this.writableEnded || this.destroyed) return false;
    const head = this.headersSent ? "" : this.#takeHead(undefined);
    const bytes = head + this.#part(text, "utf8");
    return bytes === "" || this.#socket.write(bytes);
  }

  /** Sends the rest of the body; as Latin-1 where it is known to have nothing else. */
  end(body = "", encoding: BodyEncoding = "utf8"): void {
    if (this.writableEnded || this.destroyed) return;
    const head = this.headersSent ? "" : this.#takeHead(Buffer.byteLength(body, encoding));
    const rest = head + this.#part(body, encoding) + (this.#isChunked ? "0\r\n\r\n" : "");
    this.writableEnded = true;
    if (rest !== "") this.#socket.write(rest, encoding);
    if (this.#socket.writableLength === 0) this.#finish();
    // Called when all that was written before is gone, or never will be.
    else this.#socket.write("", () => this.#finish());
  }

  /** Hears of the end, once and also where it is past; or of each time that all has left. */
  on(event: "close" | "drain", listener: Listener): this {
    if (this.#isOver) {
      if (event === "close") process.nextTick(listener);
    } else if (event === "close") {
      this.#onClose ??= [];
      this.#onClose.push(listener);
    } else {
      this.#onDrain ??= [];
      this.#onDrain.push(listener);
      this.#socket.on("drain", listener);
    }
    return this;
  }

  /** As `on`: it closes once, and whoever waits for more than one drain says so. */
  once(event: "close", listener: Listener): this {
    return this.on(event, listener);
  }

  /** Breaks off, and with it the connection. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** The connection is gone. */
  connectionClosed(): void {
    this.#over();
  }

  #finish(): void {
    // What went wrong ends the connection, and that is told soon.
    if (this.#socket.destroyed || this.#socket.errored !== null) return;
    this.writableFinished = true;
    this.#over();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const listener of this.#onDrain ?? []) this.#socket.off("drain", listener);
    try {
      for (const listener of this.#onClose ?? []) listener();
    } finally {
      this.#onEnd(this);
    }
  }

  #assertHeadIsOurs(): void {
    if (this.headersSent) throw new TypeError("The head of the answer has been sent. Say all of it before the body.");
  }

  /** What goes out for a part of the body. */
  #part(text: string, encoding: BodyEncoding): string {
    if (text === "" || isBodiless(this.statusCode)) return "";
    this.hasBody = true;
    if (!this.#isChunked) return text;
    return `${Buffer.byteLength(text, encoding).toString(16)}\r\n${text}\r\n`;
  }

  /** The head, which is out with that, of an answer whose body has so many bytes, or is sent in parts. */
  #takeHead(bodyBytes: number | undefined): string {
    const headers = this.#more === undefined ? this.#headers : joined(this.#more, this.#headers);
    const head = answerHead(this.statusCode, headers, bodyBytes);
    this.headersSent = true;
    this.isLast = head.isLast;
    this.#isChunked = head.isChunked;
    return head.text;
  }
}

function joined(more: OutgoingHttpHeaders, headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const all = { ...more };
  for (const name in headers) all[name.toLowerCase()] = headers[name];
  return all;
}
