import type { Duplex } from "node:stream";
import { BytePieces } from "../../http/byte-pieces.js";
import { type Excerpt, maxSkippedBytes, SkippedBytes } from "../../skipped-bytes.js";

/**
 * Removes messages above the limit from what a socket receives after the upgrade to WebSocket: `ws` ends the connection at such a
 * message. `onSkipped` is called with each, and with empty strings if one is so large that it may never end. Protocol
 * violations pass, and `ws` reports them.
 */
export function skipLargeMessages(socket: Duplex, limitBytes: number, onSkipped: (message: Excerpt) => void): void {
  const filter = new FrameFilter(limitBytes, onSkipped);
  const push = socket.push.bind(socket);
  // Every byte that a stream receives passes its `push`. A stream in between would copy each message twice.
  socket.push = (chunk, encoding) => {
    if (!Buffer.isBuffer(chunk)) return push(chunk, encoding);
    const passed = filter.push(chunk);
    return passed.length === 0 || push(passed);
  };
}

/** A frame whose payload is arriving, and what happens to it. */
interface Frame {
  readonly action: "pass" | "hold" | "skip";
  readonly isEndOfMessage: boolean;
  /** How many bytes of the payload are missing. */
  left: number;
}

/** A message in several frames, or one that is skipped. */
interface OpenMessage {
  /** Its size with the headers of its frames. */
  bytes: number;
  /** Held until it is known that the message is not too large. */
  readonly frames: BytePieces;
  readonly payload: SkippedBytes;
}

const endOfHeaders = "\r\n\r\n";
const maxResponseBytes = 64 * 1024;
const none: Buffer = Buffer.alloc(0);

/** Reads frames as RFC 6455, section 5.2, describes them. */
class FrameFilter {
  readonly #limitBytes: number;
  readonly #onSkipped: (message: Excerpt) => void;
  /** `transparent`: everything passes. */
  #phase: "response" | "frames" | "transparent" = "response";
  /** The incomplete headers of the response or of a frame. */
  #headers = none;
  #frame: Frame | undefined;
  #message: OpenMessage | undefined;
  #passed: Buffer[] = [];

  constructor(limitBytes: number, onSkipped: (message: Excerpt) => void) {
    this.#limitBytes = limitBytes;
    this.#onSkipped = onSkipped;
  }

  /** Returns the bytes of a received chunk that pass, and the held bytes that pass with them. */
  push(chunk: Buffer): Buffer {
    let rest = this.#phase === "response" ? this.#readResponse(chunk) : chunk;
    while (rest.length > 0 && this.#phase === "frames") {
      rest = this.#frame === undefined ? this.#readHeader(rest) : this.#readPayload(rest, this.#frame);
    }
    const passed = rest.length === 0 ? this.#passed : [...this.#passed, rest];
    this.#passed = [];
    return passed.length === 1 && passed[0] !== undefined ? passed[0] : Buffer.concat(passed);
  }

  /** Reads the response to the upgrade, which passes. Returns what follows it. */
  #readResponse(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([this.#headers, chunk]);
    const end = bytes.indexOf(endOfHeaders);
    if (end === -1) {
      this.#headers = bytes;
      if (bytes.length > maxResponseBytes) this.#phase = "transparent";
      this.#passed.push(chunk);
      return none;
    }
    this.#headers = none;
    const rest = bytes.subarray(end + endOfHeaders.length);
    this.#passed.push(chunk.subarray(0, chunk.length - rest.length));
    const [, status = ""] = /^HTTP\/1\.1 (\d{3})/.exec(bytes.toString("latin1", 0, 12)) ?? [];
    if (status === "101") this.#phase = "frames";
    // Any other interim response is followed by one more.
    else if (status.startsWith("1")) return this.#readResponse(rest);
    else this.#phase = "transparent";
    return rest;
  }

  #readHeader(chunk: Buffer): Buffer {
    const bytes = this.#headers.length === 0 ? chunk : Buffer.concat([this.#headers, chunk]);
    const [first = 0, second = 0] = bytes;
    const shortLength = second & 0x7f;
    const [isLast, isControl, isFirst] = [(first & 0x80) !== 0, (first & 0x08) !== 0, (first & 0x0f) !== 0];
    // Before the rest of the header arrives, which it may never do.
    if (bytes.length >= 2) {
      const isMasked = (second & 0x80) !== 0;
      const hasReservedBits = (first & 0x70) !== 0;
      const isOutOfOrder = !isControl && isFirst !== (this.#message === undefined);
      if (isMasked || hasReservedBits || isOutOfOrder) return this.#passEverything(bytes);
    }
    const headerBytes = shortLength === 127 ? 10 : shortLength === 126 ? 4 : 2;
    if (bytes.length < headerBytes) {
      this.#headers = Buffer.from(bytes);
      return none;
    }
    this.#headers = none;
    const header = bytes.subarray(0, headerBytes);
    const left =
      shortLength === 127
        ? Number(header.readBigUInt64BE(2))
        : shortLength === 126
          ? header.readUInt16BE(2)
          : shortLength;
    if (isControl || (isFirst && isLast && left <= this.#limitBytes)) {
      this.#frame = { action: "pass", isEndOfMessage: false, left };
      this.#passed.push(header);
    } else if (!this.#continueMessage(header, left, isLast)) return none;
    if (left === 0 && this.#frame !== undefined) this.#endFrame(this.#frame);
    return bytes.subarray(headerBytes);
  }

  /** False if the message may never end. */
  #continueMessage(header: Buffer, left: number, isEndOfMessage: boolean): boolean {
    this.#message ??= { bytes: 0, frames: new BytePieces(), payload: new SkippedBytes(this.#limitBytes) };
    const message = this.#message;
    message.bytes += header.length + left;
    const isTooLarge = message.bytes > this.#limitBytes;
    this.#frame = { action: isTooLarge ? "skip" : "hold", isEndOfMessage, left };
    if (!isTooLarge) message.frames.push(header);
    else if (!message.frames.isEmpty) message.frames.take();
    if (message.bytes <= maxSkippedBytes(this.#limitBytes)) return true;
    this.#phase = "transparent";
    this.#onSkipped({ start: "", end: "" });
    return false;
  }

  #readPayload(chunk: Buffer, frame: Frame): Buffer {
    const piece = chunk.subarray(0, frame.left);
    frame.left -= piece.length;
    if (frame.action === "pass") this.#passed.push(piece);
    else {
      this.#message?.payload.push(piece);
      if (frame.action === "hold") this.#message?.frames.push(piece);
    }
    if (frame.left === 0) this.#endFrame(frame);
    return chunk.subarray(piece.length);
  }

  #endFrame({ action, isEndOfMessage }: Frame): void {
    this.#frame = undefined;
    const message = this.#message;
    if (!isEndOfMessage || message === undefined) return;
    this.#message = undefined;
    if (action === "skip") this.#onSkipped(message.payload.excerpt);
    else this.#passed.push(message.frames.take());
  }

  /** Everything passes from here. */
  #passEverything(rest: Buffer): Buffer {
    this.#phase = "transparent";
    if (this.#message !== undefined) this.#passed.push(this.#message.frames.take());
    return rest;
  }
}
