import { basename, resolve as resolvePath } from "node:path";
import { type ErrorParts, ToolServerError } from "../errors.js";
import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import { checkOrigin } from "./check-url-and-headers.js";
import { checkTemplate, checkValue, isReserved, isSecretPosition } from "./check-variables.js";
import {
  type Entry,
  type NamedField,
  type NetworkEntry,
  type NetworkType,
  type SecretCommand,
  type TemplateField,
  templateFieldsOf,
} from "./entry.js";
import { credentialIn, registerSecret } from "./entry-secrets.js";
import {
  collectFindings,
  type Finding,
  partsOfFindings,
  type Report,
  redactFinding,
  type SourcePosition,
} from "./finding.js";
import { headerValueDefect, writtenValueDefect } from "./headers.js";
import { mapOAuthSettings, type OAuthSettingsOf, type OAuthText, oauthValueProblem } from "./oauth-settings.js";
import {
  inputPrefix,
  inputVariable,
  notSecretVariable,
  pluginRootVariable,
  type Template,
  type VariableReference,
  variablesOf,
} from "./template.js";
import { decidesOrigin, parseUrlTemplate, refuseInUrl, renderUrl } from "./url-template.js";
import { describeField, howToEnter, howToSet } from "./variable-advice.js";
import { type VariableUse, variableUses } from "./variable-uses.js";

/** Variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The input of a substitution. */
export interface SubstitutionContext {
  /** The variables. Neither the environment of this process nor any file is read. */
  readonly variables: Variables;
  /** The value of HOST_PLUGIN_ROOT: the root directory of the plugin or project. */
  readonly pluginRoot: string;
  /** Where secret values are registered. */
  readonly secrets: SecretRegistry;
}

/** An entry after substitution. */
export type ResolvedEntry =
  | {
      readonly type: NetworkType;
      readonly name: string;
      readonly url: string;
      /** Whether HTTP with SSE is tried if the server does not support Streamable HTTP. */
      readonly fallsBackToSse: boolean;
      readonly headers: Readonly<Record<string, string>>;
      readonly headersHelper: string | undefined;
      /** The programs that obtain headers and the client secret. */
      readonly secretCommands: readonly ResolvedCommand[];
      /** OAuth settings of the entry. */
      readonly oauth: OAuthSettingsOf<string> | undefined;
      /** Whether the helper runs in the sandbox, if a sandbox is available. */
      readonly sandbox: boolean;
    }
  | {
      readonly type: "stdio";
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** The programs that obtain more variables. */
      readonly secretCommands: readonly ResolvedCommand[];
      /** The working directory: absolute. */
      readonly cwd: string;
      /** The file with more variables: absolute. */
      readonly envFile: string | undefined;
      /** Whether it runs in the sandbox, if a sandbox is available. */
      readonly sandbox: boolean;
    };

/** A secret command after substitution. */
export interface ResolvedCommand extends Omit<SecretCommand, "command" | keyof SourcePosition> {
  readonly command: readonly string[];
}

/** The result of a substitution. */
export interface Substitution {
  /** Undefined if a finding is an error. */
  readonly entry: ResolvedEntry | undefined;
  readonly uses: readonly VariableUse[];
  readonly findings: readonly Finding[];
}

/**
 * Replaces the variables of an entry, and checks their values. Values are not expanded again. In a url, a value must be valid for its part.
 * Secrets are registered before any message mentions them.
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

/** Replaces the variables of an entry. Throws VARIABLE_UNUSABLE with every variable that cannot be used. */
export function resolveEntry(entry: Entry, context: SubstitutionContext): ResolvedEntry {
  const { entry: resolved, findings } = substituteEntry(entry, context);
  if (resolved !== undefined) return resolved;
  const errors = findings.filter(({ severity }) => severity === "error");
  throw unusable(entry, context.variables, partsOfFindings(errors));
}

/** The error for an entry with a variable that cannot be used. */
export function unusable(entry: Entry, variables: Variables, why: ErrorParts): ToolServerError {
  const subject = `Cannot use server ${JSON.stringify(entry.name)}.`;
  const isUnset = ({ variable, hasDefault }: VariableUse): boolean =>
    !hasDefault && !isReserved(variable) && variableValue(variable, variables) === undefined;
  const unset = variableUses(entry).filter(isUnset);
  const unsetVariables = [...new Set(unset.map(({ variable }) => variable))];
  return new ToolServerError("VARIABLE_UNUSABLE", { subject, ...why }, { details: { unsetVariables } });
}

function resolve(entry: Entry, context: SubstitutionContext, report: Report): ResolvedEntry {
  const { variables, pluginRoot } = context;
  const isForeign = entry.dialect !== "claude-code";
  const text = (field: TemplateField): string => renderText(field, context, report, isForeign);
  const header = (field: TemplateField): string => renderHeader(field, context, report, isForeign);
  const named = (fields: readonly NamedField[], render: (field: TemplateField) => string): Record<string, string> => {
    const included = fields.filter(({ isOptional, template }) => !isOptional || isSet(template, variables));
    return Object.fromEntries(included.map((field) => [field.name, render(field)]));
  };
  const { type, name, sandbox } = entry;
  const secretCommands = entry.secretCommands.map(({ target, name, field, prefix, timeoutMs, ttlMs, command }) => {
    return { target, name, field, prefix, timeoutMs, ttlMs, command: command.map(text) };
  });
  if (type === "stdio") {
    return {
      type,
      name,
      command: text(entry.command),
      args: entry.args.map(text),
      env: named(entry.env, text),
      secretCommands,
      cwd: entry.cwd === undefined ? pluginRoot : resolvePath(pluginRoot, text(entry.cwd)),
      envFile: entry.envFile && resolvePath(pluginRoot, text(entry.envFile)),
      sandbox,
    };
  }
  return {
    type,
    name,
    url: renderUrlField(entry, context, report, false),
    headers: named(entry.headers, header),
    secretCommands,
    fallsBackToSse: entry.fallsBackToSse,
    headersHelper: entry.headersHelper && text(entry.headersHelper),
    oauth: entry.oauth && mapOAuthSettings(entry.oauth, (field) => renderOAuthText(field, context, report, isForeign)),
    sandbox,
  };
}

/** Whether every variable of a template is set. */
function isSet(template: Template, variables: Variables): boolean {
  return variablesOf(template).every(({ name }) => variableValue(name, variables) !== undefined);
}

function renderText(field: TemplateField, context: SubstitutionContext, report: Report, isForeign: boolean): string {
  checkTemplate(field, report, { isForeign });
  const values = field.template.parts.map((part) =>
    part.kind === "text" ? part.text : (lookUp(field, part, context, report) ?? ""),
  );
  const text = values.join("");
  // No part contains one, but a value that ends with $ is followed by a {.
  if (text.includes("${") && !values.some((value) => value.includes("${"))) {
    const message = `After substitution, ${field.field} contains \${, which is never sent.`;
    const fix = "Set the variable before the { to a value that does not end with $.";
    report("variable-nested", "error", field, message, fix);
  }
  return text;
}

/** The value of a header; reports one that cannot be sent, by the same rule as when it is sent. */
function renderHeader(field: TemplateField, context: SubstitutionContext, report: Report, isForeign: boolean): string {
  const { findings, report: collect } = collectFindings();
  const text = renderText(field, context, collect, isForeign);
  const defect = headerValueDefect(text);
  const isUnreported =
    defect !== undefined &&
    writtenValueDefect(field.template) === undefined &&
    !findings.some(({ severity }) => severity === "error");
  const causes = findings.filter(({ code }) => code === "variable-empty");
  for (const finding of findings) {
    const severity = isUnreported && causes.includes(finding) ? "error" : finding.severity;
    report(finding.code, severity, finding, finding.message, finding.fix);
  }
  if (isUnreported && causes.length === 0) {
    const message = `${describeField(field)} cannot be sent, because its value ${defect}.`;
    report("header-value", "error", field, message, howToCorrect(field, context.variables));
  }
  return text;
}

/** Advice for a value that its variables make unusable: by their values, or by a default. */
function howToCorrect({ template }: TemplateField, variables: Variables): string {
  const all = variablesOf(template);
  const missing = all.find(({ name, fallback }) => fallback !== undefined && !variableValue(name, variables));
  if (missing !== undefined) return `Set ${missing.name}, or write another default.`;
  return `Set ${[...new Set(all.map(({ name }) => name))].join(" and ")} to a value that can be sent.`;
}

/** A string of the OAuth settings; reports a value that a sign-in cannot use. */
function renderOAuthText(field: OAuthText, context: SubstitutionContext, report: Report, isForeign: boolean): string {
  const text = renderText(field, context, report, isForeign);
  const problem = variablesOf(field.template).length === 0 || text === "" ? undefined : oauthValueProblem(field, text);
  if (problem !== undefined) report("oauth-setting", "error", field, problem, "Set the variable to another value.");
  return text;
}

/** The url after substitution, or "" if a finding says why not. `isOriginOnly` reads only the variables of the origin. */
function renderUrlField(
  entry: NetworkEntry,
  context: SubstitutionContext,
  report: Report,
  isOriginOnly: boolean,
): string {
  const field = entry.url;
  checkTemplate(field, report);
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
    const position = { ...field, variable: variable.name };
    if (decidesOrigin(region) && isOfRoot(variable)) {
      // The author of the file may also choose the name of the folder, which neither an approval nor a policy shows as an origin.
      const message = `${variable.spelling ?? variable.name} cannot be in the ${region} of the url.`;
      const fix = "Write the host, or use a variable of your environment.";
      report("variable-misplaced", "error", position, message, fix);
      return undefined;
    }
    const value = lookUp(field, variable, context, report);
    if (value === undefined) return undefined;
    const refused = refuseInUrl(url, index, value);
    if (refused !== undefined) {
      const message = `The value of ${variable.name} is not valid in the ${region} of the url: ${refused}.`;
      report("variable-url-shape", "error", position, message, `Set ${variable.name} to only the ${region}.`);
      return undefined;
    }
    const credential = decidesOrigin(region) ? credentialIn(value, credentials) : undefined;
    if (credential === undefined) return value;
    const message = `The value of ${variable.name} was not used in the host of the url, because it ${credential}.`;
    const fix = `Set ${variable.name} to the ${region}. If the value is not a credential, write it into the url.`;
    report("url-secret", "error", position, message, fix);
    return undefined;
  });
  if (values.includes(undefined)) return "";
  const rendered = renderUrl(url, values as string[]);
  const names = variables.map(({ name }) => name).join(", ");
  if ("refused" in rendered) {
    const message = `The url is invalid: ${rendered.refused}.`;
    const fix = `Set ${names || "the url"} again.`;
    report("variable-url-shape", "error", field, message, fix);
    return "";
  }
  // Literal origins were checked when the configuration was parsed.
  if (url.regions.some(decidesOrigin)) {
    const { protocol, hostname } = new URL(rendered.url);
    const onlyErrors: Report = (code, severity, ...rest) => severity === "error" && report(code, severity, ...rest);
    checkOrigin(
      entry,
      { scheme: protocol.slice(0, -1), host: hostname },
      onlyErrors,
      `Set ${names} so that the url starts with`,
    );
  }
  return rendered.url;
}

/** Whether the value of a variable is the plugin root or a part of it. */
function isOfRoot({ name }: VariableReference): boolean {
  return name === pluginRootVariable || name === "workspaceFolderBasename";
}

/** A registry of the credentials that an entry uses in any field. */
function credentialsOf(entry: Entry, variables: Variables): SecretRegistry {
  const credentials = createSecretRegistry();
  for (const field of templateFieldsOf(entry)) {
    for (const { name, fallback } of variablesOf(field.template)) {
      const value = variableValue(name, variables) || fallback;
      if (value && isSecretPosition(field, name)) registerSecret(value, field, credentials);
    }
  }
  return credentials;
}

/**
 * The origin of an entry's url with these variables, such as `https://api.example.com`, or why it is unknown, in a sentence without values.
 * Undefined if the origin contains no variable.
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

/** The value of a variable as an entry names it; undefined if it is not set. An input and `userHome` are set by variables with other names. */
export function variableValue(name: string, variables: Variables): string | undefined {
  const read = (key: string): string | undefined => (Object.hasOwn(variables, key) ? variables[key] : undefined);
  if (name === "userHome") return read("HOME") ?? read("USERPROFILE");
  // A variable takes precedence over a value that a user entered.
  return (name.startsWith(inputPrefix) ? read(inputVariable(name)) : undefined) ?? read(name);
}

/** The value that a reference is replaced with: that of the variable or, if it is unset or empty, the default. */
export function referenceValue(
  { name, fallback }: Pick<VariableReference, "name" | "fallback">,
  variables: Variables,
): string | undefined {
  if (name === notSecretVariable && fallback !== undefined) return fallback;
  const set = variableValue(name, variables);
  return set === undefined || set === "" ? (fallback ?? set) : set;
}

/** The value of a variable; undefined if a finding says why it is missing. */
function lookUp(
  field: TemplateField,
  variable: VariableReference,
  { variables, pluginRoot, secrets }: SubstitutionContext,
  report: Report,
): string | undefined {
  const { name, fallback, choices } = variable;
  // If it is not available in this field, checkTemplate reports that.
  if (name === pluginRootVariable) return pluginRoot;
  if (name === "workspaceFolderBasename") return basename(pluginRoot);
  if (isReserved(name)) return undefined;
  if (name === notSecretVariable && fallback !== undefined) return fallback;
  const isSecret = isSecretPosition(field, name);
  const value = referenceValue(variable, variables);
  if (value === undefined) {
    const message = `${name} is not set, but ${field.field} needs it.`;
    const fix = name.startsWith(inputPrefix) ? howToEnter(name) : howToSet();
    report("variable-unset", "error", { ...field, variable: name }, message, fix);
    return undefined;
  }
  if (isSecret && value !== fallback) registerSecret(value, field, secrets);
  if (choices !== undefined && !choices.includes(value)) {
    const message = `The value of ${name} is not one of its choices.`;
    const fix = `Use one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}. ${howToEnter(name)}`;
    report("input-value", "error", { ...field, variable: name }, message, fix);
    return undefined;
  }
  if (value === "" && fallback === undefined) {
    const isError = isSecret || field.field === "url";
    const message = `${name} is empty, but ${field.field} needs it.`;
    const severity = isError ? "error" : "warning";
    report("variable-empty", severity, { ...field, variable: name }, message, howToSet());
  }
  checkValue(field, variable, value, report);
  return value;
}
