import { setMaxListeners } from "node:events";
import { connectionOptions } from "../connection-options.js";
import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import { commonOptions, type OptionTable, type OptionValues, parseOptions } from "../options.js";
import { createScreen } from "../output/screen.js";
import type { ReadTask } from "../read/read-task.js";
import { UsageError } from "../usage-error.js";

/** A verb of the command line. */
export interface Command {
  readonly name: string;
  /** One line, for the list of verbs. */
  readonly summary: string;
  /** The arguments besides options, as the usage line shows them, such as `<id>`. */
  readonly parameters: readonly string[];
  readonly options: OptionTable;
  /** More lines of help, below the options. */
  readonly notes?: readonly string[] | undefined;
  /** Runs it and gives the exit code. */
  run(args: readonly string[], io: Io): Promise<number>;
}

const jsonOption = { json: { type: "boolean", help: "print JSON instead of text" } } as const;

/** The option of the commands that list objects. */
export const limitOption = {
  limit: { type: "string", placeholder: "n", help: "read at most this many objects of each kind; default: 100000" },
} as const;

/** The options that every command which reads a peer has. */
export type ReadOptions = typeof connectionOptions & typeof jsonOption & typeof commonOptions;

const readOptions: ReadOptions = { ...connectionOptions, ...jsonOption, ...commonOptions };

/** A command that reads one peer: it has the options of a connection and `--json`, and closes what it opened. */
export function defineReadCommand<T extends OptionTable>(spec: {
  readonly name: string;
  readonly summary: string;
  readonly parameters?: readonly string[];
  readonly options: T;
  readonly notes?: readonly string[];
  /** Does it; to be loaded late, since commands that have nothing to do with Channelz start without its messages. */
  read(task: ReadTask<OptionValues<T & ReadOptions>>): Promise<void>;
}): Command {
  const { name, summary, parameters = [], notes, read } = spec;
  const options = { ...spec.options, ...readOptions };
  return {
    name,
    summary,
    parameters,
    notes,
    options,
    async run(args, io) {
      const { values, positionals } = parseOptions(options, args);
      if (positionals.length > parameters.length) {
        throw new UsageError(`${name} does not take the argument "${positionals[parameters.length]}".`);
      }
      if (positionals.length < parameters.length) throw new UsageError(`${name} requires ${parameters.join(" ")}.`);
      // Within the generic table the compiler no longer sees the part that every such command has.
      const common: OptionValues<ReadOptions> = values;
      const screen = createScreen(io, common["no-color"]);
      const { connectByOptions } = await import("../connect-by-options.js");
      const { watchReads } = await import("../read/slow-reads.js");
      await using connection = await connectByOptions(common, io.env);
      const reads = watchReads(connection, io);
      const interruption = new AbortController();
      const { signal } = interruption;
      // One listener per read in progress, and there are many at a time.
      setMaxListeners(0, signal);
      const onInterrupt = (): void => interruption.abort();
      process.once("SIGINT", onInterrupt);
      try {
        await read({ source: reads.source, screen, values, positionals, signal });
        return exitCode.ok;
      } catch (error) {
        if (!signal.aborted) throw error;
        io.stderr.write("wirescope: Interrupted. The output is partial.\n");
        return exitCode.interrupted;
      } finally {
        reads.end();
        process.removeListener("SIGINT", onInterrupt);
      }
    },
  };
}
