import { setServerOptions } from "@wirescope/tool-server/internal/command-line";
import { reportFailure } from "../failure.js";
import type { Io } from "../io.js";
import type { OptionTable, OptionValues } from "../options.js";
import { createScreen, type Screen } from "../output/screen.js";
import type { AdHocServer } from "../tool-server/ad-hoc-server.js";
import type { ConfiguredServers } from "../tool-server/configured-servers.js";
import { sameServers, sameSignIns, serverOptions, withAdHocServer } from "../tool-server/server-options.js";
import { postponeWasmTierUp } from "../v8-flags.js";
import { type Command, type CommandSpec, defineCommand } from "./command.js";

/** The context of a command that uses tool servers. */
export interface ServerContext<T extends OptionTable> {
  readonly servers: ConfiguredServers;
  readonly screen: Screen;
  readonly io: Io;
  readonly values: OptionValues<T & typeof serverOptions>;
  readonly positionals: readonly string[];
  /** The server, if the command line gives it by url or command. */
  readonly adHoc: AdHocServer | undefined;
}

interface ServerCommandSpec<T extends OptionTable> extends CommandSpec<T> {
  use(context: ServerContext<T>): Promise<number>;
}

/** A command that uses the servers of a configuration, and closes what it opened. */
export function defineServerCommand<T extends OptionTable>({ use, ...spec }: ServerCommandSpec<T>): Command {
  const options = { ...spec.options, ...serverOptions };
  return defineCommand({ ...spec, options, serverAt: 0 }, async ({ values, positionals, io, adHoc }) => {
    // With a generic table, the compiler does not know the options that every such command has.
    const common = withAdHocServer<OptionValues<typeof serverOptions>>(values, adHoc);
    setServerOptions(sameServers(common), sameSignIns(common));
    // Loaded late: the commands that read Channelz start without it.
    const { openConfiguredServers } = await import("../tool-server/configured-servers.js");
    const { redactingIo } = await import("../tool-server/redaction.js");
    await using servers = await openConfiguredServers(common, io);
    postponeWasmTierUp();
    const safeIo = redactingIo(io, servers.secrets);
    const screen = createScreen(safeIo, common["no-color"]);
    try {
      return await use({ servers, screen, io: safeIo, values, positionals, adHoc });
    } catch (error) {
      // Reported here, where the secrets are known.
      return reportFailure(error, safeIo, spec.name);
    }
  });
}
