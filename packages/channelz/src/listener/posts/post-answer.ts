import { type OutgoingHttpHeaders, STATUS_CODES, validateHeaderName } from "node:http";
import type { Socket } from "node:net";
import { httpDate } from "./http-date.js";

/** Hears that an answer is out, or never will be. */
export type OnAnswerEnd = (answer: PostAnswer) => void;

type Listener = () => void;
type BodyEncoding = "utf8" | "latin1";

/** The same in every encoding. */
const isHeaderValue = /^[\t\x20-\x7e]*$/;

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

  setHeader(name: string, value: string | number): void {
    this.#more ??= {};
    this.#more[name] = value;
  }

  writeHead(statusCode: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = statusCode;
    this.#headers = headers;
    return this;
  }

  /** Sends the head before there is a body. */
  flushHeaders(): void {
    if (this.headersSent || this.destroyed) return;
    this.#socket.write(this.#head(undefined), "latin1");
  }

  /** Sends a part of the body; false where the caller has yet to take what it has. */
  write(text: string): boolean {
    if (this.writableEnded || this.destroyed) return false;
    if (text === "") return true;
    this.hasBody = true;
    const head = this.headersSent ? "" : this.#head(undefined);
    return this.#socket.write(head + this.#part(text));
  }

  /** Sends the rest of the body; as Latin-1 where it is known to have nothing else. */
  end(body = "", encoding: BodyEncoding = "utf8"): void {
    if (this.writableEnded || this.destroyed) return;
    this.writableEnded = true;
    this.hasBody ||= body !== "";
    const rest = this.headersSent
      ? this.#part(body, encoding) + (this.#isChunked ? "0\r\n\r\n" : "")
      : this.#head(Buffer.byteLength(body, encoding)) + body;
    this.#socket.write(rest, encoding);
    if (this.#socket.writableLength === 0) this.#finish();
    // Called when all that was written before is gone.
    else this.#socket.write("", () => this.#finish());
  }

  on(event: "close" | "drain", listener: Listener): this {
    if (event === "close") {
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
    if (this.#socket.destroyed) return;
    this.writableFinished = true;
    this.#over();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const listener of this.#onDrain ?? []) this.#socket.off("drain", listener);
    for (const listener of this.#onClose ?? []) listener();
    this.#onEnd(this);
  }

  #part(text: string, encoding: BodyEncoding = "utf8"): string {
    if (text === "" || !this.#isChunked) return text;
    return `${Buffer.byteLength(text, encoding).toString(16)}\r\n${text}\r\n`;
  }

  /** The head of an answer whose body has so many bytes, or is sent in parts. */
  #head(bodyBytes: number | undefined): string {
    this.headersSent = true;
    const { statusCode } = this;
    let head = `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode] ?? ""}\r\n`;
    let hasLength = statusCode === 204 || statusCode === 304;
    const headers = this.#more === undefined ? this.#headers : { ...this.#more, ...this.#headers };
    for (const name in headers) {
      const value = String(headers[name] ?? "");
      validateHeaderName(name);
      if (!isHeaderValue.test(value)) throw new TypeError(`The header ${name} has characters that it cannot carry.`);
      if (name === "content-length") hasLength = true;
      if (name === "connection") this.isLast = value === "close";
      head += `${name}: ${value}\r\n`;
    }
    if (!hasLength && bodyBytes === undefined) this.#isChunked = true;
    if (this.#isChunked) head += "transfer-encoding: chunked\r\n";
    else if (!hasLength) head += `content-length: ${bodyBytes}\r\n`;
    return `${head}date: ${httpDate()}\r\n\r\n`;
  }
}
