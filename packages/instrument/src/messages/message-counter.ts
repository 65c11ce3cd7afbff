import { type BodyShape, statusFlagOf } from "./body-shape.js";

const envelopeBytes = 5;
/** A longer status is not parsed. */
const maxStatusBytes = 64 * 1024;

/**
 * Counts the messages of a body while it is streamed: by message, not by frame or chunk. It buffers only the status envelope, and
 * is reused for other bodies.
 */
export class MessageCounter {
  #shape: BodyShape = "whole";
  /** The number of bytes of the envelope header so far, and the message length they contain. */
  #headerBytes = 0;
  #length = 0;
  /** Remaining bytes of the message. */
  #missing = 0;
  #isStatus = false;
  #hasBody = false;
  #status: Buffer | undefined;

  begin(shape: BodyShape): void {
    this.#shape = shape;
    this.#headerBytes = 0;
    this.#length = 0;
    this.#missing = 0;
    this.#isStatus = false;
    this.#hasBody = false;
    this.#status = undefined;
  }

  /** The content of the status envelope, if the body ended with one. */
  get status(): string | undefined {
    return this.#status?.toString();
  }

  /** Adds the next bytes, and returns how many messages they complete. */
  add(chunk: Uint8Array): number {
    if (chunk.length > 0) this.#hasBody = true;
    if (!hasEnvelopes(this.#shape)) return 0;
    let completed = 0;
    let at = 0;
    while (at < chunk.length) {
      if (this.#headerBytes < envelopeBytes) {
        const byte = chunk[at]!;
        at += 1;
        if (this.#headerBytes === 0) this.#isStatus = (byte & statusFlagOf(this.#shape)) !== 0;
        else this.#length = this.#length * 256 + byte;
        this.#headerBytes += 1;
        if (this.#headerBytes < envelopeBytes) continue;
        this.#missing = this.#length;
      } else {
        const taken = Math.min(this.#missing, chunk.length - at);
        if (this.#isStatus) this.#keepStatus(chunk.subarray(at, at + taken));
        at += taken;
        this.#missing -= taken;
      }
      if (this.#missing === 0) {
        if (!this.#isStatus) completed += 1;
        this.#headerBytes = 0;
        this.#length = 0;
      }
    }
    return completed;
  }

  /** The body ended properly. Returns 1 if the body itself is a message, otherwise 0. */
  end(): number {
    return this.#shape === "unary" || (this.#shape === "whole" && this.#hasBody) ? 1 : 0;
  }

  #keepStatus(bytes: Uint8Array): void {
    if (this.#length > maxStatusBytes) return;
    this.#status = this.#status === undefined ? Buffer.from(bytes) : Buffer.concat([this.#status, bytes]);
  }
}

function hasEnvelopes(shape: BodyShape): boolean {
  return shape === "grpc" || shape === "grpc-web" || shape === "connect-stream";
}
