import { existsSync } from "node:fs";
import { readJsoncMember } from "../jsonc/edit-jsonc.js";
import { isOnPath } from "../program.js";
import { readClientFile } from "./client-file.js";
import { type McpClient, mcpClients, type Place, type Scope } from "./clients.js";

/** What is known of a client on this machine. */
export interface ClientRow {
  readonly client: McpClient;
  readonly isFound: boolean;
  /** In which files the entry stands. */
  readonly installed: readonly Scope[];
  /** Why its file could not be looked into. */
  readonly problem: string | undefined;
}

/** Looks for each client, and for the entry of this name in its files. */
export async function listClients(name: string, place: Place): Promise<ClientRow[]> {
  return Promise.all(mcpClients.map((client) => rowOf(client, name, place)));
}

async function rowOf(client: McpClient, name: string, place: Place): Promise<ClientRow> {
  const isFound =
    client.traces(place).some((path) => existsSync(path)) || client.commands.some((it) => isOnPath(it, place));
  const installed: Scope[] = [];
  let problem: string | undefined;
  for (const [scope, file] of Object.entries(client.files(place)) as [Scope, string][]) {
    try {
      const { text } = await readClientFile(file);
      if (readJsoncMember(text, [client.container, name]) !== undefined) installed.push(scope);
    } catch (error) {
      problem = `${file}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  return { client, isFound, installed, problem };
}
