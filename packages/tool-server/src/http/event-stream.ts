import { createParser } from "eventsource-parser";
import { ToolServerError } from "../errors.js";
import { BytePieces } from "./byte-pieces.js";

/** One event of an event stream. */
export interface StreamEvent {
  /** Its type: `message` if the stream names none. */
  readonly type: string;
  /** Its lines of data, joined by line feeds. */
  readonly data: string;
  /** Its own id; undefined if it has none, empty if it takes back the last one. */
  readonly id: string | undefined;
}

export interface EventStreamOptions {
  /** Whose stream it is, as messages begin with it. Default: `The server`. */
  readonly subject?: string | undefined;
  /** The largest event that is read, in bytes. */
  readonly limitBytes: number;
  /** Called for each event that has data, also if that is empty. */
  readonly onEvent: (event: StreamEvent) => void;
  /** Called when the stream says how long to wait before reconnecting, in milliseconds. */
  readonly onRetry?: ((delayMs: number) => void) | undefined;
}

/** Reads an event stream (the `text/event-stream` of HTML), however it is cut into pieces. */
export interface EventStreamParser {
  /** Takes the next piece. Throws MESSAGE_TOO_LARGE for an event past the limit, and what `onEvent` throws. */
  push(chunk: Buffer): void;
}

const [lineFeed, carriageReturn, byteOrderMark] = [0x0a, 0x0d, 0xfeff];
/** The longest wait that is passed on has ten digits. */
const maxRetryMs = 9_999_999_999;

/** A parser at the start of a stream. An event that the end of the stream cuts off is dropped. */
export function createEventStreamParser(options: EventStreamOptions): EventStreamParser {
  const { subject = "The server", limitBytes, onEvent, onRetry } = options;
  /** The pieces of a line whose end has not come: the parser would keep each as a string, however short it is. */
  const pending = new BytePieces();
  let pendingBytes = 0;
  let isFirst = true;
  /** Whether the last line ended with a carriage return, whose line feed may follow. */
  let isAfterReturn = false;

  const fail = (): never => {
    const problem = `${subject} sent an event of more than ${limitBytes} bytes.`;
    const parts = { problem, advice: "Ask for less, or raise the limit." };
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
    // The parser waits for what follows a carriage return, which may be the next event.
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
