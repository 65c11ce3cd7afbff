import { setServerOptions } from "@wirescope/tool-server/internal/command-line";
import { reportFailure } from "../failure.js";
import type { Io } from "../io.js";
import type { OptionTable, OptionValues } from "../options.js";
import { createScreen, type Screen } from "../output/screen.js";
import type { AdHocServer } from "../tool-server/ad-hoc-server.js";
import { sameServers, sameSignIns, serverOptions, withAdHocServer } from "../tool-server/server-options.js";
import type { UsableServers } from "../tool-server/usable-servers.js";
import { postponeWasmTierUp } from "../v8-flags.js";
import { type Command, type CommandSpec, defineCommand } from "./command.js";

/** The context of a command that uses tool servers. */
export interface ServerContext<T extends OptionTable> {
  readonly servers: UsableServers;
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

/** A command that uses servers: those of the running gateway, if it serves them, else those of a configuration. Closes what it opened. */
export function defineServerCommand<T extends OptionTable>({ use, ...spec }: ServerCommandSpec<T>): Command {
  const options = { ...spec.options, ...serverOptions };
  return defineCommand({ ...spec, options, serverAt: 0 }, async ({ values, positionals, io, adHoc }) => {
    // With a generic table, the compiler does not know the options that every such command has.
    const common = withAdHocServer<OptionValues<typeof serverOptions>>(values, adHoc);
    setServerOptions(sameServers(common), sameSignIns(common));
    // Loaded late: the commands that read Channelz start without it.
    const { redactingIo } = await import("../tool-server/redaction.js");
    await using servers = await openServers(common, io, adHoc !== undefined);
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

async function openServers(
  values: OptionValues<typeof serverOptions>,
  io: Io,
  isAdHoc: boolean,
): Promise<UsableServers> {
  // Debug mode shows a connection of this process.
  if (!isAdHoc && (values.endpoint || !values.debug)) {
    const { openGateway } = await import("../admin/open-admin.js");
    const gateway = await openGateway(values, io, { isChange: false });
    const { openGatewayServers } = await import("../admin/gateway-servers.js");
    if (gateway !== undefined) return openGatewayServers(gateway, values, io);
  }
  const { openConfiguredServers } = await import("../tool-server/configured-servers.js");
  const { serverClientOf } = await import("../tool-server/usable-servers.js");
  const servers = await openConfiguredServers(values, io);
  return {
    secrets: servers.secrets,
    namesOf: servers.namesOf,
    open: async (name) => serverClientOf(await servers.open(name)),
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
}
