import { dirname, join } from "node:path";
import { ToolServerError } from "@wirescope/tool-server";
import {
  type Configuration,
  configurationFileName,
  type Finding,
  findConfigurationFile,
  parseConfiguration,
} from "@wirescope/tool-server/config";
import { configurationFileAt } from "@wirescope/tool-server/internal";
import { shellWord } from "@wirescope/tool-server/internal/command-line";
import { type ClientFile, readClientFile } from "../install/client-file.js";
import { readJsoncMember, setJsoncMember } from "../jsonc/edit-jsonc.js";
import { UsageError } from "../usage-error.js";

/** The configuration file to write: the named one, the one that commands find here, or a new one in this folder. */
export async function findFileToWrite(named: string | undefined): Promise<string> {
  if (named !== undefined) return configurationFileAt(named);
  try {
    return await findConfigurationFile(process.cwd());
  } catch (error) {
    if (!ToolServerError.is(error, "CONFIGURATION_UNREADABLE")) throw error;
    return join(process.cwd(), configurationFileName);
  }
}

/**
 * Reads the file to change; a missing file is empty. A symbolic link is refused, because it may point into another project. Rejects
 * with a ClientFileError.
 */
export function readFileToWrite(file: string): Promise<ClientFile> {
  if (/\.toml$/i.test(file)) throw new UsageError(`${file} is TOML. Only JSON files can be changed.`);
  return readClientFile(file, dirname(file), (real) => `name the file itself: --config ${shellWord(real)}`);
}

/** The changed text of a file, and its parsed configuration. */
export interface ChangedText {
  readonly text: string;
  readonly configuration: Configuration;
}

/**
 * Adds entries to the text of a configuration, next to its own. Everything else stays. How entries are parsed may depend on the path
 * of the file. Throws a JsoncError.
 */
export function withEntries(
  text: string,
  entries: Readonly<Record<string, unknown>>,
  file?: string,
  inputs: readonly { readonly id: string; readonly written: unknown }[] = [],
): ChangedText {
  const container = containerOf(text);
  let changed = withInputs(text, inputs);
  for (const [name, entry] of Object.entries(entries)) changed = setJsoncMember(changed, [...container, name], entry);
  return { text: changed, configuration: parse(changed, file) };
}

/** Adds input definitions, unless there is one with the same id. */
function withInputs(text: string, inputs: readonly { readonly id: string; readonly written: unknown }[]): string {
  const present = readJsoncMember(text, ["inputs"]) ?? [];
  if (!Array.isArray(present) || inputs.length === 0) return text;
  const ids = new Set(present.map((each) => (each as { id?: unknown } | null)?.id));
  const added = inputs.filter(({ id }) => !ids.has(id)).map(({ written }) => written);
  return added.length === 0 ? text : setJsoncMember(text, ["inputs"], [...present, ...added]);
}

/** Whether the text already has an entry with this name. Throws a JsoncError. */
export function hasEntry(text: string, name: string): boolean {
  return readJsoncMember(text, [...containerOf(text), name]) !== undefined;
}

/** The errors and warnings about one server. */
export function problemsOf({ findings }: Configuration, server: string): readonly Finding[] {
  return findings.filter((finding) => finding.server === server && finding.severity !== "note");
}

/** The keys above the entries: those of the first entry, else `mcpServers`. */
function containerOf(text: string): readonly string[] {
  const first = text.trim() === "" ? undefined : parse(text).entries[0];
  return first === undefined ? ["mcpServers"] : first.path.slice(0, -1).map(String);
}

function parse(text: string, file?: string): Configuration {
  // The user adds the entry, so a server on this machine is intended.
  return parseConfiguration(text, { file });
}
