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
 * Reads the file to change; one that does not exist is empty. A file that is a symbolic link is refused, because the folder may be
 * another project. Rejects with a ClientFileError.
 */
export function readFileToWrite(file: string): Promise<ClientFile> {
  if (/\.toml$/i.test(file)) throw new UsageError(`${file} is TOML. Only JSON files can be changed.`);
  return readClientFile(file, dirname(file), (real) => `name the file itself: --config ${shellWord(real)}`);
}

/** The content of a file with entries added, and how it is parsed. */
export interface ChangedText {
  readonly text: string;
  readonly configuration: Configuration;
}

/**
 * Puts entries into the text of a configuration, next to those that it has. Everything else stays. The path of the file can decide what
 * the entries mean. Throws a JsoncError.
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

/** Adds the definitions of values that a person is asked for, unless there is one of the same id. */
function withInputs(text: string, inputs: readonly { readonly id: string; readonly written: unknown }[]): string {
  const present = readJsoncMember(text, ["inputs"]) ?? [];
  if (!Array.isArray(present) || inputs.length === 0) return text;
  const ids = new Set(present.map((each) => (each as { id?: unknown } | null)?.id));
  const added = inputs.filter(({ id }) => !ids.has(id)).map(({ written }) => written);
  return added.length === 0 ? text : setJsoncMember(text, ["inputs"], [...present, ...added]);
}

/** Whether the text has an entry of this name already. Throws a JsoncError. */
export function hasEntry(text: string, name: string): boolean {
  return readJsoncMember(text, [...containerOf(text), name]) !== undefined;
}

/** The findings about one server that matter for its use. */
export function problemsOf({ findings }: Configuration, server: string): readonly Finding[] {
  return findings.filter((finding) => finding.server === server && finding.severity !== "note");
}

/** The keys above the entries: those of the first entry, else `mcpServers`. */
function containerOf(text: string): readonly string[] {
  const first = text.trim() === "" ? undefined : parse(text).entries[0];
  return first === undefined ? ["mcpServers"] : first.path.slice(0, -1).map(String);
}

function parse(text: string, file?: string): Configuration {
  // A person adds the entry, so one of this machine is meant.
  return parseConfiguration(text, { file, allowInsecureLoopback: true });
}
