import { join } from "node:path";
import { shellWord } from "../shell-word.js";
import { stdioEntry } from "./client-entry.js";
import type { Place } from "./clients.js";
import type { CommandLine } from "./own-command.js";

/** The names that print something to be put in by hand. */
export const byHand = ["codex", "other"] as const;

/** What to put where for a client whose file is not changed by us: lines to print. */
export function snippetFor(client: string, name: string, gateway: CommandLine, place: Place): string[] {
  if (client === "codex") {
    const words = [gateway.command, ...gateway.args].map(shellWord).join(" ");
    const quoted = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
    return [
      `Add this to ${join(place.env.CODEX_HOME || join(place.home, ".codex"), "config.toml")}:`,
      "",
      `[mcp_servers.${quoted}]`,
      `command = ${JSON.stringify(gateway.command)}`,
      `args = [${gateway.args.map((arg) => JSON.stringify(arg)).join(", ")}]`,
      "",
      "Or let Codex do it:",
      "",
      `codex mcp add ${shellWord(name)} -- ${words}`,
    ];
  }
  const entry = { mcpServers: { [name]: stdioEntry({}, gateway) } };
  return [
    "Most clients accept this entry in their configuration file:",
    "",
    ...JSON.stringify(entry, null, 2).split("\n"),
  ];
}
