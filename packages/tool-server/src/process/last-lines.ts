import { printableText } from "../printable-text.js";

const keptBytes = 32 * 1024;
const keptLines = 20;
const keptLineLength = 500;

/** The last lines of an output, in bounded memory. */
export interface LastLines {
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
