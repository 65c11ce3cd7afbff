import { setMaxListeners } from "node:events";
import { connectionOptions } from "../connection-options.js";
import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import { commonOptions, type OptionTable, type OptionValues } from "../options.js";
import { createScreen } from "../output/screen.js";
import type { ReadTask } from "../read/read-task.js";
import { type Command, type CommandSpec, defineCommand } from "./command.js";

/** The option that limits the number of objects read. */
export const maxObjectsOption = {
  "max-objects": {
    type: "string",
    placeholder: "n",
    help: "read at most this many objects of each kind and target; default: 100000",
  },
} as const;

const jsonOption = { json: { type: "boolean", help: "print JSON instead of text" } } as const;

type ReadOptions = typeof connectionOptions & typeof jsonOption & typeof commonOptions;

const readOptions: ReadOptions = { ...connectionOptions, ...jsonOption, ...commonOptions };

/** A command that reads processes. */
export interface ReadCommandSpec<T extends OptionTable> extends CommandSpec<T> {
  /** Runs the command. Loads its code itself, because other commands start faster without the Channelz messages. */
  read(task: ReadTask<OptionValues<T & ReadOptions>>): Promise<void>;
}

/** A command that reads one or more processes. Adds the connection options and `--json`, and closes what it opened. */
export function defineReadCommand<T extends OptionTable>({ read, ...spec }: ReadCommandSpec<T>): Command {
  const options = { ...spec.options, ...readOptions };
  return defineCommand({ ...spec, options }, async ({ values, positionals, io }) => {
    // With a generic table, the compiler does not know the options that every such command has.
    const common: OptionValues<ReadOptions> = values;
    const { watch, interval } = values as { readonly watch?: boolean; readonly interval?: string | undefined };
    const { connectByOptions, printNotes } = await import("../connect-by-options.js");
    const { createReadProgress } = await import("../read/read-task.js");
    await using connections = await connectByOptions(common, io);
    const reads = createReadProgress(io);
    const interruption = new AbortController();
    const { signal } = interruption;
    // One listener per read in progress, and there are many at a time.
    setMaxListeners(0, signal);
    const onInterrupt = (): void => interruption.abort();
    process.once("SIGINT", onInterrupt);
    const targets = connections.parts.map((part) => ({ ...part, source: reads.track(part.source) }));
    const readOnce = (output: Io): Promise<void> =>
      read({ targets, screen: createScreen(output, common["no-color"]), values, positionals, signal });
    try {
      if (watch) {
        const { repeat } = await import("../read/repeat.js");
        await repeat(io, signal, { interval, isJson: common.json }, readOnce);
      } else await readOnce(io);
      return exitCode.ok;
    } catch (error) {
      if (!signal.aborted) throw error;
      io.stderr.write("wirescope: Interrupted. The output is partial.\n");
      return exitCode.interrupted;
    } finally {
      reads.end();
      noteCorrections(connections.corrections, io);
      printNotes(connections, io);
      process.removeListener("SIGINT", onInterrupt);
    }
  });
}

/** Reports the corrections on standard error; the output itself shows them per object. */
function noteCorrections(made: ReadonlyMap<string, number>, io: Io): void {
  if (made.size === 0) return;
  const list = [...made].map(([id, count]) => `${id} (${count})`).join(", ");
  io.stderr.write(`wirescope: Corrected for this peer: ${list}. --no-corrections shows what it sent.\n`);
}
