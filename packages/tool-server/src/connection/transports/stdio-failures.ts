import { ToolServerError } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import {
  describeOutcome,
  describeSearch,
  type NotStarted,
  type ProcessExit,
  significantLines,
} from "../../process/process-outcome.js";
import { sandboxAdvice } from "../../process/sandbox.js";

/** How many lines of standard error a message contains; the details contain all that are kept. */
const maxLines = 5;
const maxLineLength = 300;

/** Creates CHILD_NOT_RUNNABLE for a process that cannot be started, with the searched folders and the advice. */
export function childNotRunnable(server: string, command: string, outcome: NotStarted): ToolServerError {
  const parts = {
    problem: `The server ${JSON.stringify(server)} cannot be started: ${printableText(command, 200)} ${describeOutcome(outcome, command)}.`,
    evidence: describeSearch(outcome),
    advice: adviceFor(outcome, command),
  };
  return new ToolServerError("CHILD_NOT_RUNNABLE", parts, { details: { wasSent: false } });
}

function adviceFor(outcome: NotStarted, command: string): string {
  if (outcome.kind === "not-executable") return "Make it executable with chmod +x, or name the program that runs it.";
  if (outcome.kind === "hidden") return sandboxAdvice.hidden;
  if (outcome.kind === "not-started" && outcome.reason === "EMFILE")
    return "Too many files are open: raise the limit of this process (ulimit -n, or LimitNOFILE in a systemd unit) and start it again.";
  if (outcome.kind === "not-started") return "Check the arguments, and the limits of this machine and this user.";
  if (outcome.kind === "aborted") return "Connect again.";
  if (outcome.what === "directory") return "Check the folder of the project.";
  if (outcome.what === "interpreter") return "Check the first line of the script.";
  if (/\s/.test(command))
    return "Put only the program into command, and each argument into args: no shell parses the command.";
  if (outcome.searched.length === 0) return "Check the path of the command.";
  return "Install it, or use its full path as command. Programs started from a desktop have a shorter PATH than a terminal: compare it with the PATH of your shell, and set PATH in env if they differ.";
}

export interface ChildEnd {
  readonly server: string;
  /** The name of the child in messages. */
  readonly child: string;
  readonly exit: ProcessExit;
  /** The last lines of its standard error. */
  readonly stderr: readonly string[];
  readonly hasSentMessage: boolean;
  /** Its stray output, as a sentence; empty if there was none. */
  readonly strayOutput: string;
  readonly isSandboxed: boolean;
}

/** Creates CHILD_EXITED with the exit code or signal and the last lines of standard error. */
export function childExited(end: ChildEnd): ToolServerError {
  const { server, child, exit, stderr, hasSentMessage, strayOutput } = end;
  const when = hasSentMessage ? "" : " before it responded";
  const problem = joined([
    `The server ${JSON.stringify(server)} (${child}) ${describeOutcome(exit)}${when}.`,
    describeStderr(stderr),
    strayOutput,
  ]);
  const repeatKey = repeatKeyOf([describeOutcome(exit), when], stderr);
  const parts = { problem, advice: adviceAfter(end) };
  return new ToolServerError("CHILD_EXITED", parts, { details: { exit, stderr, repeatKey } });
}

function adviceAfter({ exit, hasSentMessage, isSandboxed }: ChildEnd): string {
  if (exit.kind === "signalled" && exit.signal === "SIGKILL")
    return "If no user killed it, it may have exceeded a memory limit: see the kernel log (journalctl -k), and the limit of the container or service.";
  if (exit.kind === "exited" && exit.code === 0 && !hasSentMessage)
    return "A server runs until its standard input ends: check that command and args start one.";
  return `Run the command in a terminal to see why.${isSandboxed && !hasSentMessage ? ` ${sandboxAdvice.failed}` : ""}`;
}

/** The error codes for a child process that is still running. */
export type ChildDefect = "CONNECTION_LOST" | "MESSAGE_TOO_LARGE" | "NOT_A_TOOL_SERVER";

/** Creates an error for a child process that runs but cannot be used, and is therefore terminated. */
export function childUnusable(
  code: ChildDefect,
  { server, child, stderr, strayOutput }: Omit<ChildEnd, "exit" | "hasSentMessage" | "isSandboxed">,
  what: string,
  advice: string,
): ToolServerError {
  const subject = `The server ${JSON.stringify(server)} (${child})`;
  const problem = joined([`${subject} ${what}, and was terminated.`, describeStderr(stderr), strayOutput]);
  const details = { stderr, repeatKey: repeatKeyOf([what], stderr) };
  return new ToolServerError(code, { problem, advice }, { details });
}

/** Leaves out each word of the output with a digit, because it may be a time, a process id or an address. */
function repeatKeyOf(what: readonly string[], stderr: readonly string[]): string {
  return JSON.stringify([what, significantLines(stderr, maxLines).map((line) => line.replace(/\w*\d\w*/g, "#"))]);
}

function describeStderr(stderr: readonly string[]): string {
  if (stderr.length === 0) return "It wrote nothing to standard error.";
  const lines = significantLines(stderr, maxLines).map((line) => printableText(line.trim(), maxLineLength));
  return `Last lines of its standard error: "${lines.join(" | ")}".`;
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}
