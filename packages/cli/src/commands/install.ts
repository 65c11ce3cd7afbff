import { installOptions } from "../install/install-options.js";
import { type Command, defineCommand } from "./command.js";

/** Writes the entry for the gateway into the configuration of a client. */
export const installCommand: Command = defineCommand(
  {
    name: "install",
    summary: "add the gateway to the configuration of an MCP client, or list the clients",
    parameters: ["[client]"],
    options: installOptions,
    notes: [
      "Clients: claude-code, claude-desktop, cursor, vscode, windsurf, zed, gemini, opencode, copilot, amp, cline; codex and other print",
      "an entry to add by hand. install shows the change and asks before writing; it changes nothing else in the file. The",
      "entry runs wirescope up --stdio, which connects to the running gateway of this configuration or starts one, and",
      "contains no secret; with --http it contains the token of the running gateway.",
    ],
  },
  async ({ values, positionals, io }) => {
    // Loaded late: the commands that read Channelz start without it.
    const { runInstall } = await import("../install/run-install.js");
    return runInstall(positionals[0], values, io);
  },
);
