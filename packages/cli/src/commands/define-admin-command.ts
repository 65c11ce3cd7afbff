import { setServerOptions } from "@wirescope/tool-server/internal/command-line";
import type { LocalAdmin } from "../admin/local-admin.js";
import type { ServerAdmin } from "../admin/server-admin.js";
import { reportFailure } from "../failure.js";
import { type OptionTable, type OptionValues, parseOptions } from "../options.js";
import { createScreen, type Screen } from "../output/screen.js";
import type { KeyCreation } from "../tool-server/open-vault.js";
import {
  type ServerValues,
  sameServers,
  sameSignIns,
  serverOptions,
  withAdHocServer,
} from "../tool-server/server-options.js";
import { type Command, type CommandSpec, defineCommand } from "./command.js";

/** The context of a command that administers servers. */
export interface AdminContext<T extends OptionTable> {
  readonly admin: ServerAdmin;
  readonly screen: Screen;
  readonly values: OptionValues<T>;
  readonly positionals: readonly string[];
  /** The servers of the configuration in this process, even if a gateway serves it. */
  local(): Promise<LocalAdmin>;
}

interface AdminCommandSpec<T extends OptionTable> extends CommandSpec<T> {
  /** Whether it changes something. */
  isChange(positionals: readonly string[], values: OptionValues<T>): boolean;
  /** Whether it uses the configuration in this process even if a gateway serves it. Default: never. */
  isLocal?(values: OptionValues<T>): boolean;
  /** Whether it requires a running gateway. Default false. */
  readonly needsGateway?: boolean;
  /** Whether a key for the encrypted file may be generated. Default: never. */
  keyCreation?(values: OptionValues<T>): KeyCreation;
  /** Throws a UsageError for an invalid command line. Called before anything is opened. */
  check?(values: OptionValues<T>, positionals: readonly string[]): void;
  use(context: AdminContext<T>): Promise<number>;
}

/** A command that administers servers: those of the running gateway, if it serves them, else those of a configuration. */
export function defineAdminCommand<T extends OptionTable>({ use, check, ...spec }: AdminCommandSpec<T>): Command {
  return defineCommand(
    spec,
    async ({ values, positionals, io, adHoc }) => {
      const given: ServerValues = { ...parseOptions(serverOptions, []).values, ...values };
      const common = withAdHocServer(given, adHoc);
      setServerOptions(sameServers(common), sameSignIns(common));
      const keyCreation = spec.keyCreation?.(values);
      const local = async (): Promise<LocalAdmin> => {
        const { createLocalAdmin } = await import("../admin/local-admin.js");
        return createLocalAdmin(common, io, keyCreation);
      };
      const open = async (): Promise<ServerAdmin> => {
        const { openAdmin } = await import("../admin/open-admin.js");
        const isChange = spec.isChange(positionals, values);
        return openAdmin(common, io, { isChange, needsGateway: spec.needsGateway, keyCreation });
      };
      await using admin = await (adHoc !== undefined || spec.isLocal?.(values) ? local() : open());
      const screen = createScreen(admin.io, common["no-color"]);
      try {
        return await use({ admin, screen, values, positionals, local });
      } catch (error) {
        // Reported here, where the secrets are known.
        return reportFailure(error, admin.io, spec.name);
      }
    },
    check,
  );
}
