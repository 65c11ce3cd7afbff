/** Cuts what a child writes into lines. */
export interface LineReader {
  push(chunk: Buffer): void;
  /** The output ended: what is left is the last line. */
  end(): void;
}

const lineFeed = 0x0a;
const leastBytes = 64 * 1024;
const none: Buffer = Buffer.alloc(0);

/**
 * Calls `onLine` for each line that is not blank, without its line feed; `onTooLong` once, for the first of more than
 * `limitBytes`, and nothing after that.
 */
export function createLineReader(
  limitBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): LineReader {
  // The beginning of a line whose end has not come. It grows by doubling, so that a line costs the same in however many
  // pieces it comes.
  let held = none;
  let size = 0;
  let isOver = false;

  /** Whether the line may go on by so many bytes. */
  const fits = (more: number): boolean => {
    if (size + more <= limitBytes) return true;
    isOver = true;
    held = none;
    onTooLong();
    return false;
  };
  const hold = (chunk: Buffer, start: number, end: number): void => {
    const needed = size + end - start;
    if (held.length < needed) {
      const larger = Buffer.allocUnsafe(Math.max(needed, Math.min(2 * held.length, limitBytes), leastBytes));
      held.copy(larger, 0, 0, size);
      held = larger;
    }
    chunk.copy(held, size, start, end);
    size = needed;
  };
  const tell = (line: string): void => {
    if (line.trimEnd() !== "") onLine(line);
  };
  const tellHeld = (): void => {
    const line = held.toString("utf8", 0, size);
    held = none;
    size = 0;
    tell(line);
  };
  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(lineFeed); end !== -1 && !isOver; end = chunk.indexOf(lineFeed, start)) {
        if (!fits(end - start)) return;
        if (size === 0) tell(chunk.toString("utf8", start, end));
        else {
          hold(chunk, start, end);
          tellHeld();
        }
        start = end + 1;
      }
      if (!isOver && start < chunk.length && fits(chunk.length - start)) hold(chunk, start, chunk.length);
    },
    end() {
      if (!isOver && size > 0) tellHeld();
      isOver = true;
    },
  };
}
