import { parseArgs } from "node:util";
import { setProgram } from "@wirescope/tool-server/internal/command-line";
import { suggest } from "@wirescope/tool-server/internal/suggest";
import { commands } from "./command-table.js";
import type { Command } from "./commands/command.js";
import { exitCode, reportFailure } from "./failure.js";
import { commandText, overviewText } from "./help.js";
import { type Io, processIo } from "./io.js";
import { toParseArgs } from "./options.js";
import { widthOf } from "./output/screen.js";
import { isServerUrl, splitServerCommand } from "./tool-server/ad-hoc-server.js";
import { UsageError } from "./usage-error.js";
import { version } from "./version.js";

/** Runs the command line on these arguments, without the name of the program, and returns the exit code. Never rejects. */
export async function main(argv: readonly string[], io: Io = processIo()): Promise<number> {
  let verb: string | undefined;
  setProgram(io.program ?? "wirescope");
  try {
    const call = splitCommand(argv);
    if (call.verb === undefined) return runWithoutCommand(call.args, io);
    if (call.verb === "help") return showHelp(call.args[0], io);
    if (call.verb === "version") return showVersion(io);
    const command = findCommand(call.verb);
    verb = command.name;
    if (splitServerCommand(call.args).words.some((arg) => arg === "--help" || arg === "-h")) {
      io.stdout.write(commandText(command, widthOf(io.stdout)));
      return exitCode.ok;
    }
    return await command.run(call.args, io);
  } catch (error) {
    return reportFailure(error, io, verb);
  }
}

/** Runs the command line on the arguments of this process and sets its exit code. */
export async function runProcess(): Promise<void> {
  let result: number | undefined;
  // A reader of our output may stop early, as `head` does. Then the command ends, as others do on SIGPIPE, but keeps the exit code of a
  // failure: a command that was printing its last lines returns its result one turn later.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") setImmediate(() => process.exit(result || exitCode.outputClosed));
    else {
      process.stderr.write(`wirescope: Cannot write to standard output (${error.code}).\n`);
      process.exit(exitCode.failure);
    }
  });
  // Ignore a closed standard error: a gateway continues without its log.
  process.stderr.on("error", () => {});
  // If nothing is left to wait for, Node ends the process before the command has a result. That is not a success.
  process.exitCode = exitCode.failure;
  result = await main(process.argv.slice(2));
  process.exitCode = result;
}

/**
 * The first positional argument, and all other arguments. If it is a url, or if there is only a command after `--`, the verb is
 * `tools`.
 */
function splitCommand(argv: readonly string[]): {
  readonly verb: string | undefined;
  readonly args: readonly string[];
} {
  const { words, command } = splitServerCommand(argv);
  const index = findPositional(words);
  const first = words[index];
  if (isServerUrl(first) || (first === undefined && command !== undefined)) return { verb: "tools", args: argv };
  if (first === undefined) return { verb: undefined, args: argv };
  return { verb: first, args: argv.filter((_, each) => each !== index) };
}

/** The index of the first positional argument, or -1. */
function findPositional(words: readonly string[]): number {
  // Mostly the first word. After an option, the options of all commands say which words are values.
  if (words[0]?.startsWith("-") === false) return 0;
  const options = Object.assign({}, ...commands.map((command) => toParseArgs(command.options)));
  const { tokens } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true, tokens: true });
  return tokens.find((token) => token.kind === "positional")?.index ?? -1;
}

function runWithoutCommand(args: readonly string[], io: Io): number {
  if (["--version", "-V", "-v"].some((each) => args.includes(each))) return showVersion(io);
  if (args.includes("--help") || args.includes("-h")) return showHelp(undefined, io);
  if (args.length > 0) throw new UsageError(`A command is missing before ${args[0]}.`);
  io.stderr.write(overviewText(widthOf(io.stderr)));
  return exitCode.usage;
}

function showHelp(topic: string | undefined, io: Io): number {
  const width = widthOf(io.stdout);
  io.stdout.write(topic === undefined ? overviewText(width) : commandText(findCommand(topic), width));
  return exitCode.ok;
}

function showVersion(io: Io): number {
  io.stdout.write(`${version()}\n`);
  return exitCode.ok;
}

function findCommand(verb: string): Command {
  const command = commands.find(({ name }) => name === verb);
  if (command !== undefined) return command;
  const names = commands.map(({ name }) => name);
  const near = suggest(verb, names);
  // A host with a port or a path: whether it has TLS is not for us to guess.
  if (/^[\w-]+(?:\.[\w-]+)*(?::\d+(?:\/|$)|\.[\w-]+\/)/.test(verb)) {
    const next = `Write https://${verb}, or http://${verb} for a server on this machine.`;
    throw new UsageError(`"${verb}" is a url without a scheme.`, { next });
  }
  throw new UsageError(
    `Unknown command "${verb}". ${near === undefined ? `Commands: ${names.join(", ")}.` : `Did you mean ${near}?`}`,
  );
}
