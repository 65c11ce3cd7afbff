import { isCredentialHeader, isSecretName } from "../secrets/secret-names.js";
import { isAddress, isPlaceholder } from "../secrets/secret-shapes.js";
import type { NamedField, TextField } from "./entry.js";
import type { Report } from "./finding.js";
import { isHeaderValue, parseAuthorization } from "./headers.js";
import { literalOf, notSecretVariable, pluginRootVariable, type VariableReference, variablesOf } from "./template.js";

/**
 * Holds the variables of a field against how they are written and where they may stand. `bridgeVariables` are the names in env of an
 * entry that runs `wirescope bridge`, which replaces `$NAME` in its arguments itself: so a token does not become an argument.
 */
export function judgeTemplate(field: TextField, report: Report, bridgeVariables?: ReadonlySet<string>): void {
  if (field.template.isLiteral) return;
  for (const reason of new Set(field.template.malformed)) {
    report(
      "variable-malformed",
      "error",
      field,
      `${field.field} has a \${ that refers to no variable: ${reason}.`,
      "Write ${NAME} or ${NAME:-default}; no ${ is ever sent as it stands.",
    );
  }
  const literal = literalOf(field.template);
  const bare = /(?:^|\s)\$([A-Z_][A-Z0-9_]*)\b/.exec(literal)?.[1];
  if (bare !== undefined && bridgeVariables !== undefined && field.field.startsWith("args[")) {
    if (!bridgeVariables.has(bare)) {
      const message = `${field.field} has $${bare}, which the bridge takes from its environment, and env does not give it.`;
      report("variable-malformed", "error", field, message, `Add "env": {"${bare}": "\${${bare}}"} to the entry.`);
    }
  } else if (bare !== undefined) {
    const message = `${field.field} has $${bare}, which is sent as it stands.`;
    report("variable-malformed", "error", field, message, `Write \${${bare}}.`);
  }
  const percent = /%([A-Z_][A-Z0-9_]{2,})%/.exec(literal)?.[1];
  if (percent !== undefined) {
    const message = `${field.field} has %${percent}%, the form of Windows, which is sent as it stands.`;
    report("variable-malformed", "error", field, message, `Write \${${percent}}, which works on every system.`);
  }
  for (const { name } of variablesOf(field.template)) {
    if (isReserved(name)) {
      const message = `${field.field} asks for ${name}, which is for Wirescope alone: it may hold the key to all tokens.`;
      report("variable-reserved", "error", field, message, "Use a variable of another name.");
    } else if (name === pluginRootVariable) {
      if (!allowsPluginRoot(field.field)) {
        const message = `${pluginRootVariable} is not available in ${field.field}.`;
        report("variable-misplaced", "error", field, message, "Use it in command, args or headersHelper.");
      }
    } else if (isProgram(field.field)) {
      report(
        "variable-misplaced",
        "warning",
        field,
        `${name} decides which program is run.`,
        `Start the path with \${${pluginRootVariable}}, or write it out.`,
      );
    }
  }
}

/** Whether the plugin's root is available in a field. */
export function allowsPluginRoot(field: string): boolean {
  return isProgram(field) || field.startsWith("args[");
}

/** Whether a variable is one of Wirescope itself, such as the key of the vault. No entry gets it. */
export function isReserved(name: string): boolean {
  return name.toUpperCase().startsWith("WIRESCOPE_");
}

function isProgram(field: string): boolean {
  return field === "command" || field === "headersHelper";
}

// White space other than the usual, and what takes no room at all: joiners, soft hyphens, marks of direction and order.
const invisible = /(?! )[\p{Zs}\p{Zl}\p{Zp}\p{Cf}]/u;

/** Whether the value of a variable in a field is a secret, by the field, by what stands before it, and by the name of the variable. */
export function isSecretPosition(field: TextField, variable: string): boolean {
  if (variable === notSecretVariable) return false;
  if (isSecretName(variable)) return true;
  // In an address, only the password is secret: the name of a database must not be redacted everywhere.
  if (field.field.startsWith("env.") && isAddress(literalOf(field.template)))
    return isPasswordOfAddress(field, variable);
  const name = nameOf(field);
  if (field.field.startsWith("headers.")) return isCredentialHeader(name);
  if (field.field === "url" || field.field.startsWith("args[")) return isSecretParameter(field, variable);
  return field.field.startsWith("env.") && isSecretName(name);
}

/** More parts than a url or an argument has. */
const maxParts = 256;

/** Whether a variable is the value of a parameter or an option with the name of a secret, as in `?token=${T}` or `--token=${T}`. */
function isSecretParameter({ field, template: { parts } }: TextField, variable: string): boolean {
  let before = "";
  for (const part of parts.slice(0, maxParts)) {
    if (part.kind === "text") {
      before += part.text;
      continue;
    }
    if (part.name === variable) {
      const start = field === "url" ? Math.max(before.lastIndexOf("?"), before.lastIndexOf("&")) : 0;
      const [name = "", value] = start < 0 ? [] : before.slice(start).split("=", 2);
      if (value !== undefined && isSecretName(name.replace(/^[?&]|^-+/, ""))) return true;
    }
    before += "$";
  }
  return false;
}

/** Holds the value of a variable against the rules for where it stands, but for those of a url. No finding tells the value. */
export function judgeValue(field: TextField, { name }: VariableReference, value: string, report: Report): void {
  const place = { ...field, variable: name };
  const isSecret = isSecretPosition(field, name);
  const isHeader = field.field.startsWith("headers.");
  const hidden = hiddenIn(value);
  if (hidden !== undefined) {
    report(
      "variable-white-space",
      isSecret || isHeader || field.field === "url" ? "error" : "warning",
      place,
      `The value of ${name} ${hidden}.`,
      `Set ${name} again without it; ${name}="$(cat file)" leaves out the line break at the end of a file.`,
    );
  } else if (isHeader && !isHeaderValue(value)) {
    const message = `The value of ${name} holds a character that no header can have.`;
    report("header-value", "error", place, message, `Set ${name} to printable characters of Latin-1.`);
  } else if (value.includes("\0")) {
    const message = `The value of ${name} holds a NUL, which no process can be given.`;
    report("variable-white-space", "error", place, message, `Set ${name} again without it.`);
  }
  if (value.includes("${")) {
    const message = `The value of ${name} holds a \${, which is not looked into and never sent.`;
    report("variable-nested", "error", place, message, `Set ${name} to the value that is meant.`);
  }
  if (isSecret && isPlaceholder(value)) {
    const message = `The value of ${name} looks like the placeholder of an example.`;
    report("variable-placeholder", "warning", place, message, `Set ${name} to your own value.`);
  }
  if (field.field.toLowerCase() === "headers.authorization") judgeAuthorization(field, name, value, report);
}

function isPasswordOfAddress({ template: { parts } }: TextField, variable: string): boolean {
  const texts = parts.map((part) => (part.kind === "text" ? part.text : "$"));
  return parts.some((part, index) => {
    if (part.kind === "text" || part.name !== variable) return false;
    const [before, after] = [texts.slice(0, index).join(""), texts.slice(index + 1).join("")];
    if (/:\/\/[^/?#@]*:[^/?#@]*$/.test(before) && /^[^/?#]*@/.test(after)) return true;
    const parameter = /[?&;]([^?&;=]+)=[^?&;]*$/.exec(before)?.[1];
    return parameter !== undefined && isSecretName(parameter);
  });
}

function judgeAuthorization(field: TextField, name: string, value: string, report: Report): void {
  const { scheme } = parseAuthorization(field.template.text);
  if (scheme !== undefined && parseAuthorization(value).scheme !== undefined) {
    report(
      "authorization-doubled",
      "error",
      { ...field, variable: name },
      `The value of ${name} starts with a scheme, and so does the field.`,
      `Set ${name} to what follows the scheme alone.`,
    );
  } else if (scheme === "Basic" && field.template.text === `Basic \${${name}}` && !isBasic(value)) {
    report(
      "basic-credentials",
      "warning",
      { ...field, variable: name },
      `The value of ${name} is not the base64 of user:password.`,
      `Set it with: export ${name}="$(printf '%s' 'user:password' | base64)".`,
    );
  }
}

function hiddenIn(value: string): string | undefined {
  if (/[\r\n]/.test(value.trim())) return "holds a line break";
  if (/[\r\n]/.test(value.slice(value.trimEnd().length))) return "ends with a line break";
  if (/^\s/.test(value)) return "starts with white space";
  if (/\s$/.test(value)) return "ends with white space";
  return invisible.test(value) ? "holds white space or a mark that cannot be seen" : undefined;
}

function isBasic(value: string): boolean {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(value) && Buffer.from(value, "base64").includes(":");
}

function nameOf(field: TextField | NamedField): string {
  return "name" in field ? field.name : field.field;
}
