import { AnswerDefect, malformed, SocketClosed } from "./answer-defect.js";
import { AnswerHead } from "./answer-head.js";
import { type BodyHandler, ChunkedBody } from "./chunked-body.js";

/** What comes of the bytes of an answer, in this order. */
export interface AnswerHandler extends BodyHandler {
  onHead(head: AnswerHead): void;
  /** The answer is over. `isClean` where the connection can be used for another: the server wants that, and said no more than it ought. */
  onEnd(isClean: boolean): void;
}

const beginning = "HTTP/1.";
const headEnd = Buffer.from("\r\n\r\n");
/** How long a head may be, in bytes, with those of answers that only announce one. */
const longestHead = 16 * 1024;

/** Takes the answers of HTTP/1.1 on one connection apart, one after the other. Of no use any more once it has thrown. */
export class AnswerParser {
  readonly #handler: AnswerHandler;
  #state: "idle" | "head" | "length" | "chunked" | "until-close" = "idle";
  #head: AnswerHead | undefined;
  /** The beginning of a head. */
  #rest: Buffer | undefined;
  /** What heads took so far. */
  #headBytes = 0;
  /** What is left of a body whose length was told. */
  #left = 0;
  #chunked: ChunkedBody | undefined;
  /** The head before, for those of one second are often the same. */
  #lastText = "";
  #lastHead: AnswerHead | undefined;

  constructor(handler: AnswerHandler) {
    this.#handler = handler;
  }

  /** A request was written: its answer is what comes next. */
  begin(): void {
    this.#state = "head";
    this.#headBytes = 0;
  }

  /** Throws an AnswerDefect. */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === "head") at = this.#takeHead(bytes, at);
      else if (this.#state === "length") at = this.#takeBody(bytes, at);
      else if (this.#state === "chunked") at = this.#takeChunks(bytes, at);
      else if (this.#state === "until-close") {
        this.#handler.onBody(at === 0 ? bytes : bytes.subarray(at));
        return;
      } else throw malformed("The server speaks without being asked.");
    }
  }

  /** The server ended the connection. Throws an AnswerDefect, or SocketClosed in the middle of an answer. */
  end(): void {
    if (this.#state === "until-close") {
      this.#state = "idle";
      this.#handler.onEnd(false);
    } else if (this.#state === "head" && this.#rest !== undefined && !beginning.startsWith(startOf(this.#rest))) {
      throw malformed("The answer does not begin as one of HTTP/1.1 does.");
    } else if (this.#state !== "idle") throw new SocketClosed("The server ended the connection.");
  }

  #takeHead(bytes: Buffer, start: number): number {
    const joined = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
    const from = this.#rest === undefined ? start : 0;
    // Only the end of what came before can be part of it.
    const end = joined.indexOf(headEnd, this.#rest === undefined ? start : Math.max(0, this.#rest.length - 3));
    const length = (end === -1 ? joined.length : end + headEnd.length) - from;
    const isTooLong = this.#headBytes + length > longestHead;
    if (end === -1 || isTooLong) {
      this.#rest = joined.subarray(from);
      if (!beginning.startsWith(startOf(this.#rest)))
        throw malformed("The answer does not begin as one of HTTP/1.1 does.");
      if (isTooLong) throw new AnswerDefect("head-too-large", "The head of the answer is too long.");
      return bytes.length;
    }
    const taken = end + headEnd.length - (joined.length - bytes.length);
    this.#rest = undefined;
    this.#headBytes += length;
    const head = this.#read(joined.toString("latin1", from, end));
    if (head.status === 101) throw malformed("The server speaks another protocol, which was not asked for.");
    if (head.status >= 200) this.#begin(head, taken === bytes.length);
    // What is below 200 only announces the answer, which the connection has to last for.
    else if (!head.isKeptAlive) throw malformed("The server announces an answer that cannot come.");
    return taken;
  }

  #read(text: string): AnswerHead {
    if (this.#lastHead === undefined || this.#lastText !== text) {
      this.#lastHead = new AnswerHead(text);
      this.#lastText = text;
    }
    return this.#lastHead;
  }

  #begin(head: AnswerHead, isAll: boolean): void {
    const { framing } = head;
    this.#head = head;
    this.#state = framing.kind;
    if (framing.kind === "chunked") this.#chunked = new ChunkedBody(this.#handler);
    this.#left = framing.kind === "length" ? framing.bytes : 0;
    this.#handler.onHead(head);
    if (framing.kind === "length" && framing.bytes === 0) this.#over(isAll);
  }

  #takeBody(bytes: Buffer, start: number): number {
    const end = Math.min(bytes.length, start + this.#left);
    this.#left -= end - start;
    this.#handler.onBody(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
    if (this.#left === 0) this.#over(end === bytes.length);
    return end;
  }

  #takeChunks(bytes: Buffer, start: number): number {
    const end = this.#chunked?.push(bytes, start) ?? bytes.length;
    if (this.#chunked?.isOver) this.#over(end === bytes.length);
    return end;
  }

  #over(isAll: boolean): void {
    const isClean = isAll && this.#head?.isKeptAlive === true;
    this.#state = "idle";
    this.#head = undefined;
    this.#chunked = undefined;
    this.#handler.onEnd(isClean);
  }
}

function startOf(bytes: Buffer): string {
  return bytes.toString("latin1", 0, beginning.length);
}
