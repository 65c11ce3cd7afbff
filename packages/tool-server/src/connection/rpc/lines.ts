import { type Excerpt, SkippedBytes } from "../../skipped-bytes.js";

/** Splits a stream of bytes into lines. */
export interface LineReader {
  push(chunk: Buffer): void;
  /** The input ended: the remaining bytes are the last line. */
  end(): void;
}

const lineFeed = 0x0a;
const minBytes = 64 * 1024;
const none: Buffer = Buffer.alloc(0);

/**
 * Calls `onLine` for each line that is not blank, without its line feed. `onTooLong` is called with the start of a line of more than
 * `limitBytes`; if it returns true, that line is skipped, else reading stops. `onSkipped` is called at the end of a skipped line, and with
 * empty strings if the line is so long that it may never end.
 */
export function createLineReader(
  limitBytes: number,
  onLine: (line: string) => void,
  onTooLong: (start: string) => unknown,
  onSkipped?: (line: Excerpt) => void,
): LineReader {
  // The beginning of a line whose end has not arrived. It grows by doubling, so that a line costs the same in however many
  // pieces it arrives.
  let held = none;
  let size = 0;
  let skipped: SkippedBytes | undefined;
  let isOver = false;

  /** Whether the line may grow by these bytes of a chunk. */
  const fits = (chunk: Buffer, start: number, end: number): boolean => {
    if (skipped === undefined) {
      if (size + end - start <= limitBytes) return true;
      skipped = new SkippedBytes(limitBytes);
      skipped.push(held.subarray(0, size));
      held = none;
      size = 0;
      skipped.push(chunk.subarray(start, end));
      isOver = onTooLong(skipped.excerpt.start) !== true;
    } else skipped.push(chunk.subarray(start, end));
    if (!isOver && onSkipped !== undefined && skipped.isEndless) {
      isOver = true;
      onSkipped({ start: "", end: "" });
    }
    return false;
  };
  const hold = (chunk: Buffer, start: number, end: number): void => {
    const needed = size + end - start;
    if (held.length < needed) {
      const larger = Buffer.allocUnsafe(Math.max(needed, Math.min(2 * held.length, limitBytes), minBytes));
      held.copy(larger, 0, 0, size);
      held = larger;
    }
    chunk.copy(held, size, start, end);
    size = needed;
  };
  const emit = (line: string): void => {
    if (line.trimEnd() !== "") onLine(line);
  };
  const emitHeld = (): void => {
    const line = held.toString("utf8", 0, size);
    held = none;
    size = 0;
    emit(line);
  };
  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(lineFeed); end !== -1 && !isOver; end = chunk.indexOf(lineFeed, start)) {
        if (fits(chunk, start, end)) {
          if (size === 0) emit(chunk.toString("utf8", start, end));
          else {
            hold(chunk, start, end);
            emitHeld();
          }
        }
        if (skipped !== undefined && !isOver) onSkipped?.(skipped.excerpt);
        skipped = undefined;
        start = end + 1;
      }
      if (!isOver && start < chunk.length && fits(chunk, start, chunk.length)) hold(chunk, start, chunk.length);
    },
    end() {
      if (!isOver && size > 0) emitHeld();
      isOver = true;
    },
  };
}
