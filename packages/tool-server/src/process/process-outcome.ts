import { once } from "node:events";
import type { Readable } from "node:stream";
import { systemClock, waitAtMost } from "../clock.js";
import { printableText } from "../printable-text.js";
import { withoutSecretShapes } from "../secrets/recognize-secrets.js";

/** Why a child never ran. */
export type NotStarted =
  /** The command, working directory or interpreter does not exist; for a command, these folders were searched. */
  | {
      readonly kind: "not-found";
      readonly what: "command" | "directory" | "interpreter";
      readonly path: string;
      readonly searched: readonly string[];
    }
  /** The file exists, but is not executable for this user. */
  | { readonly kind: "not-executable"; readonly path: string; readonly isDirectory: boolean }
  /** The sandbox hides this folder, and the program is in it. */
  | { readonly kind: "hidden"; readonly path: string; readonly folder: string }
  /** The system refused for another reason, such as E2BIG or EAGAIN; or an argument or variable cannot be passed on. */
  | { readonly kind: "not-started"; readonly path: string; readonly reason: string }
  /** The caller cancelled before the child was started. */
  | { readonly kind: "aborted" };

/** How the process itself ended. */
export type ProcessExit =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signalled"; readonly signal: NodeJS.Signals };

/** How a run ended: by itself, or because it was stopped. */
export type ProcessStop =
  | ProcessExit
  | { readonly kind: "timed-out"; readonly limitMs: number }
  | { readonly kind: "too-much-output"; readonly limitBytes: number }
  | { readonly kind: "aborted" };

/** The result of a run. */
interface ProcessOutput {
  readonly stdout: Buffer;
  /** The last lines of its standard error: redacted, escaped and bounded. */
  readonly stderr: readonly string[];
  readonly durationMs: number;
}

/** The possible outcomes of running a child process. */
export type ProcessOutcome = NotStarted | (ProcessStop & ProcessOutput);

/**
 * Describes an outcome as a clause after the name of the program: `exited with code 3`. Names the path only if it is not the name.
 * Contains none of its output.
 */
export function describeOutcome(outcome: NotStarted | ProcessStop, name?: string): string {
  const where = "path" in outcome && outcome.path !== name ? ` (${pathText(outcome.path)})` : "";
  switch (outcome.kind) {
    case "exited":
      return `exited with code ${outcome.code}`;
    case "signalled":
      return `was ended by ${outcome.signal}`;
    case "timed-out":
      return `did not end within ${outcome.limitMs} ms and was stopped`;
    case "too-much-output":
      return `wrote more than ${outcome.limitBytes} bytes and was stopped`;
    case "aborted":
      return "was cancelled";
    case "not-found":
      return describeAbsence(outcome, where);
    case "not-executable":
      return `is ${outcome.isDirectory ? "a directory" : "not executable"}${where}`;
    case "hidden":
      return `is in ${pathText(outcome.folder)}, which the sandbox hides${where}`;
    case "not-started":
      return `could not be started (${outcome.reason})`;
  }
}

function describeAbsence({ what, path, searched }: NotStarted & { kind: "not-found" }, where: string): string {
  if (what === "directory")
    return `could not be started, because its working directory ${pathText(path)} does not exist`;
  if (what === "interpreter") {
    return `could not be started, because the interpreter that ${pathText(path)} names does not exist`;
  }
  return searched.length === 0 ? `was not found${where}` : "was not found";
}

/** The folders in which a command was searched, as a sentence; empty if none was. */
export function describeSearch(outcome: NotStarted): string {
  if (outcome.kind !== "not-found" || outcome.searched.length === 0) return "";
  return `PATH searched: ${pathText(outcome.searched.join(":"))}.`;
}

/** Paths may come from a project that is not trusted yet. */
function pathText(path: string): string {
  return printableText(path, 1000);
}

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
/** Longer than what is shown, so that no part of a secret remains at its end. */
const redactedLineLength = 800;

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
      const lines = redact(bytes.toString("utf8"))
        .split(/\r?\n|\r/)
        .filter((line) => line.trim() !== "")
        .slice(-keptLines)
        .map((line) => line.slice(0, redactedLineLength));
      if (lines.length === 0) return [];
      // Programs print secrets that nobody registered, also over several lines.
      return withoutSecretShapes(lines.join("\n"))
        .split("\n")
        .map((line) => printableText(line.trimEnd(), keptLineLength));
    },
  };
}

/** Matches a line with an error message, but not a stack frame. */
const errorLine = /^(?!\s*at\s)[^(]*\b(?:\w*error|\w*exception|fatal|panic|panicked)\b[^:]*:/i;
const stackFrame = /^\s*at\s/;

/**
 * The last lines of an output, at most `max`. If they mention no error and an earlier line does, that line and what follows it,
 * without stack frames: Node prints the error first, and a long stack after it.
 */
export function significantLines(lines: readonly string[], max: number): readonly string[] {
  const last = lines.slice(-max);
  if (last.some((line) => errorLine.test(line))) return last;
  const at = lines.findLastIndex((line) => errorLine.test(line));
  if (at === -1) return last;
  return lines
    .slice(at)
    .filter((line) => !stackFrame.test(line))
    .slice(0, max);
}
