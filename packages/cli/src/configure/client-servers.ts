import { join } from "node:path";
import { createSecretRegistry, type SecretRegistry } from "@wirescope/tool-server";
import { type Entry, type Finding, parseConfiguration } from "@wirescope/tool-server/config";
import { ClientFileError, readClientFile } from "../install/client-file.js";
import { mcpClients, type Scope, type UserEnvironment } from "../install/clients.js";
import { readJsoncMember } from "../jsonc/edit-jsonc.js";
import { JsoncError } from "../jsonc/parse-jsonc.js";

/** A file in which a client has its servers. */
interface ClientSource {
  readonly client: string;
  readonly scope: Scope;
  readonly file: string;
  /** The key above the entries; undefined for a file that is parsed as a whole. */
  readonly container: string | undefined;
}

/** What a client's file has. */
export interface ClientServers extends Omit<ClientSource, "container"> {
  readonly entries: readonly Entry[];
  readonly findings: readonly Finding[];
  readonly inputs: readonly { readonly id: string; readonly written: unknown }[];
  /** Redacts the secrets that are written into the file. */
  readonly secrets: SecretRegistry;
  /** Why the file could not be read. */
  readonly problem?: string | undefined;
}

/** The ids of clients whose servers can be imported. */
export const importableClients: readonly string[] = [...mcpClients.map(({ id }) => id), "codex"];

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
  const { env, home } = environment;
  const known = mcpClients.flatMap((client) =>
    Object.entries(client.files(environment)).map(
      ([scope, file]): ClientSource => ({
        client: client.id,
        scope: scope as Scope,
        file,
        container: client.container,
      }),
    ),
  );
  const codex = join(env.CODEX_HOME || join(home, ".codex"), "config.toml");
  return [...known, { client: "codex", scope: "user", file: codex, container: undefined }];
}

async function readSource({ container, ...source }: ClientSource): Promise<ClientServers | undefined> {
  const secrets = createSecretRegistry();
  const none = { ...source, entries: [], findings: [], inputs: [], secrets };
  try {
    const { text, isThere } = await readClientFile(source.file);
    if (!isThere) return undefined;
    const part = container === undefined ? text : partOf(text, container);
    if (part === undefined) return none;
    const options = { file: source.file, allowInsecureLoopback: true, secrets };
    const { entries, findings, inputs } = parseConfiguration(part, options);
    const broken = findings.find(({ severity, server }) => severity === "error" && server === undefined);
    return { ...source, entries, findings, inputs, secrets, problem: broken?.message };
  } catch (error) {
    if (!(error instanceof JsoncError) && !(error instanceof ClientFileError)) throw error;
    return { ...none, problem: error.message };
  }
}

/** The servers alone: the settings of a client may have much else, which is not ours to report on. */
function partOf(text: string, container: string): string | undefined {
  const servers = readJsoncMember(text, [container]);
  if (servers === undefined) return undefined;
  const inputs = readJsoncMember(text, ["inputs"]);
  return JSON.stringify({ [container]: servers, ...(inputs === undefined ? {} : { inputs }) });
}
