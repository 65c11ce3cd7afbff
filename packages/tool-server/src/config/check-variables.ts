import { isAddress, isCredentialHeader, isPlaceholder, isSecretName } from "../secrets/recognize-secrets.js";
import { commandArgument, type NamedField, type TemplateField } from "./entry.js";
import type { Report } from "./finding.js";
import { isHeaderValue, parseAuthorization, parseBasic } from "./headers.js";
import {
  knownVariables,
  literalOf,
  notSecretVariable,
  pluginRootVariable,
  type VariableReference,
  variablesOf,
} from "./template.js";

/** The entry that a field belongs to. */
interface CheckTemplateOptions {
  /**
   * The names in env of an entry that runs `wirescope bridge`, which replaces `$NAME` in its arguments itself, so that a token does
   * not become an argument.
   */
  readonly bridgeVariables?: ReadonlySet<string> | undefined;
  /** Whether another program defines the format, in which `$NAME` may be meant literally. Default false. */
  readonly isForeign?: boolean | undefined;
}

/** Checks the syntax of a field's variables and whether they are allowed in that field. */
export function checkTemplate(
  field: TemplateField,
  report: Report,
  { bridgeVariables, isForeign = false }: CheckTemplateOptions = {},
): void {
  if (field.template.isLiteral) return;
  for (const [reason, fix] of new Map(field.template.malformed.map((each) => [each.reason, each.fix]))) {
    const message = `${field.field} contains an invalid variable reference: ${reason}.`;
    report("variable-malformed", "error", field, message, fix);
  }
  const literal = literalOf(field.template);
  // The program that gets an argument may be a shell, which replaces its own variables.
  const sentLiterally = isForeign || isArgument(field.field) ? "warning" : "error";
  const bare = /(?:^|\s)\$([A-Z_][A-Z0-9_]*)\b/.exec(literal)?.[1];
  if (bare !== undefined && bridgeVariables !== undefined && field.field.startsWith("args[")) {
    if (!bridgeVariables.has(bare)) {
      const message = `${field.field} contains $${bare}, which the bridge reads from its environment, but env does not set it.`;
      report("variable-malformed", "error", field, message, `Add "env": {"${bare}": "\${${bare}}"} to the entry.`);
    }
  } else if (bare !== undefined && isArgument(field.field)) {
    if (!field.processVariables?.has(bare)) {
      const message = `${field.field} contains $${bare}, which is passed to the program as it is.`;
      report("variable-malformed", sentLiterally, field, message, howToPass(bare, field));
    }
  } else if (bare !== undefined) {
    const message = `${field.field} contains $${bare}, which is sent literally.`;
    report("variable-malformed", sentLiterally, field, message, `Write \${${bare}}.`);
  }
  const percent = /%([A-Z_][A-Z0-9_]{2,})%/.exec(literal)?.[1];
  if (percent !== undefined) {
    const message = `${field.field} contains %${percent}%, the Windows form, which is sent literally.`;
    report("variable-malformed", sentLiterally, field, message, `Write \${${percent}}, which works on every system.`);
  }
  for (const { name, spelling } of variablesOf(field.template)) {
    if (isReserved(name)) {
      const message = `${field.field} uses ${name}, which is reserved for Wirescope: it may contain the key to all tokens.`;
      report("variable-reserved", "error", field, message, "Use a variable with another name.");
    } else if (name === pluginRootVariable) {
      if (spelling === undefined && !allowsPluginRoot(field.field)) {
        const message = `${pluginRootVariable} is not available in ${field.field}.`;
        const fix = "Use it in command, args, cwd, envFile or headersHelper.";
        report("variable-misplaced", "error", field, message, fix);
      }
    } else if (isProgram(field.field) && !knownVariables.has(name)) {
      const message = `${name} decides which program runs.`;
      const fix = `Start the path with \${${pluginRootVariable}}, or write the full path.`;
      report("variable-misplaced", "warning", field, message, fix);
    }
  }
}

/** Advice for `$NAME` in an argument. The process of an entry gets only the usual variables and those of env. */
function howToPass(name: string, { processVariables }: TemplateField): string {
  const isInEntry = processVariables !== undefined;
  const kept = isInEntry
    ? `If the program is a shell that replaces it, add "env": {"${name}": "\${${name}}"} to the entry.`
    : "If the program is a shell that replaces it, keep it.";
  return `Write \${${name}} to pass its value. ${kept}`;
}

/** Whether HOST_PLUGIN_ROOT is available in a field. */
function allowsPluginRoot(field: string): boolean {
  return isProgram(field) || isArgument(field) || field === "cwd" || field === "envFile";
}

/** Whether a variable is one of Wirescope's own, such as the key of the vault. No entry can use it. */
export function isReserved(name: string): boolean {
  return name.toUpperCase().startsWith("WIRESCOPE_");
}

function isProgram(field: string): boolean {
  return field === "command" || field === "headersHelper" || commandArgument.exec(field)?.[1] === "0";
}

function isArgument(field: string): boolean {
  return field.startsWith("args[") || commandArgument.test(field);
}

// Unusual white space and zero-width characters: joiners, soft hyphens, direction marks, byte-order marks.
const invisible = /(?! )[\p{Zs}\p{Zl}\p{Zp}\p{Cf}]/u;

/** Whether the value of a variable in a field is a secret, based on the field, the preceding text and the variable's name. */
export function isSecretPosition(field: TemplateField, variable: string): boolean {
  if (variable === notSecretVariable) return false;
  if (isSecretName(variable) || variablesOf(field.template).some((one) => one.name === variable && one.isSecret))
    return true;
  // In an address, only the password is secret: the database name must not be redacted everywhere.
  if (field.field.startsWith("env.") && isAddress(literalOf(field.template)))
    return isPasswordOfAddress(field, variable);
  if (field.field === "oauth.clientSecret") return true;
  const name = nameOf(field);
  if (field.field.startsWith("headers.")) return isCredentialHeader(name);
  if (field.field === "url" || isArgument(field.field)) return isSecretParameter(field, variable);
  return field.field.startsWith("env.") && isSecretName(name);
}

/** More parts than any real url or argument has. */
const maxParts = 256;

/** Whether a variable is the value of a parameter or option that is named like a secret, as in `?token=${T}` or `--token=${T}`. */
function isSecretParameter({ field, template: { parts } }: TemplateField, variable: string): boolean {
  let before = "";
  for (const part of parts.slice(0, maxParts)) {
    if (part.kind === "text") {
      before += part.text;
      continue;
    }
    if (part.name === variable) {
      const start = field === "url" ? Math.max(before.lastIndexOf("?"), before.lastIndexOf("&")) : 0;
      const [name = "", value] = start < 0 ? [] : before.slice(start).split("=", 2);
      if (value !== undefined && isSecretName(name)) return true;
    }
    before += "$";
  }
  return false;
}

/** Checks the value of a variable against the rules of its field, except those of urls. No finding contains the value. */
export function checkValue(field: TemplateField, { name }: VariableReference, value: string, report: Report): void {
  const position = { ...field, variable: name };
  const isSecret = isSecretPosition(field, name);
  const isHeader = field.field.startsWith("headers.");
  const hidden = hiddenIn(value);
  if (hidden !== undefined) {
    const message = `The value of ${name} ${hidden}.`;
    const fix = `Set ${name} again without it; ${name}="$(cat file)" drops the line break at the end of a file.`;
    report(
      "variable-white-space",
      isSecret || isHeader || field.field === "url" ? "error" : "warning",
      position,
      message,
      fix,
    );
  } else if (isHeader && !isHeaderValue(value)) {
    const message = `The value of ${name} contains a character that is not allowed in headers.`;
    report("header-value", "error", position, message, `Set ${name} to printable Latin-1 characters.`);
  } else if (value.includes("\0")) {
    const message = `The value of ${name} contains a NUL character, which cannot be passed to a process.`;
    report("variable-white-space", "error", position, message, `Set ${name} again without it.`);
  }
  if (value.includes("${")) {
    const message = `The value of ${name} contains \${, which is not expanded and never sent.`;
    report("variable-nested", "error", position, message, `Set ${name} to the final value.`);
  }
  if (isSecret && isPlaceholder(value)) {
    const message = `The value of ${name} looks like a placeholder from an example.`;
    report("variable-placeholder", "warning", position, message, `Set ${name} to your own value.`);
  }
  if (field.field.toLowerCase() === "headers.authorization") checkAuthorization(field, name, value, report);
}

function isPasswordOfAddress({ template: { parts } }: TemplateField, variable: string): boolean {
  const texts = parts.map((part) => (part.kind === "text" ? part.text : "$"));
  return parts.some((part, index) => {
    if (part.kind === "text" || part.name !== variable) return false;
    const [before, after] = [texts.slice(0, index).join(""), texts.slice(index + 1).join("")];
    if (/:\/\/[^/?#@]*:[^/?#@]*$/.test(before) && /^[^/?#]*@/.test(after)) return true;
    const parameter = /[?&;]([^?&;=]+)=[^?&;]*$/.exec(before)?.[1];
    return parameter !== undefined && isSecretName(parameter);
  });
}

function checkAuthorization(field: TemplateField, name: string, value: string, report: Report): void {
  const { scheme } = parseAuthorization(field.template.text);
  if (scheme !== undefined && parseAuthorization(value).scheme !== undefined) {
    const message = `The value of ${name} starts with a scheme, but the field already has one.`;
    const fix = `Set ${name} to the part after the scheme.`;
    report("authorization-doubled", "error", { ...field, variable: name }, message, fix);
  } else if (field.template.text === `Basic \${${name}}` && parseBasic(value) === undefined) {
    const message = `The value of ${name} is not the base64 of user:password.`;
    const fix = `Set it with: export ${name}="$(printf '%s' 'user:password' | base64)".`;
    report("basic-credentials", "warning", { ...field, variable: name }, message, fix);
  }
}

function hiddenIn(value: string): string | undefined {
  if (/[\r\n]/.test(value.trim())) return "contains a line break";
  if (/[\r\n]/.test(value.slice(value.trimEnd().length))) return "ends with a line break";
  if (/^\s/.test(value)) return "starts with white space";
  if (/\s$/.test(value)) return "ends with white space";
  return invisible.test(value) ? "contains invisible characters" : undefined;
}

function nameOf(field: TemplateField | NamedField): string {
  return "name" in field ? field.name : field.field;
}
