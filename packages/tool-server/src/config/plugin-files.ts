import { isAbsolute, join, resolve } from "node:path";
import { commandArgument, type Entry, type TemplateField, templateFieldsOf } from "./entry.js";
import { manifestFiles, scriptFiles } from "./manifest-files.js";
import { defaultText, markedText, type NamedFile, pathWithin, separators, userMark } from "./named-file.js";
import { pluginRootVariable, type Template } from "./template.js";

/**
 * The files that decide what an entry runs. The helper, a command that is a path inside the plugin root, and the manifests that its program
 * reads are certain. Each word of `args` and `env` that could be a path is a candidate, because a program may run it as a script. Reads no
 * variables, and runs nothing.
 */
export async function filesOf(entry: Entry, pluginRoot: string): Promise<NamedFile[]> {
  const unique = new Map<string, NamedFile>();
  const { folders, isUnknown } = workingDirectoriesOf(entry, pluginRoot);
  // A program can find files from its working directory and from the root that its arguments name.
  const bases = [...new Set([...folders, pluginRoot])];
  const found = await Promise.all(bases.map((base) => filesFrom(entry, pluginRoot, base)));
  // If a user's variable decides the folder, it decides which program a relative command is.
  const isRelative = entry.type === "stdio" && /^[^/]+\//.test(entry.command.template.text);
  const unknown: NamedFile[] = isUnknown && isRelative ? [{ field: "command", path: undefined, isCertain: true }] : [];
  for (const file of [...unknown, ...found.flat()]) {
    const key = JSON.stringify([file.field, file.path]);
    if (file.isCertain || !unique.has(key)) unique.set(key, file);
  }
  return [...unique.values()];
}

/** The folder outside the plugin root that an entry runs in, if its `cwd` is a relative path; files there belong to the same project. */
export function outerFolderOf(entry: Entry, pluginRoot: string): string | undefined {
  if (entry.type !== "stdio" || entry.cwd === undefined) return undefined;
  const [first] = entry.cwd.template.parts;
  if (first?.kind === "text" && isAbsolute(first.text)) return undefined;
  const [folder] = workingDirectoriesOf(entry, pluginRoot).folders;
  return folder === pluginRoot || folder === undefined || pathWithin(pluginRoot, folder) !== undefined
    ? undefined
    : folder;
}

/** The folders that a server may run in, as far as they are known. `isUnknown`: a user's variable decides which it is. */
export function workingDirectoriesOf(
  entry: Entry,
  pluginRoot: string,
): { readonly folders: readonly string[]; readonly isUnknown: boolean } {
  if (entry.type !== "stdio" || entry.cwd === undefined) return { folders: [pluginRoot], isUnknown: false };
  const { template } = entry.cwd;
  const text = defaultText(template, pluginRoot);
  const known = text.includes(userMark) ? [] : [resolve(pluginRoot, text)];
  return { folders: [...known, ...suffixPathsOf(template, pluginRoot)], isUnknown: hasUserVariables(template) };
}

/** The files that an entry references, if it runs in the folder `base`. */
async function filesFrom(entry: Entry, pluginRoot: string, base: string): Promise<NamedFile[]> {
  const files = templateFieldsOf(entry).flatMap((field): NamedFile[] => {
    const [group = ""] = field.field.split(".");
    if (group === "url" || group === "headers" || group === "oauth" || group === "cwd") return [];
    if (group === "envFile") return programOf(field, pluginRoot, pluginRoot);
    // Secret commands run in the plugin root, wherever the server runs.
    const [, index] = commandArgument.exec(field.field) ?? [];
    if (index === "0") return programOf(field, pluginRoot, pluginRoot);
    if (index !== undefined) return candidatesOf(field, pluginRoot, pluginRoot);
    const isProgram = group === "command" || group === "headersHelper";
    return isProgram ? programOf(field, pluginRoot, base) : candidatesOf(field, pluginRoot, base);
  });
  const commands = [
    ...(entry.type === "stdio" ? [{ command: [entry.command, ...entry.args], folder: base }] : []),
    ...entry.secretCommands.map(({ command }) => ({ command, folder: pluginRoot })),
  ];
  for (const { command, folder } of commands) {
    files.push(...(await manifestFiles(command, folder)), ...(await scriptFiles(command, folder, pluginRoot)));
  }
  return [...files, ...searchedFiles(entry, pluginRoot, base)];
}

function programOf({ field, template }: TemplateField, pluginRoot: string, base: string): NamedFile[] {
  // A name without a slash is a path too.
  const isHelper = field === "headersHelper" || field === "envFile";
  const text = defaultText(template, pluginRoot);
  // If the path is only a variable, the user decides. If the entry adds to it, `${PWD}/x` may be inside the plugin root.
  if (hasUserVariables(template) && template.parts.length > 1) return [{ field, path: undefined, isCertain: true }];
  if (text.includes(userMark)) return [];
  const path = resolve(base, text);
  // A helper is a path even without a slash. A command without a slash is searched in PATH.
  if (!isHelper && !text.includes("/")) return [];
  const isOfPlugin = isHelper || !isAbsolute(text) || pathWithin(pluginRoot, path) !== undefined;
  // Any other file belongs to the system, whose updates do not change the plugin, unless it is a link back into the plugin root.
  return [{ field, path, isCertain: isOfPlugin }];
}

function candidatesOf(
  { field, template }: TemplateField,
  pluginRoot: string,
  base: string,
): (NamedFile & { readonly path: string })[] {
  const rootMark = unusedMark(template.text);
  const text = defaultText(template, rootMark);
  const words = new Set([text, text.slice(text.indexOf("=") + 1), ...text.split(separators)]);
  // For example -r./hook.js.
  for (const word of [...words]) if (/^-\w./.test(word)) words.add(word.slice(2));
  for (let at = text.indexOf(rootMark); at !== -1; at = text.indexOf(rootMark, at + 1)) {
    words.add(text.slice(at));
    words.add(text.slice(at).split(separators)[0] ?? "");
  }
  const inRoot = (word: string): string => word.replaceAll(rootMark, () => pluginRoot);
  const files = [...words].filter(isUsable).map((word) => ({
    field,
    path: resolve(base, inRoot(word)),
    isCertain: (word.startsWith(`${rootMark}/`) || /^\.\.?\//.test(word)) && !/\s/.test(word),
  }));
  return [...files, ...suffixPathsOf(template, base).map((path) => ({ field, path, isCertain: false }))];
}

/** The candidates for a command without a slash if the entry sets PATH. */
function searchedFiles(entry: Entry, pluginRoot: string, base: string): NamedFile[] {
  if (entry.type !== "stdio" || entry.command.template.text.includes("/")) return [];
  const name = entry.command.template.text;
  return entry.env
    .filter((variable) => variable.name === "PATH")
    .flatMap((variable) => candidatesOf(variable, pluginRoot, base))
    .map(({ path }) => ({ field: "command", path: join(path, name), isCertain: false }));
}

/** The paths inside the plugin root that `${HOME}/project/server.js` could be: each suffix of the path, from the root. */
function suffixPathsOf(template: Template, pluginRoot: string): string[] {
  if (!hasUserVariables(template)) return [];
  const words = markedText(template, "", () => userMark).split(separators);
  return words.filter(isUsable).flatMap((word) => {
    const steps = word.split("/").filter((step) => step !== "");
    return steps.map((_, index) => resolve(pluginRoot, steps.slice(index).join("/")));
  });
}

/** A character that does not occur in the string: the root itself may contain separators. */
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
