import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readBoundedFile } from "../files/bounded-file.js";
import { programName } from "../process/resolve-command.js";
import { type NamedFile, pathWithin, separators, userMark } from "./named-file.js";

const javaScript =
  /^(?:node|nodejs|bun|deno|tsx|esno|jiti|ts-node(?:-\w+)*|vite-node|babel-node|swc-node|nodemon|electron|pm2|c8|nyc)$/;
const python = /^(?:python[\d.]*|pypy[\d.]*|py|uv)$/;
// Node tries the first three. The others belong to bun, tsx and similar programs.
const extensions = [".js", ".json", ".node", ".cjs", ".mjs", ".ts", ".mts", ".cts", ".tsx", ".jsx"];
const pythonExtensions = [".py", ".pyc", ".so"];
const maxManifestBytes = 1 << 20;

// Options without a value, so that the next argument is the script.
const flags =
  /^(?:--[\w-]+=.*|--enable-source-maps|--no-(?:warnings|deprecation)|--trace-(?:warnings|deprecation)|--experimental-(?:strip|transform)-types|--inspect(?:-brk)?|-[uBsEIO]+)$/;

/** An argument of a command, with the possible paths in it. */
export interface ScriptArgument {
  readonly field: string;
  /** With `userMark` for the variables of the user. */
  readonly text: string;
  readonly candidates: readonly NamedFile[];
}

/**
 * The existing files that an interpreter runs for arguments that are not files: `server.js` for `node server`; for a folder its main file, as
 * its `package.json` says, or its `index.js` or `__main__.py`; for `python -m a.b` the module in one of the folders that Python searches.
 */
export async function scriptFiles(
  program: string,
  args: readonly ScriptArgument[],
  folders: readonly string[],
  pluginRoot: string,
): Promise<NamedFile[]> {
  const names = [program, ...args.map(({ text }) => text)].flatMap((text) => text.split(separators)).map(programName);
  const isJavaScript = names.some((name) => javaScript.test(name));
  const isPython = names.some((name) => python.test(name));
  if (!isJavaScript && !isPython) return [];
  const files = isPython ? await pythonModuleFiles(args, folders) : [];
  // Arguments after the script belong to it. Other programs may have a subcommand before the script.
  const hasScriptFirst = /^(?:node|nodejs|python[\d.]*)$/.test(programName(program));
  for (const [index, { text, candidates }] of args.entries()) {
    let isScript = false;
    for (const { field, path, isCertain } of candidates) {
      if (path === undefined) continue;
      const kind = await kindOf(path);
      const found = kind === "file" ? [] : await existing(await scriptsAt(path, kind, { isJavaScript, isPython }));
      // A word such as ".." means the rest of the repository, not the system.
      const isAbove = pathWithin(path, pluginRoot) !== undefined;
      files.push(...found.map((each) => ({ field, path: each, isCertain: isCertain || isAbove })));
      isScript ||= kind === "file" || found.length > 0;
    }
    const before = args[index - 1]?.text ?? "";
    const isOperand = !text.startsWith("-") && text !== "inspect" && (!before.startsWith("-") || flags.test(before));
    if (hasScriptFirst && isScript && isOperand) break;
  }
  return files;
}

/** The files that an interpreter tries for a path that is not a file. */
async function scriptsAt(
  path: string,
  kind: "folder" | "missing",
  { isJavaScript, isPython }: { readonly isJavaScript: boolean; readonly isPython: boolean },
): Promise<string[]> {
  const paths: string[] = [];
  if (isJavaScript) paths.push(...withExtensions(path));
  if (isJavaScript && kind === "folder") {
    const manifest = join(path, "package.json");
    const mains = (await mainOf(manifest)).map((main) => resolve(path, main));
    paths.push(manifest, ...[...mains, path].flatMap(mainFilesAt));
  }
  if (isPython && kind === "folder") paths.push(...pythonExtensions.map((end) => join(path, `__main__${end}`)));
  return paths;
}

/** The existing files that `python -m a.b` imports from these folders. */
async function pythonModuleFiles(args: readonly ScriptArgument[], folders: readonly string[]): Promise<NamedFile[]> {
  const option = args.findIndex(({ text }) => /^-[a-zA-Z]*m/.test(text));
  const attached = args[option]?.text.replace(/^-[a-zA-Z]*?m/, "");
  const { field, text } = (attached === "" ? args[option + 1] : args[option]) ?? { field: "", text: "" };
  const module = attached === "" ? text : (attached ?? "");
  if (module.includes(userMark)) return [{ field, path: undefined, isCertain: true }];
  const steps = module.split(".");
  if (!steps.every((step) => /^[\p{L}\p{N}_]+$/u.test(step))) return [];
  const packages = steps.map((_, index) => join(...steps.slice(0, index + 1), "__init__"));
  const stems = [...packages, join(...steps), join(...steps, "__main__")];
  const paths = folders.flatMap((folder) =>
    stems.flatMap((stem) => pythonExtensions.map((end) => join(folder, `${stem}${end}`))),
  );
  return (await existing(paths)).map((path) => ({ field, path, isCertain: false }));
}

function withExtensions(path: string): string[] {
  return extensions.map((extension) => `${path}${extension}`);
}

/** The files that node tries for the main file of a package, and for a folder without one. */
function mainFilesAt(path: string): string[] {
  return [path, ...withExtensions(path), ...withExtensions(join(path, "index"))];
}

async function mainOf(manifest: string): Promise<string[]> {
  try {
    const { main, module } = Object(
      JSON.parse(String(await readBoundedFile(manifest, { maxBytes: maxManifestBytes }))),
    );
    return [main, module].filter((each) => typeof each === "string" && !each.includes("\0"));
  } catch {
    return [];
  }
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of new Set(paths)) if ((await kindOf(path)) === "file") files.push(path);
  return files;
}

/** A pipe, or a path that this user cannot access, counts as a file: it must not be missed. */
async function kindOf(path: string): Promise<"file" | "folder" | "missing"> {
  return stat(path).then(
    (stats) => (stats.isDirectory() ? "folder" : "file"),
    ({ code }: NodeJS.ErrnoException) =>
      code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" ? "missing" : "file",
  );
}
