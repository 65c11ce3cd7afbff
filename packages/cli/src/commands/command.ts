import type { Io } from "../io.js";
import { type OptionTable, type OptionValues, parseOptions } from "../options.js";
import { UsageError } from "../usage-error.js";

/** A command of the command line. */
export interface Command {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** The arguments in addition to options, as the usage line shows them, such as `<id>`. */
  readonly parameters: readonly string[];
  readonly options: OptionTable;
  /** More lines of help, below the options. */
  readonly notes?: readonly string[] | undefined;
  /** Runs it and returns the exit code. */
  run(args: readonly string[], io: Io): Promise<number>;
}

/** What the help shows of a command, and its options. */
export interface CommandSpec<T extends OptionTable> {
  readonly name: string;
  readonly summary: string;
  /** Those in brackets are optional; the last one takes any number of words if it ends in `…`. Default: none. */
  readonly parameters?: readonly string[];
  readonly options: T;
  readonly notes?: readonly string[];
}

/** A command line as parsed by the options of a command. */
export interface Invocation<T extends OptionTable> {
  readonly values: OptionValues<T>;
  readonly positionals: readonly string[];
  readonly io: Io;
}

/**
 * A command that parses its options and checks the number of its arguments before it runs. `check` runs before that number is
 * checked, for a better message.
 */
export function defineCommand<T extends OptionTable>(
  { name, summary, parameters = [], options, notes }: CommandSpec<T>,
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
      const { values, positionals } = parseOptions(options, args);
      check?.(values, positionals);
      assertPositionals(name, parameters, positionals);
      return run({ values, positionals, io });
    },
  };
}

/** Throws a UsageError if too few or too many words are given. */
function assertPositionals(name: string, parameters: readonly string[], positionals: readonly string[]): void {
  const isOpen = parameters.at(-1)?.includes("…");
  if (positionals.length > parameters.length && !isOpen) {
    throw new UsageError(`${name} does not take the argument "${positionals[parameters.length]}".`);
  }
  const needed = parameters.filter((parameter) => !parameter.startsWith("["));
  if (positionals.length < needed.length) throw new UsageError(`${name} requires ${needed.join(" ")}.`);
}
