import type { Writable } from "node:stream";
import type { TransportLife } from "./transport-life.js";

/** Writes messages to a child process, one per line. */
export interface LineWriter {
  /** Writes a line, at the end of the turn by default. Resolves when it is written. Rejects if the transport ends first. */
  write(line: string, isUrgent?: boolean): Promise<void>;
  /** Writes the waiting lines now. */
  flush(): void;
}

export interface LineWriterOptions {
  readonly stdin: Writable;
  readonly life: Pick<TransportLife, "whileOpen" | "isOver">;
  readonly onWritten: (lines: number) => void;
  /** The child no longer reads. */
  readonly onBroken: () => void;
}

/** The number of waiting characters above which they are written at once. */
const maxWaiting = 64 * 1024;

/**
 * Writes all lines of one turn of the event loop together, because a write and the wake-up of the reader cost more than the rest
 * of a small message.
 */
export function createLineWriter({ stdin, life, onWritten, onBroken }: LineWriterOptions): LineWriter {
  let waiting = "";
  let lines = 0;
  let written: Promise<void> | undefined;
  let resolve: () => void = () => {};
  const begin = (done: () => void): void => {
    resolve = done;
  };

  const flush = (): void => {
    if (written === undefined) return;
    const [text, count, done] = [waiting, lines, resolve];
    waiting = "";
    lines = 0;
    written = undefined;
    stdin.write(text, (error) => {
      if (life.isOver) return;
      // Callers are rejected when the transport ends, with its reason.
      if (error != null) onBroken();
      // If the child has exited meanwhile, Node destroys the pipe and reports no error.
      else if (!stdin.destroyed) {
        onWritten(count);
        done();
      }
    });
  };

  return {
    write(line, isUrgent = false) {
      if (written === undefined) {
        written = life.whileOpen(begin);
        if (!isUrgent) setImmediate(flush);
      }
      const mine = written;
      waiting += `${line}\n`;
      lines += 1;
      if (isUrgent || waiting.length > maxWaiting) flush();
      return mine;
    },
    flush,
  };
}
