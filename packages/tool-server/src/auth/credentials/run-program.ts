import { resolve } from "node:path";
import type { Clock } from "../../clock.js";
import { headerValueDefect } from "../../config/headers.js";
import type { ResolvedCommand } from "../../config/substitute-entry.js";
import { ToolServerError } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import { type Environment, scrubbedEnvironment } from "../../process/child-environment.js";
import { describeOutcome, describeSearch, type ProcessOutcome } from "../../process/process-outcome.js";
import { carriageReturnAdvice, hasCarriageReturn } from "../../process/resolve-command.js";
import { runProcess } from "../../process/run-process.js";
import { type Sandbox, sandboxAdvice } from "../../process/sandbox.js";
import { findSecretShapes, isSecretName } from "../../secrets/recognize-secrets.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import { secretsOfHeader } from "./header-fields.js";

/** How a program that obtains a credential is run: a helper, or a secret command. */
export interface ProgramTask {
  /** The name of the server, passed as HOST_SERVER_NAME. */
  readonly server: string;
  /** The url of the server, passed as HOST_SERVER_URL; undefined for a stdio server. */
  readonly url: string | undefined;
  /** The root of the plugin, in which the program runs; passed as HOST_PLUGIN_ROOT. */
  readonly pluginRoot: string;
  /** The user's environment, which the program gets. */
  readonly environment: Environment;
  /** The variables that it does not get: those with credentials of other servers. */
  readonly scrubbed: Iterable<string>;
  /** The sandbox in which it runs; undefined for none. */
  readonly sandbox: Sandbox | undefined;
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  /** The secrets in its output are added to it. */
  readonly tokens: Pick<SecretRegistry, "add">;
  readonly timeLimitMs: number;
  readonly maxOutputBytes: number;
  readonly clock: Clock;
}

/** A program to run, and how to read its output. */
interface Program<T> {
  /** A path, or a name that is searched in PATH. */
  readonly command: string;
  readonly args: readonly string[];
  /** Starts each message. */
  readonly subject: string;
  /** Reads the output and registers its secrets; called whatever the outcome is. */
  readonly read: (stdout: Uint8Array) => T | ToolServerError;
  readonly outputAdvice: string;
  readonly notFoundAdvice: string;
}

/** The result of a run: its output or an error, and how the process ended. */
export interface ProgramRun<T> {
  readonly outcome: ProcessOutcome;
  readonly result: T | ToolServerError;
}

/**
 * Runs a program once. Never rejects; if the signal aborted, the outcome is `aborted`. The errors are HELPER_NOT_RUNNABLE,
 * HELPER_FAILED, HELPER_TIMEOUT and HELPER_OUTPUT_INVALID; none contains the output.
 */
export async function runProgram<T>(
  task: ProgramTask,
  signal: AbortSignal,
  program: Program<T>,
): Promise<ProgramRun<T>> {
  const { server, url, pluginRoot, secrets, clock, timeLimitMs, maxOutputBytes } = task;
  const { command, args } = program;
  const env = scrubbedEnvironment(task.environment, task.scrubbed, {
    HOST_PLUGIN_ROOT: pluginRoot,
    HOST_SERVER_NAME: server,
    HOST_SERVER_URL: url,
  });
  // The program may print its input. Short values are more often settings than secrets: AUTH=none.
  for (const [name, value] of Object.entries(env)) if (isSecretName(name) && value.length >= 8) secrets.add(value);
  const outcome = await runProcess({
    command,
    args,
    cwd: pluginRoot,
    env,
    sandbox: task.sandbox,
    timeLimitMs,
    maxOutputBytes,
    clock,
    signal,
    redact: (text) => hideTokens(secrets.redact(text)),
  });
  const hasFailed = outcome.kind !== "exited" || outcome.code !== 0;
  const path = command.includes("/") ? resolve(pluginRoot, command) : undefined;
  const isFromWindows = hasFailed && path !== undefined && (await hasCarriageReturn(path));
  return { outcome, result: resultOf(outcome, task, program, isFromWindows) };
}

function resultOf<T>(
  outcome: ProcessOutcome,
  { secrets, sandbox }: ProgramTask,
  { command, subject, read, outputAdvice, notFoundAdvice }: Program<T>,
  isFromWindows: boolean,
): T | ToolServerError {
  // Read whatever the outcome is: the output of a failed run may also appear in its standard error.
  const output = "stdout" in outcome ? read(outcome.stdout) : undefined;
  const fail = (code: ToolServerError["code"], advice: string): ToolServerError => {
    const stderr = "stderr" in outcome ? outcome.stderr : [];
    const lastLines =
      stderr.length === 0 ? "." : `; last lines of standard error: "${secrets.redact(stderr.join(" | "))}".`;
    return new ToolServerError(code, { problem: `${subject} ${describeOutcome(outcome)}${lastLines}`, advice });
  };
  const runManually = `Run it in a terminal to see why.${sandbox === undefined ? "" : ` ${sandboxAdvice.failed}`}`;
  if (isFromWindows) return fail("HELPER_NOT_RUNNABLE", carriageReturnAdvice(printableText(command, 500)));
  switch (outcome.kind) {
    case "exited":
      return outcome.code === 0 && output !== undefined ? output : fail("HELPER_FAILED", runManually);
    case "timed-out":
      return fail("HELPER_TIMEOUT", "Check what it waits for; it must not prompt the user.");
    case "too-much-output":
      return fail("HELPER_OUTPUT_INVALID", outputAdvice);
    case "not-found":
      return fail("HELPER_NOT_RUNNABLE", [notFoundAdvice, describeSearch(outcome)].filter(Boolean).join(" "));
    case "not-executable":
      return fail("HELPER_NOT_RUNNABLE", "Make it executable with chmod +x.");
    case "hidden":
      return fail("HELPER_NOT_RUNNABLE", sandboxAdvice.hidden);
    case "not-started":
      return fail("HELPER_NOT_RUNNABLE", "Check the limits of this machine and of this user.");
    default:
      return fail("HELPER_FAILED", runManually);
  }
}

/** A program that fails may print a token that it has just created, which is not known as a secret yet. */
function hideTokens(text: string): string {
  return findSecretShapes(text)
    .reduce((rest, { value }) => rest.replaceAll(value, "[redacted]"), text)
    .replace(/\b(bearer|basic)(\s+|%20)[^\s"',;]+/gi, "$1 [redacted]");
}

/** A shorter line of invalid output is too often an ordinary word. */
const minLineLength = 8;

/**
 * Runs a secret command once, and returns its prefix and its output without the trailing line break. The output is registered as a
 * secret first. Never rejects; see `runProgram` for the errors.
 */
export function runSecretCommand(
  task: ProgramTask,
  { command: [program = "", ...args], field, name, prefix, target, timeoutMs }: ResolvedCommand,
  signal: AbortSignal,
): Promise<ProgramRun<string>> {
  const { server, secrets, tokens } = task;
  const shown = printableText(secrets.redact(program), 200);
  const subject = `The command ${shown} for ${field} of server ${JSON.stringify(server)}`;
  const outputAdvice = "It must write the secret on one line to standard output, and nothing else.";
  const read = (stdout: Uint8Array): string | ToolServerError => {
    const text = Buffer.from(stdout).toString("utf8");
    const value = text.replace(/\r?\n$/, "");
    // Each line by itself, because a part of an output with several lines may appear elsewhere.
    const lines = value.split(/\r?\n/, 16).filter((line) => line.length >= minLineLength);
    for (const line of new Set([value, ...lines])) tokens.add(line);
    const invalid = (defect: string): ToolServerError =>
      new ToolServerError("HELPER_OUTPUT_INVALID", { problem: `${subject} ${defect}.`, advice: outputAdvice });
    if (value.trim() === "") return invalid("wrote nothing to standard output");
    if (/[\r\n]/.test(value)) return invalid("wrote more than one line");
    if (/\p{Cc}/u.test(value) || text.includes("\u{fffd}")) return invalid("wrote control characters or invalid UTF-8");
    if (target !== "header") return `${prefix}${value}`;
    const defect = headerValueDefect(`${prefix}${value}`);
    if (defect !== undefined) return invalid(`wrote a value that cannot be sent, because it ${defect}`);
    for (const secret of secretsOfHeader(name, `${prefix}${value}`)) tokens.add(secret);
    return `${prefix}${value}`;
  };
  const notFoundAdvice = "Install it, or write its full path into the command.";
  const limits = { ...task, timeLimitMs: timeoutMs ?? task.timeLimitMs };
  return runProgram(limits, signal, { command: program, args, subject, read, outputAdvice, notFoundAdvice });
}
