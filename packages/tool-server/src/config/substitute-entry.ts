import { type ErrorParts, ToolServerError } from "../errors.js";
import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import { findSecretShapes } from "../secrets/secret-shapes.js";
import {
  type Entry,
  type NamedField,
  type NetworkEntry,
  type NetworkType,
  type TextField,
  textFieldsOf,
} from "./entry.js";
import { collectFindings, type Finding, partsOfFindings, type Report, redactFinding } from "./finding.js";
import { judgeOrigin } from "./judge-url-and-headers.js";
import { allowsPluginRoot, isReserved, isSecretPosition, judgeTemplate, judgeValue } from "./judge-variables.js";
import { notSecretVariable, pluginRootVariable, type VariableReference, variablesOf } from "./template.js";
import { decidesOrigin, parseUrlTemplate, refuseInUrl, renderUrl } from "./url-template.js";
import { type VariableUse, variableUses } from "./variable-uses.js";

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
      /** Whether the helper runs in the sandbox if there is one. */
      readonly sandbox: boolean;
    }
  | {
      readonly type: "stdio";
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** Whether it runs in the sandbox if there is one. */
      readonly sandbox: boolean;
    };

/** What came of an entry. */
export interface Substitution {
  /** Undefined where a finding is an error. */
  readonly entry: ResolvedEntry | undefined;
  readonly uses: readonly VariableUse[];
  readonly findings: readonly Finding[];
}

/**
 * Puts the values of variables into an entry, and judges them. A value is put in as it is and not looked into again. In a
 * url it must fit its place. Secrets are made known before anything is said of them.
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
  throw unusable(entry, context.variables, partsOfFindings(errors));
}

/** That a variable of an entry cannot be used, and why. */
export function unusable(entry: Entry, variables: Variables, why: ErrorParts): ToolServerError {
  const subject = `The server ${JSON.stringify(entry.name)} cannot be used.`;
  const isUnset = ({ variable, hasDefault }: VariableUse): boolean =>
    !hasDefault &&
    !isReserved(variable) &&
    (Object.hasOwn(variables, variable) ? variables[variable] : undefined) === undefined;
  const unset = variableUses(entry).filter(isUnset);
  const unsetVariables = [...new Set(unset.map(({ variable }) => variable))];
  return new ToolServerError("VARIABLE_UNUSABLE", { subject, ...why }, { details: { unsetVariables } });
}

function resolve(entry: Entry, context: SubstitutionContext, report: Report): ResolvedEntry {
  const text = (field: TextField): string => renderText(field, context, report);
  const named = (fields: readonly NamedField[]): Record<string, string> =>
    Object.fromEntries(fields.map((field) => [field.name, text(field)]));
  const { type, name, sandbox } = entry;
  if (type === "stdio") {
    return { type, name, command: text(entry.command), args: entry.args.map(text), env: named(entry.env), sandbox };
  }
  return {
    type,
    name,
    url: renderUrlField(entry, context, report, false),
    headers: named(entry.headers),
    headersHelper: entry.headersHelper && text(entry.headersHelper),
    sandbox,
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

/** The url with its values, or "" if a finding says why not. `isOriginOnly` looks up only what decides where it leads. */
function renderUrlField(
  entry: NetworkEntry,
  context: SubstitutionContext,
  report: Report,
  isOriginOnly: boolean,
): string {
  const field = entry.url;
  judgeTemplate(field, report);
  const url = parseUrlTemplate(field.template);
  if (url === undefined) {
    const fix = "Write https://host/path, without spaces.";
    report("url-invalid", "error", field, "The url is not an absolute URL.", fix);
    return "";
  }
  const variables = variablesOf(field.template);
  const credentials = credentialsOf(entry, context.variables);
  const values = variables.map((variable, index): string | undefined => {
    const region = url.regions[index] ?? "user";
    if (isOriginOnly && !decidesOrigin(region)) return "a";
    const place = { ...field, variable: variable.name };
    const value = lookUp(field, variable, context, report);
    if (value === undefined) return undefined;
    const refused = refuseInUrl(url, index, value);
    if (refused !== undefined) {
      const message = `The value of ${variable.name} does not fit into the ${region} of the url: ${refused}.`;
      report("variable-url-shape", "error", place, message, `Set ${variable.name} to the ${region} alone.`);
      return undefined;
    }
    const credential = decidesOrigin(region) ? credentialIn(value, credentials) : undefined;
    if (credential === undefined) return value;
    const message = `The value of ${variable.name} is not put into the host of the url, because it ${credential}.`;
    const fix = `Set ${variable.name} to the ${region}. If the value is not a credential, write it into the url.`;
    report("url-secret", "error", place, message, fix);
    return undefined;
  });
  if (values.includes(undefined)) return "";
  const rendered = renderUrl(url, values as string[]);
  const names = variables.map(({ name }) => name).join(", ");
  if ("refused" in rendered) {
    report(
      "variable-url-shape",
      "error",
      field,
      `In the url, ${rendered.refused}.`,
      `Set ${names || "the url"} again.`,
    );
    return "";
  }
  // What is written out was judged when the configuration was read.
  if (url.regions.some(decidesOrigin)) {
    const { protocol, hostname } = new URL(rendered.url);
    const onlyErrors: Report = (code, severity, ...rest) => severity === "error" && report(code, severity, ...rest);
    judgeOrigin(
      entry,
      { scheme: protocol.slice(0, -1), host: hostname },
      onlyErrors,
      `Set ${names} so that the url starts with`,
    );
  }
  return rendered.url;
}

/** The credentials that an entry uses anywhere, in a registry of their own. */
function credentialsOf(entry: Entry, variables: Variables): SecretRegistry {
  const credentials = createSecretRegistry();
  for (const field of textFieldsOf(entry)) {
    for (const { name, fallback } of variablesOf(field.template)) {
      const value = (Object.hasOwn(variables, name) ? variables[name] : undefined) || fallback;
      if (value && isSecretPosition(field, name)) registerSecret(value, field, credentials);
    }
  }
  return credentials;
}

/** Why a value looks like a credential, or undefined if it does not. */
function credentialIn(value: string, credentials: SecretRegistry): string | undefined {
  if (credentials.redact(value) !== value) return "holds a credential that the entry uses elsewhere";
  const [shape] = findSecretShapes(value.replace(/^([a-z]+:\/\/[^/]*).*$/i, "$1"));
  return shape && `looks like ${shape.looksLike}`;
}

/**
 * Where the url of an entry leads with these variables: its origin, as `https://api.example.com`, or why that is not known, in a
 * sentence without a value. Undefined if no variable decides it.
 */
export function resolveOrigin(
  entry: Entry,
  variables: Variables,
): { readonly origin: string } | { readonly problem: string } | undefined {
  if (entry.type === "stdio") return undefined;
  if (!parseUrlTemplate(entry.url.template)?.regions.some(decidesOrigin)) return undefined;
  const { findings, report } = collectFindings();
  const url = renderUrlField(entry, { variables, pluginRoot: "", secrets: createSecretRegistry() }, report, true);
  const error = findings.find(({ severity }) => severity === "error");
  return error === undefined ? { origin: new URL(url).origin } : { problem: `${error.message} ${error.fix}` };
}

/** The value of a reference, or undefined if a finding says why it has none. */
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
    report("variable-unset", "error", { ...field, variable: name }, message, howToSet(name));
    return undefined;
  }
  if (isSecret && value !== fallback) registerSecret(value, field, secrets);
  if (value === "" && fallback === undefined) {
    const isError = isSecret || field.field === "url";
    const message = `${name} is set but empty, and ${who} needs it.`;
    const severity = isError ? "error" : "warning";
    report("variable-empty", severity, { ...field, variable: name }, message, howToSet(name));
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
