import { ToolServerError } from "../errors.js";
import { BytePieces } from "./byte-pieces.js";

/** One event of an event stream. */
export interface StreamEvent {
  /** Its type: `message` where the stream names none. */
  readonly type: string;
  /** Its lines of data, joined by line feeds; empty where it had none. */
  readonly data: string;
  /** Its own id; undefined where it has none, empty where it takes back the last one. */
  readonly id: string | undefined;
}

export interface EventStreamOptions {
  /** Whose stream it is, as messages begin with it. Default: `The server`. */
  readonly subject?: string | undefined;
  /** The largest event that is read, in bytes. */
  readonly limitBytes: number;
  /** Called for each event that has data or an id. */
  readonly onEvent: (event: StreamEvent) => void;
  /** Called where the stream says how long to wait before coming back, in milliseconds. */
  readonly onRetry?: ((delayMs: number) => void) | undefined;
}

/** Reads an event stream (the `text/event-stream` of HTML), however it is cut into pieces. */
export interface EventStreamParser {
  /** Takes the next piece. Throws MESSAGE_TOO_LARGE for an event past the limit, and what `onEvent` throws. */
  push(chunk: Buffer): void;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const colon = 0x3a;
const dataField: Buffer = Buffer.from("data:", "latin1");
const byteOrderMark: Buffer = Buffer.from([0xef, 0xbb, 0xbf]);

/** A parser at the start of a stream. An event that the end of the stream cuts off is dropped. */
export function createEventStreamParser(options: EventStreamOptions): EventStreamParser {
  const { subject = "The server", limitBytes, onEvent, onRetry } = options;
  /** The pieces of a line whose end has not come. */
  const pending = new BytePieces();
  /** How large the event is so far, with the line that is pending. */
  let eventBytes = 0;
  let isAfterReturn = false;
  let isFirstLine = true;
  let type = "";
  let id: string | undefined;
  let data: string | undefined;

  const count = (bytes: number): void => {
    eventBytes += bytes;
    if (eventBytes > limitBytes) {
      const message = `${subject} sent an event of more than ${limitBytes} bytes. Ask for less, or raise the limit.`;
      throw new ToolServerError("MESSAGE_TOO_LARGE", message, { details: { wasSent: true } });
    }
  };

  const addData = (value: string): void => {
    data = data === undefined ? value : `${data}\n${value}`;
  };

  const dispatch = (): void => {
    const event =
      data === undefined && id === undefined ? undefined : { type: type || "message", data: data ?? "", id };
    type = "";
    id = undefined;
    data = undefined;
    eventBytes = 0;
    if (event !== undefined) onEvent(event);
  };

  const readField = (text: string): void => {
    const at = text.indexOf(":");
    const name = at === -1 ? text : text.slice(0, at);
    const value = at === -1 ? "" : text.slice(text.charCodeAt(at + 1) === space ? at + 2 : at + 1);
    if (name === "data") addData(value);
    else if (name === "event") type = value;
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d{1,10}$/.test(value)) onRetry?.(Number(value));
  };

  /** A whole line, from `start` to before `end`. */
  const readLine = (bytes: Buffer, from: number, end: number): void => {
    let start = from;
    if (isFirstLine) {
      isFirstLine = false;
      if (bytes.subarray(start, start + 3).equals(byteOrderMark)) start += 3;
    }
    if (start === end) {
      dispatch();
      return;
    }
    if (bytes[start] === colon) {
      // A comment is part of no event, and keeps a stream alive for days.
      eventBytes -= end - from;
      return;
    }
    // By far the most common, and the only one that is large: nothing but its value becomes text.
    if (end - start >= 5 && bytes.compare(dataField, 0, 5, start, start + 5) === 0) {
      addData(bytes.toString("utf8", bytes[start + 5] === space && start + 5 < end ? start + 6 : start + 5, end));
    } else {
      readField(bytes.toString("utf8", start, end));
    }
  };

  return {
    push(chunk) {
      let start = 0;
      if (isAfterReturn && chunk.length > 0) {
        isAfterReturn = false;
        if (chunk[0] === lineFeed) start = 1;
      }
      let feed = chunk.indexOf(lineFeed, start);
      let ret = chunk.indexOf(carriageReturn, start);
      while (feed !== -1 || ret !== -1) {
        const end = ret === -1 || (feed !== -1 && feed < ret) ? feed : ret;
        count(end - start);
        if (pending.isEmpty) {
          readLine(chunk, start, end);
        } else {
          pending.push(chunk.subarray(start, end));
          const line = pending.take();
          readLine(line, 0, line.length);
        }
        start = end + 1;
        if (end === ret) {
          if (start === chunk.length) isAfterReturn = true;
          else if (chunk[start] === lineFeed) start += 1;
          ret = chunk.indexOf(carriageReturn, start);
        }
        if (feed !== -1 && feed < start) feed = chunk.indexOf(lineFeed, start);
      }
      if (start < chunk.length) {
        count(chunk.length - start);
        pending.push(start === 0 ? chunk : chunk.subarray(start));
      }
    },
  };
}
