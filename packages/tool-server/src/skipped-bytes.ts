/** The start and the end of a message that was skipped because it is too large. */
export interface Excerpt {
  readonly start: string;
  readonly end: string;
}

/** How many bytes of the start and of the end are kept. */
const excerptBytes = 256;

/** A message that is skipped while it arrives: its size, its start and its end. */
export class SkippedBytes {
  readonly #maxBytes: number;
  #start: Buffer = Buffer.alloc(0);
  #end: Buffer = Buffer.alloc(0);
  #size = 0;

  constructor(limitBytes: number) {
    this.#maxBytes = 16 * limitBytes;
  }

  /** Whether it is so large that it may never end. */
  get isEndless(): boolean {
    return this.#size > this.#maxBytes;
  }

  get excerpt(): Excerpt {
    return { start: this.#start.toString(), end: this.#end.toString() };
  }

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    // `concat` copies: a slice would keep the whole chunk in memory.
    if (this.#start.length < excerptBytes) {
      this.#start = Buffer.concat([this.#start, chunk.subarray(0, excerptBytes - this.#start.length)]);
    }
    this.#end = Buffer.concat([this.#end, chunk.subarray(-excerptBytes)]).subarray(-excerptBytes);
  }
}
