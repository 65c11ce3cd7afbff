import { join } from "node:path";
import { shellWord } from "@wirescope/tool-server/internal/command-line";
import { readJsoncMember, removeJsoncMember, setJsoncMember } from "../jsonc/edit-jsonc.js";
import type { CommandLine, McpClient, UserEnvironment } from "./clients.js";

/** The fields of an entry that say how to reach the gateway. */
export type EntryFields = Readonly<Record<string, unknown>>;

/** All fields that say how to reach a server, in any client. Leftovers of another transport would contradict ours. */
const reachFields = ["type", "command", "args", "url", "httpUrl", "serverUrl", "headers"] as const;

/** The entry by which a client starts the gateway. */
export function stdioEntry(client: Pick<McpClient, "stdio">, { command, args }: CommandLine): EntryFields {
  return client.stdio?.({ command, args }) ?? { command, args };
}

/** The path of an entry in a client's file with this text. Throws a JsoncError. */
export function entryPath(client: McpClient, text: string, name: string): readonly string[] {
  return [...(client.containerIn?.(text) ?? [client.container]), name];
}

/** The entry by which a client connects to the running gateway. */
export function httpEntry(fields: EntryFields, token: string | undefined): EntryFields {
  return token === undefined ? fields : { ...fields, headers: { Authorization: `Bearer ${token}` } };
}

/** The text of the client's file with the entry. Other fields of the entry stay. Throws a JsoncError. */
export function withEntry(text: string, path: readonly string[], fields: EntryFields): string {
  const present = readJsoncMember(text, path);
  if (typeof present !== "object" || present === null || Array.isArray(present))
    return setJsoncMember(text, path, fields);
  let result = text;
  for (const field of reachFields) {
    if (!Object.hasOwn(fields, field)) result = removeJsoncMember(result, [...path, field]);
  }
  for (const [field, value] of Object.entries(fields)) {
    // Keep headers that the user added.
    const isGroup = field === "headers" && typeof readJsoncMember(result, [...path, field]) === "object";
    if (!isGroup) result = setJsoncMember(result, [...path, field], value);
    else {
      for (const [name, header] of Object.entries(value as object)) {
        result = setJsoncMember(result, [...path, field, name], header);
      }
    }
  }
  return result;
}

/** The text of the client's file without the entry. Throws a JsoncError. */
export function withoutEntry(text: string, path: readonly string[]): string {
  return removeJsoncMember(text, path);
}

/** Clients for which an entry is printed, to be added by hand. */
export const manualClients = ["codex", "other"] as const;

/** Instructions for a client whose file is not changed by us, as lines to print. */
export function snippetFor(client: string, name: string, gateway: CommandLine, environment: UserEnvironment): string[] {
  if (client === "codex") {
    const words = [gateway.command, ...gateway.args].map(shellWord).join(" ");
    const quoted = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
    return [
      `Add this to ${join(environment.env.CODEX_HOME || join(environment.home, ".codex"), "config.toml")}:`,
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
