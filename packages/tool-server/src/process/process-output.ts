import { once } from "node:events";
import type { Readable } from "node:stream";
import { systemClock, waitAtMost } from "../clock.js";
import { printableText } from "../printable-text.js";

/** How long a pipe may stay open once its group is gone. */
const drainMs = 250;

/**
 * Waits for the end of a pipe that is being read and whose writers have ended, then closes it. What they wrote is in it by
 * now; a daemon that left the group may hold it open for ever.
 */
export async function drain(pipe: Readable): Promise<void> {
  if (pipe.closed) return;
  const controller = new AbortController();
  await waitAtMost(systemClock, drainMs, once(pipe, "close", { signal: controller.signal }));
  controller.abort();
  pipe.destroy();
}

const keptBytes = 32 * 1024;
const keptLines = 20;
const keptLineLength = 500;

/** The last lines of an output, in bounded memory. */
interface LastLines {
  add(chunk: Uint8Array): void;
  /** At most 20 lines of at most 500 characters, oldest first: without secrets, and safe to show. */
  read(redact: (text: string) => string): readonly string[];
}

/**
 * Keeps the last 32 KiB of an output. Whole lines alone are told, and secrets are taken out before anything is cut, so
 * that no part of a secret stays because the rest of it is gone.
 */
export function createLastLines(): LastLines {
  let chunks: Uint8Array[] = [];
  let size = 0;
  let isCut = false;
  return {
    add(chunk) {
      chunks.push(chunk);
      size += chunk.length;
      // Joining at twice the bound, not at each chunk, keeps the cost linear.
      if (size <= 2 * keptBytes) return;
      chunks = [Buffer.concat(chunks).subarray(-keptBytes)];
      size = keptBytes;
      isCut = true;
    },
    read(redact) {
      let bytes = Buffer.concat(chunks);
      let lostStart = isCut;
      if (bytes.length > keptBytes) {
        bytes = bytes.subarray(-keptBytes);
        lostStart = true;
      }
      if (lostStart) {
        const lineEnd = bytes.indexOf(0x0a);
        if (lineEnd === -1) return [`[one line of more than ${keptBytes / 1024} KiB]`];
        bytes = bytes.subarray(lineEnd + 1);
      }
      return redact(bytes.toString("utf8"))
        .split(/\r?\n|\r/)
        .filter((line) => line.trim() !== "")
        .slice(-keptLines)
        .map((line) => printableText(line.trimEnd(), keptLineLength));
    },
  };
}

/** A line that says what went wrong, and not where in the program. */
const complaint = /^(?!\s*at\s)[^(]*\b(?:\w*error|\w*exception|fatal|panic|panicked)\b[^:]*:/i;
const stackFrame = /^\s*at\s/;

/**
 * The last lines of an output, at most so many. Where they say nothing of an error and an earlier one does, it is that and what
 * follows it, without the frames of a stack: Node says what is wrong first, and where at length.
 */
export function significantLines(lines: readonly string[], most: number): readonly string[] {
  const last = lines.slice(-most);
  if (last.some((line) => complaint.test(line))) return last;
  const at = lines.findLastIndex((line) => complaint.test(line));
  if (at === -1) return last;
  return lines
    .slice(at)
    .filter((line) => !stackFrame.test(line))
    .slice(0, most);
}
