import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { NotStarted } from "./process-outcome.js";

/** The file that a command names, or why there is none that can be run. */
export type ResolvedCommand = { readonly kind: "found"; readonly path: string } | NotStarted;

/**
 * Finds the program as `execvp` does, but tells what was searched: a name with a slash counts from `cwd`, another is
 * looked for in `path`. Folders of PATH that are not absolute are passed over, so that a project cannot plant a program.
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
    const facts = await stat(path);
    if (!facts.isFile()) return { kind: "not-executable", path, isDirectory: facts.isDirectory() };
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
