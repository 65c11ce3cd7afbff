import { addOptions, importOptions } from "../configure/configure-options.js";
import { UsageError } from "../usage-error.js";
import { type Command, defineCommand } from "./command.js";

/** Adds a server to the configuration. */
export const addCommand: Command = defineCommand(
  {
    name: "add",
    summary: "add a server to the configuration, by its url or by the command that starts it, and approve it",
    parameters: ["<name>", "<url | -- command …>"],
    serverAt: 1,
    options: addOptions,
    notes: [
      "The entry is approved, because you typed it; a policy can still deny it. Comments and the order of the file stay.",
      "If you have signed in to the url without a name, with the same OAuth settings, the entry takes over that sign-in.",
      "A sign-in that was made with --profile or --vault is found with the same option.",
      "Write secrets as variables in single quotes: --header 'Authorization: Bearer ${TOKEN}', --env 'API_KEY=${KEY}'.",
      "--env NAME passes the variable of that name. An entry with a secret in it is refused.",
    ],
  },
  async ({ values, positionals: [name = ""], io, adHoc }) => {
    if (adHoc === undefined) throw new UsageError("add requires a url such as https://…, or a command after --.");
    const { runAdd } = await import("../configure/run-add.js");
    return runAdd(name, adHoc, values, io);
  },
);

/** Imports servers from the files of MCP clients. */
export const importCommand: Command = defineCommand(
  {
    name: "import",
    summary: "show the servers in the files of MCP clients, and add them to the configuration",
    parameters: ["[client]"],
    options: importOptions,
    notes: [
      "Clients: claude-code, claude-desktop, cursor, vscode, windsurf, zed, gemini, opencode, copilot, amp, cline,",
      "roo, codex; all by default.",
      "It asks before it writes, and changes no file of a client. Secrets are not copied, but replaced by variables.",
      "Imported servers are not approved yet. With --reference the gateway reads the files of the clients, and reloads them when",
      "they change; their paths are stored in wirescope/gateway.json.",
    ],
  },
  async ({ values, positionals: [client], io }) => {
    const { runImport } = await import("../configure/run-import.js");
    return runImport(client, values, io);
  },
);
