import { setServerOptions } from "@wirescope/tool-server/internal/command-line";
import type { Io } from "../io.js";
import { type OptionTable, type OptionValues, parseOptions } from "../options.js";
import { type AdHocServer, adHocServerOf, splitServerCommand } from "../tool-server/ad-hoc-server.js";
import { UsageError } from "../usage-error.js";

/** A command of the CLI. */
export interface Command {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** The positional arguments, as the usage line shows them, such as `<id>`. */
  readonly parameters: readonly string[];
  readonly options: OptionTable;
  /** More lines of help, below the options. */
  readonly notes?: readonly string[] | undefined;
  /** Runs it and returns the exit code. */
  run(args: readonly string[], io: Io): Promise<number>;
}

/** The help and the options of a command. */
export interface CommandSpec<T extends OptionTable> {
  readonly name: string;
  readonly summary: string;
  /** Those in brackets are optional; the last one takes any number of arguments if it contains `…`. Default: none. */
  readonly parameters?: readonly string[];
  readonly options: T;
  readonly notes?: readonly string[];
  /** The index of the argument that may be a url, or be replaced by a command after `--`. Default: none. */
  readonly serverAt?: 0 | 1;
}

/** The parsed command line. */
export interface Invocation<T extends OptionTable> {
  readonly values: OptionValues<T>;
  readonly positionals: readonly string[];
  readonly io: Io;
  /** The server that the command line gives by url or command instead of by its name in a configuration. */
  readonly adHoc: AdHocServer | undefined;
}

/**
 * A command that parses its options and checks the number of its arguments before it runs. `check` runs before that, for a better
 * message.
 */
export function defineCommand<T extends OptionTable>(
  { name, summary, parameters = [], options, notes, serverAt }: CommandSpec<T>,
  run: (invocation: Invocation<T>) => Promise<number>,
  check?: (values: OptionValues<T>, positionals: readonly string[]) => void,
): Command {
  return {
    name,
    summary,
    parameters,
    options,
    notes,
    async run(args, io) {
      setServerOptions([]);
      const { words, command } =
        serverAt === undefined ? { words: args, command: undefined } : splitServerCommand(args);
      const { values, positionals: given } = parseOptions(options, words);
      const adHoc = serverAt === undefined ? undefined : adHocServerOf(given[serverAt], command, values);
      // A command after `--` replaces the argument.
      const positionals =
        adHoc === undefined || command === undefined ? given : given.toSpliced(serverAt ?? 0, 0, adHoc.name);
      check?.(values, positionals);
      assertPositionals(name, parameters, positionals);
      return run({ values, positionals, io, adHoc });
    },
  };
}

/** Throws a UsageError if there are too few or too many arguments. */
function assertPositionals(name: string, parameters: readonly string[], positionals: readonly string[]): void {
  const isOpen = parameters.at(-1)?.includes("…");
  if (positionals.length > parameters.length && !isOpen) {
    throw new UsageError(`${name} does not take the argument "${positionals[parameters.length]}".`);
  }
  const needed = parameters.filter((parameter) => !parameter.startsWith("["));
  if (positionals.length < needed.length) throw new UsageError(`${name} requires ${needed.join(" ")}.`);
}
