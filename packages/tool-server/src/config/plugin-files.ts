import { basename, isAbsolute, join, relative, resolve, sep } from "node:path";
import { type Entry, type TextField, textFieldsOf } from "./entry.js";
import { pluginRootVariable, type Template } from "./template.js";

/** A file that an entry may name. */
export interface NamedFile {
  /** The field that names it, as `args[0]`. */
  readonly field: string;
  /** Absolute; undefined where a variable of the user decides which file it is. */
  readonly path: string | undefined;
  /** Whether it counts wherever it is, and also when nothing is there; else only a file of the plugin counts. */
  readonly isCertain: boolean;
}

// What stands for a variable of the user. No argument of a process can hold it.
const userMark = "\0";
const separators = /[\0\s"'`=,;:|&<>()@]+/;

/**
 * The files that decide what an entry runs. The helper, and a command that is a path of the plugin, are certain. Each word of
 * `args` and `env` that could be a path is a candidate: a program may take it as a script. No variable is looked up.
 */
export function filesOf(entry: Entry, pluginRoot: string): NamedFile[] {
  const files = textFieldsOf(entry).flatMap((field) => {
    if (field.field === "url" || field.field.startsWith("headers.")) return [];
    const isProgram = field.field === "command" || field.field === "headersHelper";
    return isProgram ? programOf(field, pluginRoot) : candidatesOf(field, pluginRoot);
  });
  const unique = new Map<string, NamedFile>();
  for (const file of [...files, ...searchedFiles(entry, pluginRoot), ...launcherFiles(entry, pluginRoot)]) {
    const key = JSON.stringify([file.field, file.path]);
    if (file.isCertain || !unique.has(key)) unique.set(key, file);
  }
  return [...unique.values()];
}

/** The path from the root where the file is below it, with slashes; undefined where it is not. */
export function pathWithin(root: string, path: string): string | undefined {
  const inner = relative(root, path);
  const isInside = inner !== "" && inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
  return isInside ? inner.split(sep).join("/") : undefined;
}

function programOf({ field, template }: TextField, pluginRoot: string): NamedFile[] {
  const isHelper = field === "headersHelper";
  const text = markedText(template, pluginRoot, (fallback) => fallback ?? userMark);
  // Where a variable is all there is, its user alone decides. Where the entry adds to it, `${PWD}/x` may be in the plugin.
  if (hasUserVariables(template) && template.parts.length > 1) return [{ field, path: undefined, isCertain: true }];
  if (text.includes(userMark)) return [];
  const path = resolve(pluginRoot, text);
  // A helper is a path, also without a slash. A command without one is looked for in PATH.
  if (!isHelper && !text.includes("/")) return [];
  const isOfPlugin = isHelper || !isAbsolute(text) || pathWithin(pluginRoot, path) !== undefined;
  // Elsewhere it belongs to the system, whose updates are no change of the plugin; unless a link leads back into it.
  return [{ field, path, isCertain: isOfPlugin }];
}

function candidatesOf({ field, template }: TextField, pluginRoot: string): (NamedFile & { readonly path: string })[] {
  const rootMark = unusedMark(template.text);
  const text = markedText(template, rootMark, (fallback) => fallback ?? userMark);
  const words = new Set([text, text.slice(text.indexOf("=") + 1), ...text.split(separators)]);
  // As in -r./hook.js.
  for (const word of [...words]) if (/^-\w./.test(word)) words.add(word.slice(2));
  for (let at = text.indexOf(rootMark); at !== -1; at = text.indexOf(rootMark, at + 1)) {
    words.add(text.slice(at));
    words.add(text.slice(at).split(separators)[0] ?? "");
  }
  const files = [...words].filter(isUsable).map((word) => ({
    field,
    path: resolve(
      pluginRoot,
      word.replaceAll(rootMark, () => pluginRoot),
    ),
    isCertain: (word.startsWith(`${rootMark}/`) || /^\.\.?\//.test(word)) && !/\s/.test(word),
  }));
  return [...files, ...endsOf(template, pluginRoot).map((path) => ({ field, path, isCertain: false }))];
}

/** Where a command without a slash is found if the entry sets the PATH that it is looked for in. */
function searchedFiles(entry: Entry, pluginRoot: string): NamedFile[] {
  if (entry.type !== "stdio" || entry.command.template.text.includes("/")) return [];
  const name = entry.command.template.text;
  return entry.env
    .filter((variable) => variable.name === "PATH")
    .flatMap((variable) => candidatesOf(variable, pluginRoot))
    .map(({ path }) => ({ field: "command", path: join(path, name), isCertain: false }));
}

/** The files of the plugin's root by which a package runner decides what it downloads and runs; no argument names them. */
function launcherFiles(entry: Entry, pluginRoot: string): NamedFile[] {
  if (entry.type !== "stdio") return [];
  const launcher = basename(entry.command.template.text).replace(/\.(?:exe|cmd)$/i, "");
  const names: string[] = [];
  if (/^(?:npx|npm|pnpx|pnpm|yarn|bunx|bun)$/.test(launcher)) {
    names.push(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml");
    // A program that is installed in the folder is run in place of the published one.
    for (const { template } of entry.args) {
      const [, program] = /^(?:@[^/@]+\/)?([\w.-]+)(?:@.*)?$/.exec(template.text) ?? [];
      if (program !== undefined) names.push(`node_modules/.bin/${program}`);
    }
  }
  if (/^(?:npm|pnpm|yarn|bun)$/.test(launcher)) names.push("package.json");
  if (/^(?:uvx|uv|pipx|pip)$/.test(launcher)) names.push("uv.toml", "pyproject.toml");
  return names.map((name) => ({ field: "command", path: join(pluginRoot, name), isCertain: false }));
}

/** What `${HOME}/project/server.js` would be if the variable led into the plugin: each of its ends, from the root. */
function endsOf(template: Template, pluginRoot: string): string[] {
  if (!hasUserVariables(template)) return [];
  const words = markedText(template, "", () => userMark).split(separators);
  return words.filter(isUsable).flatMap((word) => {
    const steps = word.split("/").filter((step) => step !== "");
    return steps.map((_, index) => resolve(pluginRoot, steps.slice(index).join("/")));
  });
}

/** The text of a template with something else in place of the plugin's root and of each variable of the user. */
function markedText({ parts }: Template, root: string, user: (fallback: string | undefined) => string): string {
  const pieces = parts.map((part) => {
    if (part.kind === "text") return part.text;
    return part.name === pluginRootVariable ? root : user(part.fallback);
  });
  return pieces.join("");
}

/** A character that does not stand in the text: the root itself may hold what words are split at. */
function unusedMark(text: string): string {
  let code = 0xe000;
  while (text.includes(String.fromCharCode(code))) code += 1;
  return String.fromCharCode(code);
}

function hasUserVariables({ parts }: Template): boolean {
  return parts.some((part) => part.kind === "variable" && part.name !== pluginRootVariable);
}

function isUsable(word: string): boolean {
  return word !== "" && !word.includes(userMark) && word.length <= 4_096;
}
