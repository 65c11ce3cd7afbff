import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { shellWord } from "../command-line.js";
import type { NotStarted } from "./process-outcome.js";

/** The file that a command names, or why it cannot be run. */
type ResolvedCommand = { readonly kind: "found"; readonly path: string } | NotStarted;

/**
 * Finds the program as `execvp` does, or returns the folders that were searched: a name with a slash is relative to `cwd`, another one is
 * searched in `path`. Relative folders in PATH are skipped, so that a project cannot plant a program.
 */
export async function resolveCommand(command: string, cwd: string, path: string): Promise<ResolvedCommand> {
  if (command.includes("/")) return (await inspect(resolve(cwd, command))) ?? notFound(resolve(cwd, command), []);
  const searched = path.split(delimiter).filter(isAbsolute);
  if (command === "") return notFound("", searched);
  let unusable: NotStarted | undefined;
  for (const folder of searched) {
    const found = await inspect(join(folder, command));
    if (found?.kind === "found") return found;
    unusable ??= found;
  }
  return unusable !== undefined && !(unusable.kind === "not-executable" && unusable.isDirectory)
    ? unusable
    : notFound(command, searched);
}

async function inspect(path: string): Promise<ResolvedCommand | undefined> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) return { kind: "not-executable", path, isDirectory: stats.isDirectory() };
    await access(path, constants.X_OK);
    return { kind: "found", path };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "EACCES" || code === "EPERM") return { kind: "not-executable", path, isDirectory: false };
    return { kind: "not-started", path, reason: String(code) };
  }
}

function notFound(path: string, searched: readonly string[]): NotStarted {
  return { kind: "not-found", what: "command", path, searched };
}

/**
 * Whether the first line of a script names its interpreter and ends with a carriage return, as Windows editors write it. The
 * system then looks for an interpreter whose name ends with that character. Never rejects.
 */
export async function hasCarriageReturn(path: string): Promise<boolean> {
  return /^#![^\n]*\r\n/.test(await beginningOf(path));
}

/** Whether a file is a script whose first line names an interpreter that does not exist. Never rejects. */
export async function isInterpreterMissing(path: string): Promise<boolean> {
  const [, interpreter] = /^#![ \t]*([^ \t\n]+)/.exec(await beginningOf(path)) ?? [];
  if (interpreter === undefined) return false;
  return stat(Buffer.from(interpreter, "latin1")).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENOTDIR",
  );
}

async function beginningOf(path: string): Promise<string> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } catch {
    return "";
  }
}

/** Whether a path is a folder that this user can reach. */
export async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/** Describes such a script and the fix; `path` is the script. */
export function carriageReturnAdvice(path: string): string {
  return (
    "Its lines end as on Windows (CRLF), so the interpreter in its first line is not found. Convert it: " +
    `sed -i.bak 's/\\r$//' ${shellWord(path)}; and keep it so in git, with "*.sh text eol=lf" in .gitattributes.`
  );
}

/** A family of variables that configures a launcher. */
interface LauncherVariables {
  readonly pattern: RegExp;
  /** The pattern for people. */
  readonly shown: string;
}

// The variables that npm sets for its own children describe the package that it runs, not the user's settings.
const npm: LauncherVariables = {
  pattern: /^npm_config_(?!(?:local_prefix|global_prefix|prefix|node_gyp|init_module|user_agent|npm_version)$)/i,
  shown: "npm_config_*",
};

const families: readonly (readonly [launcher: RegExp, variables: readonly LauncherVariables[]])[] = [
  [/^(?:npx|npm|pnpx|pnpm|yarn|bunx|bun)$/, [npm, family("YARN_"), family("COREPACK_"), family("BUN_CONFIG_")]],
  [/^(?:uvx|uv)$/, [family("UV_")]],
  [/^(?:pipx|pip|pip3)$/, [family("PIP_"), family("PIPX_")]],
  [/^(?:docker|podman|nerdctl)$/, [family("DOCKER_"), family("CONTAINER_"), family("CONTAINERS_")]],
  [/^deno$/, [family("DENO_")]],
  [/^(?:go|cargo|nix)$/, []],
];

/** Whether a command downloads the program that it runs, so that its first start can take minutes. */
export function isLauncher(command: string): boolean {
  return families.some(([launcher]) => launcher.test(programName(command)));
}

/** The variables that configure the launcher; those of all launchers if the command is not known yet. */
export function launcherVariables(command: string | undefined): readonly LauncherVariables[] {
  return families.flatMap(([launcher, variables]) =>
    command === undefined || launcher.test(programName(command)) ? variables : [],
  );
}

/** The name of the program in a command, without its folder and the extension that Windows adds. */
export function programName(command: string): string {
  return (command.split(/[\\/]/).at(-1) ?? "").replace(/\.(?:exe|cmd)$/i, "");
}

function family(prefix: string): LauncherVariables {
  return { pattern: new RegExp(`^${prefix}`), shown: `${prefix}*` };
}
