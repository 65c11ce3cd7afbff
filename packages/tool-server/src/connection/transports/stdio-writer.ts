import type { Writable } from "node:stream";
import type { TransportLife } from "./transport-life.js";

/** Writes messages to a child, a line each. */
export interface LineWriter {
  /** Resolves when it is written. Rejects where the transport ends before that. */
  write(line: string): Promise<void>;
  /** Writes now what waits. */
  flush(): void;
}

export interface LineWriterOptions {
  readonly stdin: Writable;
  readonly life: Pick<TransportLife, "whileOpen" | "isOver">;
  /** So many were written. */
  readonly onWritten: (lines: number) => void;
  /** The child does not read any more. */
  readonly onBroken: () => void;
}

/** What waits no longer than that it is so much, in characters. */
const maxWaiting = 64 * 1024;

/**
 * Writes the lines of one turn of the event loop together, for to write and to be waked by it costs both sides more than the rest
 * of a small message does. Where there is but one, it waits for the end of the turn, which is a few microseconds away.
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
      // Whoever waits is rejected with the end of the transport, which knows why.
      if (error != null) onBroken();
      // Where the child ended meanwhile, Node destroys the pipe and tells no error.
      else if (!stdin.destroyed) {
        onWritten(count);
        done();
      }
    });
  };

  return {
    write(line) {
      if (written === undefined) {
        written = life.whileOpen(begin);
        setImmediate(flush);
      }
      const mine = written;
      waiting += `${line}\n`;
      lines += 1;
      if (waiting.length > maxWaiting) flush();
      return mine;
    },
    flush,
  };
}
