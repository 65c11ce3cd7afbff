import { printableText } from "../printable-text.js";

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
export interface ProcessRemains {
  readonly stdout: Buffer;
  /** The last lines of its standard error: redacted, escaped and bounded. */
  readonly stderr: readonly string[];
  readonly durationMs: number;
}

/** The possible outcomes of running a child process. */
export type ProcessOutcome = NotStarted | (ProcessStop & ProcessRemains);

/** Describes an outcome as a clause after the name of the program: `exited with code 3`. Contains none of its output. */
export function describeOutcome(outcome: NotStarted | ProcessStop): string {
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
      return describeAbsence(outcome);
    case "not-executable":
      return `is ${outcome.isDirectory ? "a directory" : "not executable"} (${pathText(outcome.path)})`;
    case "hidden":
      return `is in ${pathText(outcome.folder)}, which the sandbox hides (${pathText(outcome.path)})`;
    case "not-started":
      return `could not be started (${outcome.reason})`;
  }
}

function describeAbsence({ what, path, searched }: NotStarted & { kind: "not-found" }): string {
  const where = pathText(path);
  if (what === "directory") return `could not be started, for its working directory ${where} is not there`;
  if (what === "interpreter") return `could not be started, for the interpreter that ${where} names is not there`;
  return searched.length === 0 ? `was not found (${where})` : "was not found";
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
