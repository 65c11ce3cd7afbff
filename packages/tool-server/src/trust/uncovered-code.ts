import { resolve } from "node:path";
import type { Entry, StdioEntry, TemplateField } from "../config/entry.js";
import { readsManifests } from "../config/manifest-files.js";
import { workingDirectoriesOf } from "../config/plugin-files.js";
import { pluginRootVariable } from "../config/template.js";
import { isLauncher, programName } from "../process/resolve-command.js";
import { quoteUnlessPlain } from "./quoted-text.js";

/** A file that an approval covers. */
interface CoveredFile {
  /** Whether it is a program in machine code, which names no other program that runs it. */
  readonly isNative: boolean;
}

// Variables that make a process load or run something else.
const loaders =
  /^(?:PATH|SHELL|ENV|BASH_ENV|IFS|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|PYTHON.*|PERL5.*|RUBYOPT|RUBYLIB|_?JAVA_.*|JDK_JAVA_OPTIONS|CLASSPATH|GIT_.*|NPM_CONFIG_.*|UV_.*|PIP_.*|DENO_.*|BUN_.*|DOTNET_.*|EDITOR|PAGER|BROWSER)$/i;

/** Programs that run the file that their first argument names, and options without a value that may precede it. */
const interpreters: readonly (readonly [program: RegExp, flags: RegExp])[] = [
  [
    /^node(?:js)?$/,
    /^--(?:enable-source-maps|no-warnings|no-deprecation|trace-warnings|trace-deprecation|experimental-strip-types)$/,
  ],
  [/^(?:python|pypy)[\d.]*$/, /^-[uBsEIO]+$/],
  [/^(?:perl|ruby|php)$/, /^$/],
];

/** Whether a variable of a process can make it load or run something else. */
export function isLoader(variable: string): boolean {
  return loaders.test(variable);
}

/**
 * The programs of an entry that may run code which an approval does not cover, as written. A stdio server is known to run covered code only
 * if it is a native program of the project, or an interpreter with a covered file; what these load by themselves does not count.
 */
export function uncoveredPrograms(
  entry: Entry,
  pluginRoot: string,
  coveredFile: (path: string) => CoveredFile | undefined,
): string[] {
  const runsOthers = entry.secretCommands
    .map(({ command }) => command)
    .filter((command) => isLauncher(command[0]?.template.text ?? "") || readsManifests(command))
    .flatMap(([program]) => program ?? []);
  const isOpen = entry.type === "stdio" && !runsCoveredCode(entry, pluginRoot, coveredFile);
  return [...new Set([...(isOpen ? [entry.command] : []), ...runsOthers].map(({ template }) => template.text))];
}

export function uncoveredNotice(program: string): string {
  const download = isLauncher(program) ? " It may download that code." : "";
  return `This approval does not cover the code that ${quoteUnlessPlain(program)} runs.${download}`;
}

function runsCoveredCode(
  entry: StdioEntry,
  pluginRoot: string,
  coveredFile: (path: string) => CoveredFile | undefined,
): boolean {
  const { folders, isUnknown } = workingDirectoriesOf(entry, pluginRoot);
  const [folder] = folders;
  const command = fixedText(entry.command, pluginRoot);
  if (isUnknown || folder === undefined || command === undefined) return false;
  if (entry.envFile !== undefined || entry.env.some(({ name }) => isLoader(name))) return false;
  const [, flags] = interpreters.find(([program]) => program.test(programName(command))) ?? [];
  if (flags === undefined) {
    const runsOther = isLauncher(command) || readsManifests([entry.command]);
    return !runsOther && command.includes("/") && coveredFile(resolve(folder, command))?.isNative === true;
  }
  const script = entry.args.find(({ template }) => !flags.test(template.text));
  const text = script && fixedText(script, pluginRoot);
  // Neither an option such as -m nor a subcommand such as `node inspect`, even if there is a file of that name.
  if (text === undefined || text.startsWith("-") || !/[./]/.test(text)) return false;
  return coveredFile(resolve(folder, text)) !== undefined;
}

/** The text of a field; undefined if a user's variable decides a part of it. */
function fixedText({ template: { parts } }: TemplateField, pluginRoot: string): string | undefined {
  const texts = parts.map((part) => {
    if (part.kind === "text") return part.text;
    return part.name === pluginRootVariable ? pluginRoot : undefined;
  });
  return texts.includes(undefined) ? undefined : texts.join("");
}
