import { join } from "node:path";
import { createSecretRegistry, type SecretRegistry } from "@wirescope/tool-server";
import { type Entry, type Finding, parseConfiguration } from "@wirescope/tool-server/config";
import { readJsoncMember } from "../jsonc/edit-jsonc.js";
import { JsoncError } from "../jsonc/parse-jsonc.js";
import { ClientFileError, readClientFile } from "./client-file.js";
import { mcpClients, type Scope, settingsFolder, type UserEnvironment } from "./clients.js";

/** A file in which a client configures its servers. */
interface ClientSource {
  readonly client: string;
  readonly scope: Scope;
  readonly file: string;
  /** The keys above the entries; undefined for a file that is parsed as a whole. */
  readonly container: readonly string[] | undefined;
}

/** The servers in a client's file. */
export interface ClientServers extends ClientSource {
  /** Whether the gateway can read the file directly. */
  readonly canBeReferenced: boolean;
  readonly entries: readonly Entry[];
  readonly findings: readonly Finding[];
  readonly inputs: readonly { readonly id: string; readonly written: unknown }[];
  /** Redacts the secrets that are written into the file. */
  readonly secrets: SecretRegistry;
  /** Why the file could not be read. */
  readonly problem?: string | undefined;
}

/** The ids of clients whose servers can be imported. */
export const importableClients: readonly string[] = [...mcpClients.map(({ id }) => id), "codex", "roo"];

/** Reads the files of one client, or of all. A file that does not exist is left out. Nothing in a file runs. */
export async function readClientServers(
  named: string | undefined,
  environment: UserEnvironment,
): Promise<ClientServers[]> {
  const sources = sourcesOf(environment).filter(({ client }) => named === undefined || client === named);
  const read = await Promise.all(sources.map(readSource));
  return read.filter((each) => each !== undefined);
}

function sourcesOf(environment: UserEnvironment): ClientSource[] {
  const { env, home, directory } = environment;
  const known = mcpClients.flatMap((client) =>
    Object.entries(client.files(environment)).map(
      ([scope, file]): ClientSource => ({
        client: client.id,
        scope: scope as Scope,
        file,
        container: [client.container],
      }),
    ),
  );
  const codex = join(env.CODEX_HOME || join(home, ".codex"), "config.toml");
  const claude = join(env.CLAUDE_CONFIG_DIR || home, ".claude.json");
  const extensions = join(settingsFolder(environment), "Code", "User", "globalStorage");
  const roo = join(extensions, "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json");
  const cline = join(extensions, "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json");
  const container = ["mcpServers"];
  return [
    ...known,
    // Servers that a user added to one project only are in the user's file.
    { client: "claude-code", scope: "project", file: claude, container: ["projects", directory, ...container] },
    { client: "codex", scope: "user", file: codex, container: undefined },
    { client: "cline", scope: "user", file: cline, container },
    { client: "roo", scope: "user", file: roo, container },
    { client: "roo", scope: "project", file: join(directory, ".roo", "mcp.json"), container },
  ];
}

async function readSource(source: ClientSource): Promise<ClientServers | undefined> {
  const { container } = source;
  const secrets = createSecretRegistry();
  const canBeReferenced = container === undefined || container.length === 1;
  const none = { ...source, entries: [], findings: [], inputs: [], secrets, canBeReferenced };
  try {
    const { text, exists } = await readClientFile(source.file);
    if (!exists) return undefined;
    const part = container === undefined ? text : partOf(text, container);
    if (part === undefined) return none;
    const options = { file: source.file, secrets };
    const { entries, findings, inputs } = parseConfiguration(part, options);
    const broken = findings.find(({ severity, server }) => severity === "error" && server === undefined);
    return { ...none, entries, findings, inputs, problem: broken?.message };
  } catch (error) {
    if (!(error instanceof JsoncError) && !(error instanceof ClientFileError)) throw error;
    return { ...none, problem: error.message };
  }
}

/** Only the servers: other settings of a client must not cause findings. */
function partOf(text: string, container: readonly string[]): string | undefined {
  const servers = readJsoncMember(text, container);
  if (servers === undefined) return undefined;
  const inputs = readJsoncMember(text, ["inputs"]);
  return JSON.stringify({ [container.at(-1) ?? ""]: servers, ...(inputs === undefined ? {} : { inputs }) });
}
