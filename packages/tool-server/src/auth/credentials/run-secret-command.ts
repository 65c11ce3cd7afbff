import { headerValueDefect } from "../../config/headers.js";
import type { ResolvedCommand } from "../../config/substitute-entry.js";
import { ToolServerError } from "../../errors.js";
import { printableText } from "../../printable-text.js";
import { secretsOfHeader } from "./header-fields.js";
import { type ProgramRun, type ProgramTask, runProgram } from "./run-program.js";

/** A shorter line of an unusable output is an ordinary word too often. */
const minLineLength = 8;

/**
 * Runs a secret command once, and gives its prefix and its output without the line break at the end. The output is registered as a
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
    for (const line of new Set([value, ...lines])) if (line.trim() !== "") tokens.add(line);
    const invalid = (defect: string): ToolServerError =>
      new ToolServerError("HELPER_OUTPUT_INVALID", { problem: `${subject} ${defect}.`, advice: outputAdvice });
    if (value.trim() === "") return invalid("wrote nothing to standard output");
    if (/[\r\n]/.test(value)) return invalid("wrote more than one line");
    if (/\p{Cc}/u.test(value) || text.includes("\u{fffd}")) return invalid("wrote control characters or no UTF-8");
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
