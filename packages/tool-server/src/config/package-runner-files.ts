import { readdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { readBoundedFile } from "../files/bounded-file.js";
import { isFolder, programName } from "../process/resolve-command.js";
import type { TemplateField } from "./entry.js";
import { findPackages } from "./installed-packages.js";
import { defaultText, type NamedFile, separators, userMark } from "./named-file.js";

/** The settings files that decide what each runner downloads and runs. It searches its working directory and all parent folders. */
const settingsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ["npx", [".npmrc"]],
  ["npm", [".npmrc", "package.json"]],
  ...each(["pnpx", "pnpm"], [".npmrc", "pnpm-workspace.yaml", ".pnpmfile.cjs", ".pnpmfile.mjs", "package.json"]),
  ["yarn", [".npmrc", ".yarnrc", ".yarnrc.yml", "package.json"]],
  ["bunx", [".npmrc", "bunfig.toml"]],
  ["bun", [".npmrc", "bunfig.toml", "package.json"]],
  ["deno", [".npmrc", "deno.json", "deno.jsonc", "deno.lock", "package.json"]],
  ...each(["uvx", "uv", "pipx", "pip", "pip3"], ["uv.toml", "pyproject.toml", ".python-version", ".python-versions"]),
]);

// These reference many files that do not affect what is run, such as a README.
const describesProject = /^(?:package\.json|pyproject\.toml|deno\.lock|pnpm-workspace\.yaml)$/;
const usesNodeModules = /^(?:npx|npm|pnpx|pnpm|yarn|bunx|bun|deno)$/;
// Programs that run the command in their arguments.
const wrappers = /^(?:(?:ba|da|z|k|fi)?sh|cmd|env|nohup|nice|timeout|sudo)$/;
const subcommands = /^(?:run|exec|x|dlx|tool|task)$/;
const maxNames = 256;
const maxSettingsBytes = 1 << 20;

/**
 * The existing files that determine what a package runner such as npx runs, although no argument references them: its settings, and what is
 * installed in the working directory or in a parent folder, which runs instead of the published package.
 */
export async function packageRunnerFiles(
  program: TemplateField,
  args: readonly TemplateField[],
  folder: string,
): Promise<NamedFile[]> {
  const texts = [program, ...args].map(({ template }) => defaultText(template, folder));
  const runners = runnersIn(texts);
  if (runners.length === 0) return [];
  const words = wordsIn(texts.slice(1));
  const names = new Set(words.slice(0, maxNames).flatMap(packageNamesIn));
  const packages = packageArguments(texts);
  const { field } = program;
  const paths = new Set<string>();
  // A process sees its working directory without links.
  const start = await realpath(folder).catch(() => folder);
  const home = await realpath(homedir()).catch(() => homedir());
  const folders = parentsOf(start);
  let isComplete = words.length <= maxNames;
  for (const each of folders) {
    // Files in the home directory are the user's settings.
    const isOfUser = each === home && each !== start;
    if (!isOfUser) for (const path of await settingsIn(each, start, runners)) paths.add(path);
    for (const path of await pythonProgramsIn(each, runners, [...names])) paths.add(path);
  }
  if (runners.some((runner) => usesNodeModules.test(runner))) {
    const isDeep =
      runners.includes("npx") || (runners.includes("npm") && words.some((word) => /^(?:exec|x)$/.test(word)));
    const programs = new Set([...[...names].map((name) => basename(name)), ...words.slice(0, maxNames)]);
    // A package can be a folder, such as ./tool.
    const local = wordsIn(packages)
      .filter((word) => /^(?:file:)?[./~]/.test(word))
      .map((word) => resolve(start, word.replace(/^file:/, "")));
    for (const each of [...folders, ...local]) {
      const found = await findPackages(each, names, isDeep, local.includes(each));
      isComplete &&= found.isComplete;
      for (const { manifest, programs: own } of found.packages) {
        paths.add(manifest);
        for (const [name, path] of own) {
          paths.add(path);
          programs.add(name);
        }
      }
    }
    // A program of that name runs, whichever package it belongs to.
    for (const each of folders) for (const name of programs) paths.add(join(each, "node_modules", ".bin", name));
  }
  const files: string[] = [];
  for (const path of paths) if (await isFileOrUnreadable(path)) files.push(path);
  const unknown = [
    ...(isComplete ? [] : (["too-many"] as const)),
    ...(packages.at(-1)?.includes(userMark) ? (["variable"] as const) : []),
  ];
  return [
    ...files.map((path) => ({ field, path, isCertain: true, isNearby: true })),
    ...unknown.map((reason) => ({ field, path: undefined, isCertain: true, unknown: reason })),
  ];
}

function each(runners: readonly string[], names: readonly string[]): (readonly [string, readonly string[]])[] {
  return runners.map((runner) => [runner, names]);
}

/** The package runners that a command starts, directly or through a shell. */
function runnersIn([program = "", ...args]: readonly string[]): string[] {
  const first = programName(program);
  const words = wrappers.test(first) ? args.flatMap((text) => text.split(separators)).map(programName) : [first];
  return [...new Set(words)].filter((word) => settingsOf.has(word));
}

/** The folder and all folders above it. */
function parentsOf(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...parentsOf(parent)];
}

function wordsIn(texts: readonly string[]): string[] {
  const words = texts.flatMap((text) => [text, ...text.split(/[\0\s"'`=,;|&<>()]+/)]);
  return [...new Set(words)].filter((word) => word !== "" && !word.includes(userMark));
}

/** The package that a word names: `@acme/server` for `@acme/server@1.2.3`. */
function packageNamesIn(word: string): string[] {
  const [, name, version] =
    /^(?:(?:npm|jsr):\/?)?((?:@[\w.~-]+\/)?[\w~][\w.~-]*)(?:@([^/]*(?:\/.*)?)|\/.*)?$/.exec(word) ?? [];
  if (name === undefined) return [];
  // An alias: server@npm:@acme/server.
  return [name, ...(version?.startsWith("npm:") ? packageNamesIn(version) : [])];
}

/** The arguments up to the one that names the package. */
function packageArguments([, ...args]: readonly string[]): string[] {
  const index = args.findIndex((text) => !text.startsWith("-") && !subcommands.test(text));
  return index === -1 ? [...args] : args.slice(0, index + 1);
}

async function settingsIn(folder: string, start: string, runners: readonly string[]): Promise<string[]> {
  const isProject =
    (await isFileOrUnreadable(join(folder, "package.json"))) || (await isFolder(join(folder, "node_modules")));
  const names = new Set(runners.flatMap((runner) => settingsOf.get(runner) ?? []));
  // npm reads the .npmrc of a project, and of the working directory if it is in none.
  if (!isProject && folder !== start) names.delete(".npmrc");
  const paths = [...names].map((name) => join(folder, name));
  const named = await Promise.all(paths.map((path) => (describesProject.test(basename(path)) ? [] : filesIn(path))));
  return [...paths, ...named.flat()];
}

/** The files that settings name, such as `yarnPath: .yarn/releases/yarn.cjs` or `script-shell=./sh`. */
async function filesIn(path: string): Promise<string[]> {
  const content = await readBoundedFile(path, { maxBytes: maxSettingsBytes }).then(String, () => "");
  const words = new Set(content.split(/[\0\s"'`=,;:|&<>()[\]{}]+/).filter((word) => /[./]/.test(word)));
  return [...words].slice(0, maxNames).map((word) => resolve(dirname(path), word));
}

/** The programs of Python environments in a folder that `uv run` and `pipx run` prefer. */
async function pythonProgramsIn(
  folder: string,
  runners: readonly string[],
  names: readonly string[],
): Promise<string[]> {
  const paths: string[] = [];
  if (runners.includes("uv")) {
    const programs = ["python", "python3", ...names].map((name) => join(folder, ".venv", "bin", name));
    paths.push(join(folder, ".venv", "pyvenv.cfg"), ...programs);
  }
  if (runners.includes("pipx")) {
    const local = join(folder, "__pypackages__");
    const versions = (await readdir(local).catch(() => [])).slice(0, maxNames);
    for (const version of versions) paths.push(...names.map((name) => join(local, version, "lib", "bin", name)));
  }
  return paths;
}

/** Whether the path exists and is not a folder, or cannot be checked by this user. */
async function isFileOrUnreadable(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => !stats.isDirectory(),
    (error: NodeJS.ErrnoException) => !["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(error.code ?? ""),
  );
}
