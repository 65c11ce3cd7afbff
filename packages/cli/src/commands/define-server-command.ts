import { reportFailure } from "../failure.js";
import type { Io } from "../io.js";
import { type OptionTable, type OptionValues, parseOptions } from "../options.js";
import { createScreen, type Screen } from "../output/screen.js";
import type { ConfiguredServers } from "../tool-server/configured-servers.js";
import { serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import { postponeWasmTierUp } from "../wasm-tier-up.js";
import type { Command } from "./command.js";

/** What a command that uses tool servers works with. */
export interface ServerContext<T extends OptionTable> {
  readonly servers: ConfiguredServers;
  readonly screen: Screen;
  readonly io: Io;
  readonly values: OptionValues<T & typeof serverOptions>;
  readonly positionals: readonly string[];
}

/** A command that uses the servers of a configuration, and closes what it opened. */
export function defineServerCommand<T extends OptionTable>(spec: {
  readonly name: string;
  readonly summary: string;
  /** Those that end in `…` take any number of words; those in brackets may be left out. */
  readonly parameters: readonly string[];
  readonly options: T;
  readonly notes?: readonly string[];
  use(context: ServerContext<T>): Promise<number>;
}): Command {
  const { name, summary, parameters, notes, use } = spec;
  const options = { ...spec.options, ...serverOptions };
  return {
    name,
    summary,
    parameters,
    notes,
    options,
    async run(args, io) {
      const { values, positionals } = parseOptions(options, args);
      assertPositionals(name, parameters, positionals);
      // Within the generic table the compiler no longer sees the part that every such command has.
      const common: OptionValues<typeof serverOptions> = values;
      // Loaded late: the commands that read Channelz start without it.
      const { openConfiguredServers } = await import("../tool-server/configured-servers.js");
      const { redactingIo } = await import("../tool-server/redacting-io.js");
      await using servers = await openConfiguredServers(common, io);
      postponeWasmTierUp();
      const safeIo = redactingIo(io, servers.secrets);
      const screen = createScreen(safeIo, common["no-color"]);
      try {
        return await use({ servers, screen, io: safeIo, values, positionals });
      } catch (error) {
        // Told here, where the secrets are known.
        return reportFailure(error, safeIo, name);
      }
    },
  };
}

/** Throws a UsageError if too few or too many words are given. */
export function assertPositionals(name: string, parameters: readonly string[], positionals: readonly string[]): void {
  const isOpen = parameters.at(-1)?.includes("…");
  if (positionals.length > parameters.length && !isOpen) {
    throw new UsageError(`${name} does not take the argument "${positionals[parameters.length]}".`);
  }
  const needed = parameters.filter((parameter) => !parameter.startsWith("["));
  if (positionals.length < needed.length) throw new UsageError(`${name} requires ${needed.join(" ")}.`);
}
