import { createParser } from "eventsource-parser";
import { ToolServerError } from "../errors.js";
import { BytePieces } from "./byte-pieces.js";

/** One event of an event stream. */
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
}

/** Parses an event stream (`text/event-stream`), regardless of how it is split into chunks. */
export interface EventStreamParser {
  /** Parses the next chunk. Throws MESSAGE_TOO_LARGE for an event above the limit, and what `onEvent` throws. */
  push(chunk: Buffer): void;
}

const [lineFeed, carriageReturn, byteOrderMark] = [0x0a, 0x0d, 0xfeff];
/** The maximum delay that is passed on: ten digits. */
const maxRetryMs = 9_999_999_999;

/** Creates a parser for one stream. An event that is cut off by the end of the stream is dropped. */
export function createEventStreamParser(options: EventStreamOptions): EventStreamParser {
  const { subject = "The server", limitBytes, onEvent, onRetry } = options;
  /** The pieces of an incomplete line: the parser would keep each as a string of its own. */
  const pending = new BytePieces();
  let pendingBytes = 0;
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
      if (data.length > limitBytes) fail();
      onEvent({ type: event, data, id });
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
  const hold = (piece: Buffer): void => {
    pendingBytes += piece.length;
    if (pendingBytes > limitBytes) fail();
    pending.push(piece);
  };

  return {
    push(piece) {
      const chunk = isAfterReturn && piece[0] === lineFeed ? piece.subarray(1) : piece;
      if (piece.length > 0) isAfterReturn = false;
      if (chunk.length === 0) return;
      const end = Math.max(chunk.lastIndexOf(lineFeed), chunk.lastIndexOf(carriageReturn)) + 1;
      if (end === 0) return hold(chunk);
      const lines = chunk.subarray(0, end);
      if (pending.isEmpty) feed(lines);
      else {
        hold(lines);
        feed(pending.take());
      }
      pendingBytes = 0;
      if (end === chunk.length) return;
      isAfterReturn = false;
      hold(chunk.subarray(end));
    },
  };
}
