import { malformed } from "./answer-defect.js";

/** What comes of a body in chunks. */
export interface BodyHandler {
  /** A piece of it; never empty. */
  onBody(piece: Buffer): void;
}

const [cr, lf] = [0x0d, 0x0a];
/** The size, and what is said of the chunk: names, each with a value, in quotes or not. */
const size =
  /^([0-9a-fA-F]{1,12})(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*$/;
/** A header after the body; none that would have said where it ends. */
const trailer = /^(?!content-length:|transfer-encoding:)[!#$%&'*+.^_`|~0-9a-z-]+:[\t\x20-\x7e\x80-\xff]*$/i;
/** How long the line of a size may be, with what is said of the chunk, and how long all trailers may be, in bytes. */
const [longestSize, longestTrailers] = [1024, 16 * 1024];

/** Takes a body in chunks apart. What is said of chunks, and what comes after the last, is passed over. */
export class ChunkedBody {
  readonly #handler: BodyHandler;
  #state: "size" | "data" | "data-end" | "trailers" | "over" = "size";
  /** What is left of a chunk, in bytes. */
  #left = 0;
  /** The beginning of a line. */
  #line = "";
  #trailerBytes = 0;

  constructor(handler: BodyHandler) {
    this.#handler = handler;
  }

  get isOver(): boolean {
    return this.#state === "over";
  }

  /** Takes in bytes from `start` on. Returns where it stopped: at the end of the bytes, or that of the body. Throws an AnswerDefect. */
  push(bytes: Buffer, start: number): number {
    let at = start;
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    try {
      while (at < bytes.length && this.#state !== "over") {
        if (this.#state === "data") {
          const end = Math.min(bytes.length, at + this.#left);
          this.#left -= end - at;
          if (this.#left === 0) this.#state = "data-end";
          const data = bytes.subarray(at, end);
          at = end;
          if (first === undefined) first = data;
          else if (more === undefined) more = [first, data];
          else more.push(data);
          continue;
        }
        const end = bytes.indexOf(lf, at);
        const stop = end === -1 ? bytes.length : end + 1;
        this.#line += bytes.toString("latin1", at, stop);
        at = stop;
        if (end === -1) this.#bound();
        else this.#take(this.#wholeLine());
      }
    } finally {
      // In one piece: a server could else make a thousand of a few bytes, each of which takes a hundred times its length, and keeps all bytes.
      if (first !== undefined) this.#handler.onBody(more === undefined ? first : Buffer.concat(more));
    }
    return at;
  }

  #wholeLine(): string {
    this.#bound();
    const line = this.#line;
    this.#line = "";
    if (line.charCodeAt(line.length - 2) !== cr) throw malformed("A line of the body in chunks has a wrong end.");
    return line.slice(0, -2);
  }

  #bound(): void {
    const most =
      this.#state === "trailers" ? longestTrailers - this.#trailerBytes : this.#state === "size" ? longestSize : 2;
    if (this.#line.length > most) throw malformed("A line of the body in chunks is too long.");
  }

  #take(line: string): void {
    if (this.#state === "data-end") {
      if (line !== "") throw malformed("A chunk of the body is longer than it said.");
      this.#state = "size";
    } else if (this.#state === "size") {
      const found = size.exec(line);
      if (found === null) throw malformed("The size of a chunk of the body is not a number.");
      this.#left = Number.parseInt(found[1] ?? "", 16);
      this.#state = this.#left === 0 ? "trailers" : "data";
    } else if (line === "") {
      this.#state = "over";
    } else {
      if (!trailer.test(line)) throw malformed("What follows the last chunk is not of the form that headers have.");
      this.#trailerBytes += line.length + 2;
    }
  }
}
