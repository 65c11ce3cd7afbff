import { ToolServerError } from "../errors.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import { type Entry, type NamedField, type NetworkType, type TextField, textFieldsOf } from "./entry.js";
import { collectFindings, type Finding, type Report, redactFinding } from "./finding.js";
import { allowsPluginRoot, isReserved, judgeTemplate } from "./judge-templates.js";
import { isSecretPosition, judgeValue } from "./judge-value.js";
import { notSecretVariable, pluginRootVariable, type VariableReference } from "./template.js";
import { parseUrlTemplate, refuseInUrl, renderUrl } from "./url-template.js";

/** What variables are looked up in. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** What an entry is resolved with. */
export interface SubstitutionContext {
  /** The variables; nothing else is looked at, neither the environment of this process nor any file. */
  readonly variables: Variables;
  /** The value of HOST_PLUGIN_ROOT: the root directory of the plugin. */
  readonly pluginRoot: string;
  /** Where the values that are secrets are made known. */
  readonly secrets: SecretRegistry;
}

/** An entry with its variables put in. */
export type ResolvedEntry =
  | {
      readonly type: NetworkType;
      readonly name: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly headersHelper: string | undefined;
    }
  | {
      readonly type: "stdio";
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    };

/** That a variable is used in a field. */
export interface VariableUse {
  readonly variable: string;
  readonly server: string;
  /** As `headers.Authorization`. */
  readonly field: string;
  /** Whether the field takes it as a secret. */
  readonly isSecret: boolean;
  readonly hasDefault: boolean;
}

/** What came of an entry. */
export interface Substitution {
  /** Undefined where a finding is an error. */
  readonly entry: ResolvedEntry | undefined;
  readonly uses: readonly VariableUse[];
  readonly findings: readonly Finding[];
}

/**
 * Puts the values of variables into an entry, and judges them. A value is put in as it is and not looked into again. In a
 * url it cannot change the shape. Secrets are made known before anything is said of them.
 */
export function substituteEntry(entry: Entry, context: SubstitutionContext): Substitution {
  const { findings, report } = collectFindings();
  const resolved = resolve(entry, context, report);
  const hasError = findings.some(({ severity }) => severity === "error");
  return {
    entry: hasError ? undefined : resolved,
    uses: variableUses(entry),
    findings: findings.map((finding) => redactFinding(finding, context.secrets)),
  };
}

/** Puts the values of variables into an entry. Throws a ToolServerError of VARIABLE_UNUSABLE that names each that cannot be. */
export function resolveEntry(entry: Entry, context: SubstitutionContext): ResolvedEntry {
  const { entry: resolved, findings } = substituteEntry(entry, context);
  if (resolved !== undefined) return resolved;
  const errors = findings.filter(({ severity }) => severity === "error");
  const list = errors.map(({ message, fix }) => `${message} ${fix}`).join(" ");
  throw new ToolServerError("VARIABLE_UNUSABLE", `The server ${JSON.stringify(entry.name)} cannot be used. ${list}`);
}

/** The variables that an entry refers to, by field; without HOST_PLUGIN_ROOT and NOT_SECRET, which nobody sets. */
export function variableUses(entry: Entry): VariableUse[] {
  return textFieldsOf(entry).flatMap((field) =>
    field.template.parts.flatMap((part) => {
      if (part.kind === "text" || part.name === pluginRootVariable || part.name === notSecretVariable) return [];
      return [
        {
          variable: part.name,
          server: entry.name,
          field: field.field,
          isSecret: isSecretPosition(field, part.name),
          hasDefault: part.fallback !== undefined,
        },
      ];
    }),
  );
}

function resolve(entry: Entry, context: SubstitutionContext, report: Report): ResolvedEntry {
  const text = (field: TextField): string => renderText(field, context, report);
  const named = (fields: readonly NamedField[]): Record<string, string> =>
    Object.fromEntries(fields.map((field) => [field.name, text(field)]));
  const { type, name } = entry;
  if (type === "stdio") {
    return { type, name, command: text(entry.command), args: entry.args.map(text), env: named(entry.env) };
  }
  return {
    type,
    name,
    url: renderUrlField(entry.url, context, report),
    headers: named(entry.headers),
    headersHelper: entry.headersHelper && text(entry.headersHelper),
  };
}

function renderText(field: TextField, context: SubstitutionContext, report: Report): string {
  judgeTemplate(field, report);
  const values = field.template.parts.map((part) =>
    part.kind === "text" ? part.text : (lookUp(field, part, context, report) ?? ""),
  );
  const text = values.join("");
  // Each part may be without one, and a $ at the end of a value meet a { after it.
  if (text.includes("${") && !values.some((value) => value.includes("${"))) {
    const message = `With the values in place, ${field.field} holds a \${, which is never sent.`;
    report(
      "variable-nested",
      "error",
      field,
      message,
      "Set the variable before the { to a value without a $ at its end.",
    );
  }
  return text;
}

function renderUrlField(field: TextField, context: SubstitutionContext, report: Report): string {
  judgeTemplate(field, report);
  const regions = parseUrlTemplate(field.template)?.regions;
  if (regions === undefined) {
    report(
      "url-invalid",
      "error",
      field,
      "The url is not an absolute URL.",
      "Write https://host/path, without spaces.",
    );
    return "";
  }
  const variables = field.template.parts.filter((part) => part.kind === "variable");
  const values = variables.map((variable) => lookUp(field, variable, context, report));
  let isRefused = false;
  values.forEach((value, index) => {
    const region = regions[index] ?? "scheme";
    const refused = value === undefined ? undefined : refuseInUrl(value, region);
    if (refused === undefined) return;
    isRefused = true;
    const name = variables[index]?.name ?? "";
    const message = `The value of ${name} would change the shape of the url: ${refused}.`;
    report("variable-url-shape", "error", field, message, `Set ${name} to what stands in the ${region} alone.`);
  });
  if (isRefused || values.includes(undefined)) return "";
  const rendered = renderUrl(field.template, regions, values as string[]);
  if ("url" in rendered) return rendered.url;
  const names = variables.map(({ name }) => name).join(", ");
  report("variable-url-shape", "error", field, `In the url, ${rendered.refused}.`, `Set ${names || "the url"} anew.`);
  return "";
}

/** The value that a reference stands for, or undefined where a finding says why there is none. */
function lookUp(
  field: TextField,
  variable: VariableReference,
  { variables, pluginRoot, secrets }: SubstitutionContext,
  report: Report,
): string | undefined {
  const { name, fallback } = variable;
  // Where it is not available, a finding of the template says so.
  if (name === pluginRootVariable) return allowsPluginRoot(field.field) ? pluginRoot : undefined;
  if (isReserved(name)) return undefined;
  if (name === notSecretVariable && fallback !== undefined) return fallback;
  const isSecret = isSecretPosition(field, name);
  const set = Object.hasOwn(variables, name) ? variables[name] : undefined;
  const value = set === undefined || set === "" ? (fallback ?? set) : set;
  const who = `${field.field} of the server ${JSON.stringify(field.server ?? "")}`;
  if (value === undefined) {
    const message = `${name} is not set, and ${who} needs it.`;
    report("variable-unset", "error", field, message, howToSet(name));
    return undefined;
  }
  if (isSecret && value !== fallback) registerSecret(value, field, secrets);
  if (value === "" && fallback === undefined) {
    const isError = isSecret || field.field === "url";
    const message = `${name} is set but empty, and ${who} needs it.`;
    report("variable-empty", isError ? "error" : "warning", field, message, howToSet(name));
  }
  judgeValue(field, variable, value, report);
  return value;
}

/** Advice that holds for a command and for a gateway that runs: exporting a variable does not reach a process that has started. */
function howToSet(name: string): string {
  return `Export ${name} before wirescope starts, or set it in a file given with --env-file, which a gateway reads again when it changes.`;
}

/** Makes a value known, and the password that it holds where it is a URL or the credentials of Basic. */
function registerSecret(value: string, field: TextField, secrets: SecretRegistry): void {
  secrets.add(value);
  const password = /^[\w+.-]+:\/\/[^/?#@]*?:([^/?#@]+)@/.exec(value)?.[1];
  if (password !== undefined) {
    secrets.add(password);
    secrets.add(decodeLeniently(password));
  }
  if (!/^Basic /i.test(field.template.text)) return;
  const [, decoded] = /^[^:]*:(.*)$/s.exec(Buffer.from(value, "base64").toString("utf8")) ?? [];
  if (decoded !== undefined) secrets.add(decoded);
}

function decodeLeniently(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
