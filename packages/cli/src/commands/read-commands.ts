import { setMaxListeners } from "node:events";
import { connectionOptions } from "../connection-options.js";
import { exitCode } from "../failure.js";
import { commonOptions, type OptionTable, type OptionValues } from "../options.js";
import { createScreen } from "../output/screen.js";
import type { ReadTask } from "../read/read-task.js";
import { type Command, type CommandSpec, defineCommand } from "./command.js";

const limitOption = {
  limit: { type: "string", placeholder: "n", help: "read at most this many objects of each kind; default: 100000" },
} as const;

const readOptions = {
  ...connectionOptions,
  json: { type: "boolean", help: "print JSON instead of text" },
  ...commonOptions,
} as const;

type ReadOptions = typeof readOptions;

interface ReadCommandSpec<T extends OptionTable> extends CommandSpec<T> {
  /** Runs the command. Loads its code itself, because other commands start without the messages of Channelz. */
  read(task: ReadTask<OptionValues<T & ReadOptions>>): Promise<void>;
}

/** A command that reads one peer: it has the options of a connection and `--json`, and closes what it opened. */
function defineReadCommand<T extends OptionTable>({ read, ...spec }: ReadCommandSpec<T>): Command {
  const options = { ...spec.options, ...readOptions };
  return defineCommand({ ...spec, options }, async ({ values, positionals, io }) => {
    // Within the generic table the compiler no longer sees the part that every such command has.
    const common: OptionValues<ReadOptions> = values;
    const screen = createScreen(io, common["no-color"]);
    const { connectByOptions } = await import("../connect-by-options.js");
    const { watchReads } = await import("../read/read-task.js");
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
  });
}

/** Lists the top channels. */
export const channelsCommand: Command = defineReadCommand({
  name: "channels",
  summary: "list the channels (outgoing connections) of a process",
  options: limitOption,
  read: async (task) => (await import("../read/lists.js")).readChannels(task),
});

/** Lists the servers. */
export const serversCommand: Command = defineReadCommand({
  name: "servers",
  summary: "list the servers of a process and their listen addresses",
  options: limitOption,
  read: async (task) => (await import("../read/lists.js")).readServers(task),
});

/** Lists the sockets of servers and channels. */
export const socketsCommand: Command = defineReadCommand({
  name: "sockets",
  summary: "list the open connections and listening sockets of a process",
  options: {
    server: { type: "string", placeholder: "id", help: "list only the sockets of this server" },
    ...limitOption,
  },
  read: async (task) => (await import("../read/lists.js")).readSockets(task),
});

/** Shows all about one object. */
export const showCommand: Command = defineReadCommand({
  name: "show",
  summary: "show the details of a channel, subchannel, server or socket",
  parameters: ["<id>"],
  options: {
    kind: {
      type: "string",
      choices: ["channel", "subchannel", "server", "socket"],
      help: "look up only this kind; some peers use the same id for several kinds",
    },
  },
  read: async (task) => (await import("../read/show.js")).readObject(task),
});

/** Draws channels with all below them, and servers with their sockets. */
export const treeCommand: Command = defineReadCommand({
  name: "tree",
  summary: "show channels, subchannels, servers and sockets as a tree",
  options: limitOption,
  read: async (task) => (await import("../read/tree.js")).readWholeTree(task),
});
