import { basename } from "node:path";
import { foreignFields } from "../config/dialect-fields.js";
import {
  commandArgument,
  type Entry,
  type FieldName,
  type FieldSpec,
  fieldTable,
  type NamedField,
  type NetworkEntry,
  type StdioEntry,
  type TemplateField,
} from "../config/entry.js";
import { formatPath } from "../config/finding.js";
import { inputsKey } from "../config/inputs.js";
import { weakenedBy } from "../config/oauth-settings.js";
import { resolveOrigin, type Variables } from "../config/substitute-entry.js";
import { literalOf, pluginRootVariable, variablesOf } from "../config/template.js";
import { parseUrlTemplate, type UrlRegion, variableMark } from "../config/url-template.js";
import { variableUses } from "../config/variable-uses.js";
import { inheritedVariables } from "../process/child-environment.js";
import { entryForm, flattenForm, secretFieldsOf, secretNotShown } from "./approval.js";
import type { EntryFingerprint, FileFingerprint } from "./fingerprint-entry.js";
import { originOf } from "./origin-pattern.js";
import { quoteUnlessPlain } from "./quoted-text.js";
import { isLoader, uncoveredNotice } from "./uncovered-code.js";

/** A header or a variable of a process, as written. */
export interface DescribedField {
  readonly name: string;
  /** Without substitution; a secret that is written into the file is replaced by a notice. */
  readonly text: string;
}

/** A program that obtains a secret. */
export interface DescribedCommand {
  /** The field that gets the output, such as `headers.Authorization`. */
  readonly field: string;
  readonly prefix: string;
  /** The program and its arguments, without substitution. */
  readonly command: readonly string[];
}

/** A variable of the user that an entry uses. */
export interface DescribedVariable {
  readonly name: string;
  /** The field that uses it, such as `headers.Authorization`. */
  readonly field: string;
  /** The part of the url, if the field is the url. */
  readonly region?: UrlRegion | undefined;
  readonly isSecret: boolean;
  readonly hasDefault: boolean;
}

/** Everything that a user must see before approving an entry. Strings are as written: escape them before they reach a terminal. */
export interface ApprovalDescription {
  readonly server: string;
  readonly type: Entry["type"];
  /** The line of the entry in the file. */
  readonly line: number;
  readonly url?: string | undefined;
  /** The origin of the url after substitution, in normalized form, so that look-alike hosts differ. */
  readonly origin?: string | undefined;
  readonly headers: readonly DescribedField[];
  readonly helper?: string | undefined;
  /** The programs that obtain secrets, each with its arguments and what gets its output. */
  readonly commands: readonly DescribedCommand[];
  /** OAuth settings, such as `clientId`; values other than strings are JSON. */
  readonly oauth: readonly DescribedField[];
  /**
   * All other fields that have an effect, such as `cwd`, `envFile` and the selection of tools, and the fields of other programs: by the path in
   * the file, such as `disabled_tools[0]`. The definitions of inputs are named `inputs`. Values other than strings are JSON.
   */
  readonly settings: readonly DescribedField[];
  readonly command?: string | undefined;
  readonly args: readonly string[];
  readonly environment: readonly DescribedField[];
  /**
   * What a program inherits from the user's environment: names, and patterns such as `npm_config_*`, of variables that contain no credential;
   * or `all` for a helper, which inherits everything except the credentials of other servers.
   */
  readonly inherited: readonly string[] | "all";
  readonly variables: readonly DescribedVariable[];
  /** Unknown fields. */
  readonly otherFields: readonly string[];
  /** The files whose content the approval covers; empty without a fingerprint. */
  readonly files: readonly FileFingerprint[];
  /** Warnings, as sentences that are safe to print. */
  readonly notices: readonly string[];
}

/**
 * Describes an entry for approval, with the files of its fingerprint if one is given. Runs nothing, makes no DNS queries or connections, and
 * reads only the variables of the url's origin. A secret that is written into the entry is left out.
 */
export function describeForApproval(
  entry: Entry,
  fingerprint?: EntryFingerprint,
  variables: Variables = {},
): ApprovalDescription {
  const secrets = secretFieldsOf(entry);
  const textOf = ({ path, template }: TemplateField): string =>
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
      ? {
          command: textOf(entry.command),
          args: entry.args.map(textOf),
          environment: namedOf(entry.env),
          headers: [],
          oauth: [],
        }
      : {
          url: textOf(entry.url),
          origin: originOf(entry.url.template, origin)?.text,
          headers: namedOf(entry.headers),
          helper: entry.headersHelper && textOf(entry.headersHelper),
          oauth: describeOAuth(entry),
          args: [],
          environment: [],
        }),
    settings: describeSettings(entry),
    commands: entry.secretCommands.map(({ field, prefix, command }) => ({
      field,
      prefix,
      command: command.map(textOf),
    })),
    inherited: isStdio
      ? inheritedVariables(commandOf(entry))
      : entry.headersHelper === undefined && entry.secretCommands.length === 0
        ? []
        : "all",
    variables: describeVariables(entry),
    otherFields: Object.keys(Object(entry.written)).filter(
      (key) => !Object.hasOwn(fieldTable, key) && !Object.hasOwn(foreignFields, key) && key !== inputsKey,
    ),
    files: fingerprint?.files ?? [],
    notices: [
      ...noticesOf(entry),
      ...(fingerprint?.uncovered ?? []).map(uncoveredNotice),
      ...(problem === undefined
        ? []
        : [`The origin of the url is not known, so approval will be required again. ${problem}`]),
    ],
  };
}

/** The OAuth settings as written, without a secret that is written into them. */
function describeOAuth(entry: NetworkEntry): DescribedField[] {
  const { oauth } = Object(entryForm(entry)) as { readonly oauth?: unknown };
  return [...flattenForm(oauth)].map(([name, text]) => ({ name, text }));
}

/** Fields that the description shows in separate lines, or that are only informational. */
const shownElsewhere: ReadonlySet<string> = new Set([
  ...["type", "url", "headers", "headersHelper", "args", "env", "oauth", "sandbox"],
  ...["title", "description"],
]);

/** The fields as written that have an effect and that no other line shows. */
function describeSettings(entry: Entry): DescribedField[] {
  return Object.entries(Object(entryForm(entry))).flatMap(([key, value]): DescribedField[] => {
    const isInputs = key === inputsKey;
    // A command that is an object is the format of an older version of Zed; its variables are shown nowhere else.
    const isShown =
      shownElsewhere.has(key) || (key === "command" && (typeof value === "string" || Array.isArray(value)));
    if (!isInputs && (isShown || !hasEffect(key, entry.type))) return [];
    return [...flattenForm({ [isInputs ? "inputs" : key]: value })].map(([name, text]) => ({ name, text }));
  });
}

function hasEffect(key: string, type: Entry["type"]): boolean {
  if (Object.hasOwn(fieldTable, key)) {
    const { appliesTo }: FieldSpec = fieldTable[key as FieldName];
    return appliesTo === "both" || appliesTo === (type === "stdio" ? "stdio" : "network");
  }
  const foreign = Object.hasOwn(foreignFields, key) ? foreignFields[key] : undefined;
  if (foreign === undefined || foreign.field === "title") return false;
  return foreign.field !== undefined || foreign.translate !== undefined;
}

/** The command of an entry; undefined if a user's variable decides which it is. */
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

const interpreters =
  /^(?:(?:ba|da|z|k|fi)?sh|node|nodejs|deno|bun|python[\d.]*|perl|ruby|php|osascript|pwsh|powershell|cmd)(?:\.exe)?$/i;
const inlineCode = /^(?:-\w*[cepr]|\/c|-command|-encodedcommand|--eval|--print|eval)$/i;

/** Warnings about what is easy to overlook: where values are sent, and what an approval does not cover. */
function noticesOf(entry: Entry): string[] {
  return [...programNotices(entry), ...(entry.type === "stdio" ? stdioNotices(entry) : networkNotices(entry))];
}

function programNotices(entry: Entry): string[] {
  const program = entry.type === "stdio" ? entry.command : entry.headersHelper;
  const subject = entry.type === "stdio" ? "The server" : "The helper";
  const notices = entry.sandbox
    ? []
    : [`${subject} would run without the sandbox (sandbox: false) and could read the tokens of all servers.`];
  const programs = [program, ...entry.secretCommands.map(({ command }) => command[0])];
  for (const { field, template } of programs.filter((each) => each !== undefined)) {
    const names = variablesOf(template).filter(({ name }) => name !== pluginRootVariable);
    const depends = [...new Set(names.map(({ name }) => name))].join(", ");
    if (depends !== "") notices.push(`Which program ${quoteUnlessPlain(field)} runs depends on your ${depends}.`);
  }
  for (const { variable, field, isSecret } of variableUses(entry)) {
    if (!isSecret || !commandArgument.test(field)) continue;
    notices.push(`The value of ${variable} is an argument: other users of this machine can see it.`);
  }
  return [...notices, ...entry.secretCommands.flatMap(({ command: [first, ...args] }) => runNotices(first, args))];
}

function runNotices(command: TemplateField | undefined, args: readonly TemplateField[]): string[] {
  const program = basename(command === undefined ? "" : literalOf(command.template));
  const isInline = interpreters.test(program) && args.some(({ template }) => inlineCode.test(template.text));
  return isInline ? ["The arguments contain code to run. Read them."] : [];
}

function stdioNotices(entry: StdioEntry): string[] {
  const notices = runNotices(entry.command, entry.args);
  if (entry.secretCommands.length > 0) {
    notices.push("The commands of env inherit all your environment variables except the credentials of other servers.");
  }
  if (entry.envFile !== undefined) {
    notices.push("The variables in the envFile can make the process load or run something else. Read that file.");
  }
  for (const { name } of entry.env.filter((variable) => isLoader(variable.name))) {
    notices.push(`The variable ${quoteUnlessPlain(name)} can make the process load or run something else.`);
  }
  for (const { variable, field, isSecret } of variableUses(entry)) {
    if (!isSecret || !field.startsWith("args[")) continue;
    notices.push(`The value of ${variable} is an argument: other users of this machine can see it.`);
  }
  return notices;
}

function networkNotices(entry: NetworkEntry): string[] {
  const weakened = Object.entries(weakenedBy(entry.oauth ?? {}));
  return [...urlNotices(entry), ...weakened.map(([name, text]) => `oauth.${name}: ${text}`)];
}

function urlNotices(entry: NetworkEntry): string[] {
  const { regions = [], host = "" } = parseUrlTemplate(entry.url.template) ?? {};
  return variablesOf(entry.url.template).map(({ name }, index) => {
    const region = regions[index] ?? "path";
    if (region === "origin" || region === "scheme" || (region === "host" && host.endsWith(variableMark))) {
      return `Your ${name} decides which host the url points to, and so who receives the requests.`;
    }
    return region === "host"
      ? `The value of ${name} is part of the host name, which DNS servers can see.`
      : `The value of ${name} is sent in the ${region} of the url, which logs may record.`;
  });
}
