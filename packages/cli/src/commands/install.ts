import { installOptions } from "../install/install-options.js";
import { parseOptions } from "../options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";

/** Writes the entry for the gateway into the configuration of a client. */
export const installCommand: Command = {
  name: "install",
  summary: "add the gateway to the configuration of an MCP client, or list the clients",
  parameters: ["[client]"],
  options: installOptions,
  notes: [
    "Clients: claude-code, claude-desktop, cursor, vscode, windsurf, zed, gemini, cline; codex and other print an entry",
    "to add by hand. install shows the change and asks before writing; it changes nothing else in the file. The entry",
    "runs wirescope up --stdio, which connects to the running gateway of this configuration or starts one, and contains",
    "no secret; with --http it contains the token of the running gateway.",
  ],
  async run(args, io) {
    const { values, positionals } = parseOptions(installOptions, args);
    if (positionals.length > 1) throw new UsageError(`install does not take the argument "${positionals[1]}".`);
    const { runInstall } = await import("../install/run-install.js");
    return runInstall(positionals[0], values, io);
  },
};
