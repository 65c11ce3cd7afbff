import { once } from "node:events";
import type { Readable } from "node:stream";
import { systemClock, waitAtMost } from "../clock.js";
import { printableText } from "../printable-text.js";

/** How long a pipe may stay open after its group has ended. */
const drainMs = 250;

/**
 * Waits for the end of a pipe whose writers have ended, then closes it. It already contains everything they wrote; a daemon that
 * left the group may keep it open forever.
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
  /** At most 20 lines of at most 500 characters, oldest first: redacted and safe to show. */
  read(redact: (text: string) => string): readonly string[];
}

/**
 * Keeps the last 32 KiB of an output. Only complete lines are returned, and secrets are redacted before anything is truncated, so
 * that no part of a secret remains.
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

/** A line that says what went wrong, not where in the program. */
const complaint = /^(?!\s*at\s)[^(]*\b(?:\w*error|\w*exception|fatal|panic|panicked)\b[^:]*:/i;
const stackFrame = /^\s*at\s/;

/**
 * The last lines of an output, at most `max`. If they mention no error and an earlier line does, that line and what follows it,
 * without stack frames: Node prints the error first, and a long stack after it.
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
