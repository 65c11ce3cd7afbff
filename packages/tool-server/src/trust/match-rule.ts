import { realpath } from "node:fs/promises";
import { basename, isAbsolute, normalize, resolve } from "node:path";
import type { Entry, NetworkEntry, StdioEntry } from "../config/entry.js";
import { pathWithin } from "../config/named-file.js";
import { weakenedBy } from "../config/oauth-settings.js";
import { pluginRootVariable, type Template } from "../config/template.js";
import type { EntryFingerprint } from "./fingerprint-entry.js";
import { matchesOrigin, originOf } from "./origin-pattern.js";
import type { PolicyRule } from "./policy.js";

/** The entry that rules are matched against. */
export interface RuleSubject {
  readonly entry: Entry;
  readonly fingerprint: EntryFingerprint;
  readonly pluginRoot: string;
  /** The path of the configuration as given, and without symbolic links. */
  readonly configurations: readonly [named: string, real: string];
}

/**
 * Whether a rule allows an entry; `has-files` if only files of the project prevent that. Matches narrowly: a value that depends on a variable is
 * not allowed, unless the origin of the url is known, and neither is anything that the rule does not mention and that could run or see more: a
 * helper or secret command, a variable of the process, a file of variables, another working directory, no sandbox, OAuth settings that disable
 * a protection. A rule for a command means the same program everywhere, so without a fingerprint it does not allow an entry with files: npx
 * prefers a package of the project to the published one.
 */
export async function matchAllowRule(
  rule: PolicyRule,
  subject: RuleSubject,
): Promise<"allowed" | "has-files" | "no-match"> {
  if (!(await matchesRule(rule, subject))) return "no-match";
  const hasFiles = rule.command !== undefined && subject.fingerprint.files.length > 0;
  return hasFiles && rule.fingerprint === undefined ? "has-files" : "allowed";
}

async function matchesRule(rule: PolicyRule, subject: RuleSubject): Promise<boolean> {
  const { entry, fingerprint, configurations } = subject;
  if (rule.fingerprint !== undefined && !(fingerprint.isComplete && fingerprint.digest === rule.fingerprint))
    return false;
  if (rule.configuration !== undefined && !(await isBelow(rule.configuration, configurations[1]))) return false;
  if (rule.url !== undefined) {
    const hasPrograms = entry.type === "stdio" || entry.headersHelper !== undefined || entry.secretCommands.length > 0;
    if (entry.type === "stdio" || (hasPrograms && !rule.helper)) return false;
    const origin = originOf(entry.url.template, fingerprint.origin);
    if (origin === undefined || !matchesOrigin(rule.url, origin, false)) return false;
  }
  if (entry.type !== "stdio" && isWeakened(entry) && rule.fingerprint === undefined) return false;
  if (!entry.sandbox && rule.sandbox && rule.fingerprint === undefined) return false;
  if (rule.command === undefined) return true;
  if (entry.secretCommands.length > 0 && rule.fingerprint === undefined) return false;
  return (
    entry.type === "stdio" &&
    entry.command.template.text === rule.command &&
    rule.args.every((arg, index) => entry.args[index]?.template.text === arg) &&
    entry.env.every(({ name }) => rule.env.includes(name)) &&
    ((entry.cwd === undefined && entry.envFile === undefined) || rule.fingerprint !== undefined)
  );
}

/** Whether the entry has OAuth settings that disable a protection. */
function isWeakened({ oauth }: NetworkEntry): boolean {
  return Object.keys(weakenedBy(oauth ?? {})).length > 0;
}

/** Whether a rule denies an entry. Matches widely: it is enough that the entry could match with some values of its variables. */
export async function isDeniedBy(rule: PolicyRule, subject: RuleSubject): Promise<boolean> {
  const { entry, fingerprint, configurations, pluginRoot } = subject;
  if (rule.fingerprint !== undefined && fingerprint.digest !== rule.fingerprint) return false;
  const { configuration } = rule;
  if (configuration !== undefined) {
    const matches = await Promise.all(configurations.map((path) => isBelow(configuration, path)));
    if (!matches.includes(true)) return false;
  }
  if (rule.url !== undefined) {
    const origin = entry.type === "stdio" ? undefined : originOf(entry.url.template, fingerprint.origin);
    if (origin === undefined || !matchesOrigin(rule.url, origin, true)) return false;
  }
  if (rule.command === undefined) return true;
  return (
    entry.type === "stdio" &&
    couldRun(entry, rule.command, pluginRoot) &&
    rule.args.every((arg, index) => {
      const template = entry.args[index]?.template;
      return template !== undefined && couldBe(piecesOf(template, pluginRoot), arg);
    })
  );
}

/** A name denies every path that ends with it, and a path also denies its bare name. */
function couldRun(entry: StdioEntry, command: string, pluginRoot: string): boolean {
  const pieces = piecesOf(entry.command.template, pluginRoot);
  if (couldBe(pieces, command) || entry.command.template.text === command) return true;
  // A relative command is started from the working directory.
  const folder = entry.cwd === undefined ? [pluginRoot] : piecesOf(entry.cwd.template, pluginRoot);
  const isOpen = pieces.includes(undefined) || (folder.includes(undefined) && !pieces[0]?.startsWith("/"));
  const isBare = !command.includes("/") || !pieces.some((piece) => piece?.includes("/"));
  if (isOpen || isBare) return couldBe(lastNameOf(pieces), basename(command));
  return isAbsolute(command) && resolve(pluginRoot, folder.join(""), pieces.join("")) === normalize(command);
}

/** What follows the last slash; the value of a variable may contain slashes. */
function lastNameOf(pieces: readonly (string | undefined)[]): (string | undefined)[] {
  const open = pieces.lastIndexOf(undefined);
  const rest = pieces.slice(open + 1).join("");
  if (open === -1 || rest.includes("/")) return [rest.slice(rest.lastIndexOf("/") + 1)];
  return [undefined, rest];
}

/** The parts of a template, with undefined for each variable whose value is unknown. */
function piecesOf({ parts }: Template, pluginRoot: string): (string | undefined)[] {
  return parts.map((part) => {
    if (part.kind === "text") return part.text;
    return part.name === pluginRootVariable ? pluginRoot : undefined;
  });
}

/** Whether the pieces could form a string, if undefined matches anything. */
function couldBe(pieces: readonly (string | undefined)[], text: string): boolean {
  if (!pieces.includes(undefined)) return pieces.join("") === text;
  const fixed = pieces
    .map((piece) => piece ?? "\0")
    .join("")
    .split(/\0+/);
  const first = fixed[0] ?? "";
  const last = fixed.at(-1) ?? "";
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const piece of fixed.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found === -1 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}

async function isBelow(folder: string, path: string): Promise<boolean> {
  const real = await realpath(folder).catch(() => folder);
  return [resolve(folder), real].some((each) => each === path || pathWithin(each, path) !== undefined);
}
