import { access } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ToolServerError } from "../errors.js";
import { readBoundedFile } from "../files/bounded-file.js";
import { isFolder } from "../process/resolve-command.js";

/** The file name of a configuration. */
export const configurationFileName = ".mcp.json";

/** Folders of a project in which programs store their settings. */
const settingsFolders: ReadonlySet<string> = new Set([
  ".vscode",
  ".cursor",
  ".roo",
  ".gemini",
  ".codex",
  ".opencode",
  ".copilot",
  ".amp",
]);

/** The root of the project that a configuration file belongs to: its folder, or the parent of a settings folder such as `.vscode`. */
export function pluginRootOf(file: string): string {
  const folder = dirname(resolve(file));
  return settingsFolders.has(basename(folder)) ? dirname(folder) : folder;
}

const maxBytes = 4 * 1_048_576;

/**
 * Finds the configuration file: in `pluginRoot` if it is given, otherwise in `directory` and, inside a git repository, in its parents
 * up to the root of the repository. Throws CONFIGURATION_UNREADABLE with the folders that were searched.
 */
export async function findConfigurationFile(directory: string, pluginRoot?: string): Promise<string> {
  const folders = pluginRoot === undefined ? await upToRepository(resolve(directory)) : [resolve(pluginRoot)];
  for (const folder of folders) {
    const file = join(folder, configurationFileName);
    if (await exists(file)) return file;
  }
  throw new ToolServerError("CONFIGURATION_UNREADABLE", {
    problem: `No ${configurationFileName} found in ${folders.join(", ")}.`,
    advice: "Pass the path of the file, or change to the folder that contains it.",
  });
}

/** Reads a configuration or environment file: UTF-8, at most 4 MiB. Throws CONFIGURATION_UNREADABLE. */
export async function readConfigurationFile(file: string): Promise<string> {
  try {
    const bytes = await readBoundedFile(file, { maxBytes });
    if (isUtf16(bytes)) throw Object.assign(new Error("UTF-16"), { code: "UTF-16" });
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const [reason, advice = ""] = reasons[code] ?? [code || "unknown reason"];
    const problem = `${file} cannot be read: ${reason}.`;
    throw new ToolServerError("CONFIGURATION_UNREADABLE", { problem, advice }, { cause: error });
  }
}

/** Why a file cannot be read, and how to fix it. */
const reasons: Readonly<Record<string, readonly [reason: string, advice?: string]>> = {
  ENOENT: ["the file does not exist"],
  EACCES: ["permission denied"],
  ERR_ENCODING_INVALID_ENCODED_DATA: ["it is not UTF-8", "Save it with that encoding."],
  "UTF-16": [
    "it is UTF-16, as Windows PowerShell writes by default",
    "Save it as UTF-8; iconv -f UTF-16 -t UTF-8 converts it.",
  ],
  ERR_NOT_A_FILE: ["it is not a regular file"],
  ERR_FILE_TOO_LARGE: [`it exceeds the limit of ${maxBytes} bytes`],
};

/** Detected by the byte-order mark, or by a zero byte next to the first character. */
function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return false;
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || (first === 0) !== (second === 0);
}

async function upToRepository(start: string): Promise<string[]> {
  const folders: string[] = [];
  for (let folder = start; ; folder = dirname(folder)) {
    folders.push(folder);
    if (await exists(join(folder, ".git"))) return folders;
    if (dirname(folder) === folder) return [start];
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** The configuration file for a path: the path itself, or the `.mcp.json` of a folder. */
export async function configurationFileAt(path: string): Promise<string> {
  return (await isFolder(path)) ? join(resolve(path), configurationFileName) : resolve(path);
}
