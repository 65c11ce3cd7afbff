import { ToolServerError } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import { describeOutcome, describeSearch, type NotStarted, type ProcessExit } from "../../process/process-outcome.js";
import { tellingLines } from "../../process/process-output.js";
import { sandboxAdvice } from "../../process/sandbox.js";

/** How many lines of standard error stand in a message; all that are kept stand in the details. */
const toldLines = 5;
const toldLineLength = 300;

/** That the process of a server cannot be started: CHILD_NOT_RUNNABLE, with what was searched and what to do. */
export function childNotRunnable(server: string, command: string, outcome: NotStarted): ToolServerError {
  const parts = {
    problem: `The server ${JSON.stringify(server)} cannot be started: ${printableText(command, 200)} ${describeOutcome(outcome)}.`,
    evidence: describeSearch(outcome),
    advice: adviceFor(outcome, command),
  };
  return new ToolServerError("CHILD_NOT_RUNNABLE", parts, { details: { wasSent: false } });
}

function adviceFor(outcome: NotStarted, command: string): string {
  if (outcome.kind === "not-executable") return "Make it executable, with chmod +x, or name the program that runs it.";
  if (outcome.kind === "hidden") return sandboxAdvice.hidden;
  if (outcome.kind === "not-started") return "Check the arguments, and the limits of this machine and of this user.";
  if (outcome.kind === "aborted") return "Connect again.";
  if (outcome.what === "directory") return "Check the folder of the plugin.";
  if (outcome.what === "interpreter") return "Check the first line of the script.";
  if (/\s/.test(command))
    return "Put the program alone into command, and each of its arguments into args: no shell takes the line apart.";
  if (outcome.searched.length === 0) return "Check command in the configuration.";
  return "Install it, or write its full path as command. What a desktop starts has a shorter PATH than a terminal: compare with that of your shell, and set PATH in env where they differ.";
}

/** What is known of a child that ended. */
export interface ChildEnd {
  readonly server: string;
  /** The child as messages name it. */
  readonly child: string;
  readonly exit: ProcessExit;
  /** The last lines of its standard error. */
  readonly stderr: readonly string[];
  /** Whether a message of the protocol came from it. */
  readonly hasSpoken: boolean;
  /** What strayed from it, as a sentence, or nothing. */
  readonly strays: string;
  readonly isSandboxed: boolean;
}

/** That the process of a server ended: CHILD_EXITED, with exit code or signal and the last of its standard error. */
export function childExited({
  server,
  child,
  exit,
  stderr,
  hasSpoken,
  strays,
  isSandboxed,
}: ChildEnd): ToolServerError {
  const when = hasSpoken ? "" : " before it answered";
  const parts = {
    problem: joined([
      `The server ${JSON.stringify(server)} (${child}) ${describeOutcome(exit)}${when}.`,
      lastWords(stderr),
      strays,
    ]),
    advice:
      hasSpoken || exit.kind !== "exited" || exit.code !== 0
        ? `Run the command by hand to see why.${isSandboxed && !hasSpoken ? ` ${sandboxAdvice.failed}` : ""}`
        : "A server stays until its standard input ends: check that command and args start one.",
  };
  return new ToolServerError("CHILD_EXITED", parts, { details: { exit, stderr } });
}

/** What may be wrong with a child that lives. */
export type ChildDefect = "CONNECTION_LOST" | "MESSAGE_TOO_LARGE" | "NOT_A_TOOL_SERVER";

/** That a child lives and can be spoken with no more, or never could: for this reason, and it is ended. */
export function childUnusable(
  code: ChildDefect,
  { server, child, stderr, strays }: Omit<ChildEnd, "exit" | "hasSpoken" | "isSandboxed">,
  what: string,
  advice: string,
): ToolServerError {
  const subject = `The server ${JSON.stringify(server)} (${child})`;
  const problem = joined([`${subject} ${what}, and was ended.`, lastWords(stderr), strays]);
  return new ToolServerError(code, { problem, advice }, { details: { stderr } });
}

function lastWords(stderr: readonly string[]): string {
  if (stderr.length === 0) return "It wrote nothing to standard error.";
  const lines = tellingLines(stderr, toldLines).map((line) => printableText(line.trim(), toldLineLength));
  return `The last of its standard error: "${lines.join(" | ")}".`;
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}
