import { setMaxListeners } from "node:events";
import { connectionOptions } from "../connection-options.js";
import type { LiveTask } from "../live/live-task.js";
import { commonOptions, type OptionTable, type OptionValues } from "../options.js";
import { createScreen } from "../output/screen.js";
import { type Command, type CommandSpec, defineCommand } from "./command.js";
import { maxObjectsOption } from "./define-read-command.js";

const ownOptions = {
  interval: { type: "string", placeholder: "duration", help: "time between two reads; default: 1s" },
  json: { type: "boolean", help: "print JSON instead of text" },
} as const;

type LiveOptions = typeof ownOptions & typeof maxObjectsOption & typeof connectionOptions & typeof commonOptions;
const liveOptions: LiveOptions = { ...ownOptions, ...maxObjectsOption, ...connectionOptions, ...commonOptions };

interface LiveCommandSpec<T extends OptionTable> extends CommandSpec<T> {
  /** Whether socket options, security and flow-control windows are read too. Default false. */
  readonly socketDetails?: boolean;
  /** Whether it plays a whole recording, not only one moment. Default false. */
  readonly playsRecordings?: boolean;
  /** Runs the command until the signal aborts, and returns the exit code. Loads its code itself. */
  run(task: LiveTask<OptionValues<T & LiveOptions>>): Promise<number>;
}

/** A command that samples one or more processes until it is interrupted. */
export function defineLiveCommand<T extends OptionTable>(command: LiveCommandSpec<T>): Command {
  const { run, socketDetails, playsRecordings = false, ...spec } = command;
  const options = { ...spec.options, ...liveOptions };
  return defineCommand({ ...spec, options }, async ({ values, positionals, io }) => {
    // With a generic table, the compiler does not know the options that every such command has.
    const common: OptionValues<LiveOptions> = values;
    const { connectByOptions, printNotes } = await import("../connect-by-options.js");
    const { openHistory, startSampling } = await import("../live/live-task.js");
    await using connections = await connectByOptions(common, io);
    printNotes(connections, io);
    const stop = new AbortController();
    // One listener per read in progress, and there are many at a time.
    setMaxListeners(0, stop.signal);
    const onSignal = (): void => stop.abort();
    process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
    const screen = createScreen(io, common["no-color"]);
    const recording = playsRecordings ? await openHistory(connections, common.interval) : undefined;
    if (recording !== undefined) {
      try {
        return await run({ sampler: recording, screen, io, values, positionals, signal: stop.signal, stop: onSignal });
      } finally {
        recording.close();
        process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
      }
    }
    const sampler = startSampling(connections, { ...common, socketDetails }, stop.signal);
    try {
      const code = await run({ sampler, screen, io, values, positionals, signal: stop.signal, stop: onSignal });
      const last = sampler.timeline.newest();
      if (last?.stoppedBy === undefined) return code;
      const { partialRead } = await import("../read/read-task.js");
      throw partialRead(last.stoppedBy, last.origins);
    } finally {
      stop.abort();
      process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
      await sampler.ended;
    }
  });
}
