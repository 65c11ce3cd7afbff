import { access, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { findConfigurationFile } from "@wirescope/tool-server/config";
import { configurationFileAt } from "@wirescope/tool-server/internal";
import { isOnPath } from "../program.js";
import { asUsageError } from "../tool-server/loaded-configuration.js";
import { UsageError } from "../usage-error.js";
import { packageRoot } from "../version.js";
import type { CommandLine, UserEnvironment } from "./clients.js";
import type { InstallValues } from "./install-options.js";

/** How a client starts the gateway, and the configurations that it reads. */
interface GatewayCommand extends CommandLine {
  readonly configurations: readonly string[];
}

/** The command for the options, with absolute paths, because a client may start it in any folder. Throws a UsageError if a file is missing. */
export async function gatewayCommand(values: InstallValues, environment: UserEnvironment): Promise<GatewayCommand> {
  const named = await Promise.all(values.config.map(configurationFileAt));
  const configurations =
    named.length > 0 ? named : [await asUsageError(() => findConfigurationFile(environment.directory))];
  const envFiles = values["env-file"].map((file) => resolve(file));
  for (const file of [...configurations, ...envFiles]) {
    await access(file).catch(() => {
      throw new UsageError(`${file} does not exist.`);
    });
  }
  const { command, args } = ownCommand(environment);
  return {
    configurations,
    command,
    args: [
      ...args,
      "up",
      "--stdio",
      ...configurations.flatMap((file) => ["--config", file]),
      ...envFiles.flatMap((file) => ["--env-file", file]),
      ...(values.profile === undefined ? [] : ["--profile", values.profile]),
      ...(values.vault === undefined ? [] : ["--vault", values.vault]),
      ...(values["allow-insecure-loopback"] ? ["--allow-insecure-loopback"] : []),
    ],
  };
}

/** Throws a UsageError if the gateway would read the file that starts it: it would start itself recursively. */
export async function assertNotItself(target: string, configurations: readonly string[]): Promise<void> {
  const targets = await Promise.all(configurations.map((file) => realpath(file).catch(() => file)));
  if (!targets.includes(target)) return;
  throw new UsageError(
    `${target} is the configuration of the gateway, so the gateway would start itself. Move its servers to another file, such as ` +
      `${resolve(dirname(target), "servers.mcp.json")}, and pass it with --config; or use --scope user.`,
  );
}

/**
 * How another program starts this command: by its name if that is on the PATH, else with Node and the path of the file. On Windows
 * always the latter: npm puts a script on the PATH there, which not every client can start.
 */
function ownCommand(environment: Pick<UserEnvironment, "env" | "platform">): CommandLine {
  if (environment.platform !== "win32" && isOnPath("wirescope", environment)) return { command: "wirescope", args: [] };
  return {
    command: process.execPath,
    args: [fileURLToPath(new URL("bin/wirescope.js", packageRoot))],
  };
}
