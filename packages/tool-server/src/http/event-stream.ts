import { createParser } from "eventsource-parser";
import { ToolServerError } from "../errors.js";
import { type Excerpt, SkippedBytes } from "../skipped-bytes.js";
import { BytePieces } from "./byte-pieces.js";

export interface StreamEvent {
  /** The event type; default `message`. */
  readonly type: string;
  /** Its lines of data, joined by line feeds. */
  readonly data: string;
  /** The event's id; undefined if it has none, empty if it resets the last id. */
  readonly id: string | undefined;
}

export interface EventStreamOptions {
  /** The sender, as the subject of messages. Default: `The server`. */
  readonly subject?: string | undefined;
  /** The maximum size of an event, in bytes. */
  readonly limitBytes: number;
  /** Called for each event that has data, even empty data. */
  readonly onEvent: (event: StreamEvent) => void;
  /** Called when the stream sets the delay before reconnecting, in milliseconds. */
  readonly onRetry?: ((delayMs: number) => void) | undefined;
  /**
   * Called with the start and the end of a line of data above the limit, which is skipped. Returns whether parsing may continue.
   * Default: it may not.
   */
  readonly onTooLarge?: ((data: Excerpt) => boolean) | undefined;
}

/** Parses an event stream (`text/event-stream`), regardless of how it is split into chunks. */
export interface EventStreamParser {
  /** Parses the next chunk. Throws MESSAGE_TOO_LARGE for an event above the limit that is not skipped, and what `onEvent` throws. */
  push(chunk: Buffer): void;
}

const none = Buffer.alloc(0);
const [lineFeed, carriageReturn, byteOrderMark] = [0x0a, 0x0d, 0xfeff];
/** The maximum delay that is passed on: ten digits. */
const maxRetryMs = 9_999_999_999;

/** Creates a parser for one stream. An event that is cut off by the end of the stream is dropped. */
export function createEventStreamParser(options: EventStreamOptions): EventStreamParser {
  const { subject = "The server", limitBytes, onEvent, onRetry, onTooLarge } = options;
  /** The pieces of an incomplete line: the parser would keep each as a separate string. */
  const pending = new BytePieces();
  let pendingBytes = 0;
  let skipped: SkippedBytes | undefined;
  let isFirst = true;
  /** Whether the last line ended with a carriage return, whose line feed may follow. */
  let isAfterReturn = false;

  const fail = (): never => {
    const problem = `${subject} sent an event of more than ${limitBytes} bytes.`;
    const parts = { problem, advice: "Request less, or raise the limit." };
    throw new ToolServerError("MESSAGE_TOO_LARGE", parts, { details: { wasSent: true } });
  };
  const parser = createParser({
    maxBufferSize: limitBytes,
    onEvent({ event = "message", data, id }) {
      if (data.length <= limitBytes) onEvent({ type: event, data, id });
      else skipEvent(Buffer.from(data));
    },
    onRetry(delayMs) {
      if (delayMs <= maxRetryMs) onRetry?.(delayMs);
    },
    onError({ type }) {
      if (type === "max-buffer-size-exceeded") fail();
    },
  });
  const feed = (lines: Buffer): void => {
    const text = lines.toString("utf8");
    const start = isFirst && text.charCodeAt(0) === byteOrderMark ? 1 : 0;
    isFirst = false;
    isAfterReturn = lines.at(-1) === carriageReturn;
    // After a carriage return the parser waits for the next byte, which may belong to the next event.
    parser.feed(`${start === 0 ? text : text.slice(start)}${isAfterReturn ? "\n" : ""}`);
  };
  const skipEvent = (data: Buffer): void => {
    const whole = new SkippedBytes(limitBytes);
    whole.push(data);
    if (onTooLarge?.(whole.excerpt) !== true) fail();
  };
  const hold = (piece: Buffer): void => {
    pendingBytes += piece.length;
    pending.push(piece);
    if (pendingBytes > limitBytes) beginSkipping();
  };
  const beginSkipping = (): void => {
    if (onTooLarge === undefined) fail();
    skipped = new SkippedBytes(limitBytes);
    skipped.push(pending.take());
    pendingBytes = 0;
  };
  /** Skips to the end of a line that is too long. Returns what follows. */
  const skipLine = (chunk: Buffer, line: SkippedBytes): Buffer => {
    const end = endOfLine(chunk);
    line.push(chunk.subarray(0, end));
    if (line.isEndless) fail();
    if (end === chunk.length) return none;
    skipped = undefined;
    const { start, end: last } = line.excerpt;
    const data = /^data: ?/.exec(start)?.[0];
    if (data === undefined || onTooLarge?.({ start: start.slice(data.length), end: last }) !== true) fail();
    isAfterReturn = chunk[end] === carriageReturn && end + 1 === chunk.length;
    return chunk.subarray(chunk[end] === carriageReturn && chunk[end + 1] === lineFeed ? end + 2 : end + 1);
  };

  return {
    push(piece) {
      let chunk = isAfterReturn && piece[0] === lineFeed ? piece.subarray(1) : piece;
      if (piece.length > 0) isAfterReturn = false;
      if (!pending.isEmpty && pendingBytes + endOfLine(chunk) > limitBytes) beginSkipping();
      if (skipped !== undefined) chunk = skipLine(chunk, skipped);
      if (chunk.length === 0) return;
      const end = Math.max(chunk.lastIndexOf(lineFeed), chunk.lastIndexOf(carriageReturn)) + 1;
      if (end === 0) return hold(chunk);
      const lines = chunk.subarray(0, end);
      if (pending.isEmpty) feed(lines);
      else {
        pending.push(lines);
        feed(pending.take());
      }
      pendingBytes = 0;
      if (end === chunk.length) return;
      isAfterReturn = false;
      hold(chunk.subarray(end));
    },
  };
}

/** The index of the first end of a line, or the length. */
function endOfLine(chunk: Buffer): number {
  const end = chunk.indexOf(lineFeed);
  const line = end === -1 ? chunk : chunk.subarray(0, end);
  const other = line.indexOf(carriageReturn);
  return other === -1 ? line.length : other;
}
