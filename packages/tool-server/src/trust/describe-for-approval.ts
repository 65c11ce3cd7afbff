import { basename } from "node:path";
import {
  type Entry,
  type FieldName,
  fieldTable,
  type NamedField,
  type StdioEntry,
  type TextField,
} from "../config/entry.js";
import { formatPath } from "../config/finding.js";
import { resolveOrigin, type Variables } from "../config/substitute-entry.js";
import { literalOf, pluginRootVariable, variablesOf } from "../config/template.js";
import { parseUrlTemplate, type UrlRegion, variableMark } from "../config/url-template.js";
import { variableUses } from "../config/variable-uses.js";
import { inheritedVariables } from "../process/child-environment.js";
import { isLauncher } from "../process/resolve-command.js";
import { secretFieldsOf, secretNotShown } from "./approval.js";
import type { EntryFingerprint, FileFingerprint } from "./fingerprint-entry.js";
import { originOf } from "./origin-pattern.js";
import { quoteUnlessPlain } from "./quoted-text.js";

/** A header or a variable of a process, as it is written. */
export interface DescribedField {
  readonly name: string;
  /** With variables unexpanded; where a secret is wrongly written there, a sentence that says so. */
  readonly text: string;
}

/** A variable of the user that an entry would get. */
export interface DescribedVariable {
  readonly name: string;
  /** Where it goes, as `headers.Authorization`. */
  readonly field: string;
  /** The part of the url, where the field is that. */
  readonly region?: UrlRegion | undefined;
  readonly isSecret: boolean;
  readonly hasDefault: boolean;
}

/** What a person must see before they approve an entry. All text is as written: escape it before it reaches a terminal. */
export interface ApprovalDescription {
  readonly server: string;
  readonly type: Entry["type"];
  /** Where the entry stands in the file. */
  readonly line: number;
  readonly url?: string | undefined;
  /** Where the url leads with the values of its variables, in the normal form of URLs: what looks alike differs here. */
  readonly origin?: string | undefined;
  readonly headers: readonly DescribedField[];
  readonly helper?: string | undefined;
  readonly command?: string | undefined;
  readonly args: readonly string[];
  readonly environment: readonly DescribedField[];
  /**
   * What a program gets of the user's environment in addition: names, and patterns such as `npm_config_*`, of variables that hold
   * no credential; or `all` for a helper, which gets everything but the credentials of other servers.
   */
  readonly inherited: readonly string[] | "all";
  readonly variables: readonly DescribedVariable[];
  /** Fields that the format does not have. */
  readonly otherFields: readonly string[];
  /** The files whose content the approval is of; empty where no fingerprint was given. */
  readonly files: readonly FileFingerprint[];
  /** What may be overlooked, in sentences that are safe to print. */
  readonly notices: readonly string[];
}

/**
 * Describes an entry for approval, with the files of its fingerprint if one is given. Nothing is run, resolved by name or connected
 * to, and only the variables that decide where the url leads are looked up. A secret that is wrongly written into the entry is left
 * out.
 */
export function describeForApproval(
  entry: Entry,
  fingerprint?: EntryFingerprint,
  variables: Variables = {},
): ApprovalDescription {
  const secrets = secretFieldsOf(entry);
  const textOf = ({ path, template }: TextField): string =>
    secrets.has(formatPath(path.slice(entry.path.length))) ? secretNotShown : template.text;
  const namedOf = (fields: readonly NamedField[]): DescribedField[] =>
    fields.map((field) => ({ name: field.name, text: textOf(field) }));
  const isStdio = entry.type === "stdio";
  const resolved = resolveOrigin(entry, variables);
  const origin = resolved !== undefined && "origin" in resolved ? resolved.origin : undefined;
  const problem = resolved !== undefined && "problem" in resolved ? resolved.problem : undefined;
  return {
    server: entry.name,
    type: entry.type,
    line: entry.line,
    ...(isStdio
      ? { command: textOf(entry.command), args: entry.args.map(textOf), environment: namedOf(entry.env), headers: [] }
      : {
          url: textOf(entry.url),
          origin: originOf(entry.url.template, origin)?.text,
          headers: namedOf(entry.headers),
          helper: entry.headersHelper && textOf(entry.headersHelper),
          args: [],
          environment: [],
        }),
    inherited: isStdio ? inheritedVariables(commandOf(entry)) : entry.headersHelper === undefined ? [] : "all",
    variables: describeVariables(entry),
    otherFields: Object.keys(Object(entry.written)).filter((key) => !Object.hasOwn(fieldTable, key as FieldName)),
    files: fingerprint?.files ?? [],
    notices: [
      ...noticesOf(entry),
      ...(problem === undefined ? [] : [`It is not known where the url leads, so it will be asked again. ${problem}`]),
    ],
  };
}

/** The command of an entry; undefined if a variable of the user decides which it is. */
function commandOf({ command: { template } }: StdioEntry): string | undefined {
  return variablesOf(template).some(({ name }) => name !== pluginRootVariable) ? undefined : template.text;
}

function describeVariables(entry: Entry): DescribedVariable[] {
  const inUrl = entry.type === "stdio" ? [] : variablesOf(entry.url.template);
  const regions = entry.type === "stdio" ? [] : (parseUrlTemplate(entry.url.template)?.regions ?? []);
  const uses = variableUses(entry).map(({ variable: name, field, isSecret, hasDefault }): DescribedVariable[] => {
    if (field !== "url") return [{ name, field, isSecret, hasDefault }];
    const found = regions.filter((_, index) => inUrl[index]?.name === name);
    if (found.length === 0) return [{ name, field, isSecret, hasDefault }];
    return found.map((region) => ({ name, field, region, isSecret, hasDefault }));
  });
  const unique = new Map(uses.flat().map((use) => [JSON.stringify([use.name, use.field, use.region]), use]));
  return [...unique.values()];
}

// Variables by which a process is made to load or run something else.
const loaders =
  /^(?:PATH|SHELL|ENV|BASH_ENV|IFS|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|PYTHON.*|PERL5.*|RUBYOPT|RUBYLIB|_?JAVA_.*|JDK_JAVA_OPTIONS|CLASSPATH|GIT_.*|NPM_CONFIG_.*|UV_.*|PIP_.*|DENO_.*|BUN_.*|DOTNET_.*|EDITOR|PAGER|BROWSER)$/i;
const interpreters =
  /^(?:(?:ba|da|z|k|fi)?sh|node|nodejs|deno|bun|python[\d.]*|perl|ruby|php|osascript|pwsh|powershell|cmd)(?:\.exe)?$/i;
const inlineCode = /^(?:-\w*[cepr]|\/c|-command|-encodedcommand|--eval|--print|eval)$/i;

/** What a person may not see at once, in sentences: where values go, and what an approval cannot cover. */
export function noticesOf(entry: Entry): string[] {
  return [...programNotices(entry), ...(entry.type === "stdio" ? stdioNotices(entry) : urlNotices(entry))];
}

function programNotices(entry: Entry): string[] {
  const program = entry.type === "stdio" ? entry.command : entry.headersHelper;
  const subject = entry.type === "stdio" ? "It" : "Its helper";
  const notices = entry.sandbox
    ? []
    : [`${subject} asks to run without the sandbox (sandbox: false): it can then read the tokens of all servers.`];
  const names = variablesOf(program?.template ?? { text: "", parts: [], malformed: [] })
    .map(({ name }) => name)
    .filter((name) => name !== pluginRootVariable);
  if (program === undefined || names.length === 0) return notices;
  return [...notices, `Which program ${program.field} runs depends on your ${[...new Set(names)].join(", ")}.`];
}

function stdioNotices(entry: StdioEntry): string[] {
  const notices: string[] = [];
  const program = basename(literalOf(entry.command.template));
  const args = entry.args.map(({ template }) => template.text);
  if (interpreters.test(program) && args.some((arg) => inlineCode.test(arg))) {
    notices.push("Its arguments hold code that is run. Read them.");
  }
  if (isLauncher(program)) {
    notices.push("It may download the program that it runs: an approval does not cover what it downloads.");
  }
  for (const { name } of entry.env.filter((variable) => loaders.test(variable.name))) {
    notices.push(`The variable ${quoteUnlessPlain(name)} can make the process load or run something else.`);
  }
  for (const { variable, field, isSecret } of variableUses(entry)) {
    if (!isSecret || !field.startsWith("args[")) continue;
    notices.push(`The value of ${variable} is an argument: other users of this machine can see it.`);
  }
  return notices;
}

function urlNotices(entry: Exclude<Entry, StdioEntry>): string[] {
  const { regions = [], host = "" } = parseUrlTemplate(entry.url.template) ?? {};
  return variablesOf(entry.url.template).map(({ name }, index) => {
    const region = regions[index] ?? "path";
    if (region === "origin" || region === "scheme" || (region === "host" && host.endsWith(variableMark))) {
      return `Your ${name} decides where the url leads, and so who gets what the entry sends.`;
    }
    return region === "host"
      ? `The value of ${name} is part of the host: everyone who resolves the name sees it.`
      : `The value of ${name} goes to the server in the ${region} of the url, where logs may keep it.`;
  });
}
