import { findSecretShapes, isCredentialHeader, isPlainAddress, isSecretName } from "../secrets/recognize-secrets.js";
import { dialectOf, referenceTo } from "./dialects.js";
import type { Entry, TemplateField } from "./entry.js";
import type { Report } from "./finding.js";
import { parseAuthorization } from "./headers.js";
import { oauthTexts } from "./oauth-settings.js";
import { literalOf, notSecretVariable, renderParts, variablesOf } from "./template.js";
import { parseUrlTemplate, variableMark } from "./url-template.js";

/** A shorter value, such as "test", would be redacted in every sentence. */
const minLength = 8;

/**
 * Reports secrets that are written into an entry, recognized by their field or shape, and returns the values to redact: those of at least 8
 * characters.
 */
export function checkSecrets(entry: Entry, report: Report): string[] {
  const secrets: string[] = [];
  // The syntax of opencode has no defaults.
  const mark =
    dialectOf(entry.dialect).variables === "braces"
      ? ""
      : ` If it is not a secret, write \${${notSecretVariable}:-…} with the value as the default.`;
  const add = (
    field: TemplateField,
    values: readonly string[],
    isSure: boolean,
    what: string,
    variable: string,
  ): void => {
    secrets.push(...values.filter(({ length }) => length >= minLength));
    const fix = `Write ${referenceTo(variable, entry.dialect)} instead, set ${variable} in the environment, and replace the secret, because everyone with access to the file has it.${mark}`;
    report("literal-secret", isSure ? "error" : "warning", field, what, fix, { variable });
  };
  const byShape = (field: TemplateField, variable: string, isGuessSure: boolean): void => {
    // 40 hexadecimal digits are a git commit, unless the name of the field says otherwise.
    const shapes = findSecretShapes(writtenText(field)).filter(({ value }) => !/^[0-9a-f]{40}$/.test(value));
    const first = shapes.find(({ isCertain }) => isCertain) ?? shapes[0];
    if (first === undefined) return;
    const values = shapes.map(({ value }) => value);
    add(field, values, first.isCertain || isGuessSure, `${field.field} contains ${first.looksLike}.`, variable);
  };
  const checkArguments = (lists: readonly (readonly TemplateField[])[]): void => {
    for (const args of lists) {
      args.forEach((arg, index) => {
        const [flag, value] = flagAndValue(arg, args[index - 1]);
        if (flag !== undefined && isSecretFlag(flag) && isSecretLiteral(value) && !value.includes("/")) {
          add(arg, [value], true, `${arg.field} contains the value of ${flag}.`, variableFor(entry.name, flag));
        } else byShape(arg, variableFor(entry.name, "TOKEN"), false);
      });
    }
  };

  if (entry.type !== "stdio") {
    byShape(entry.url, variableFor(entry.name, "TOKEN"), false);
    for (const [parameter, value] of literalParameters(entry.url)) {
      add(
        entry.url,
        [value],
        true,
        `The url parameter ${parameter} contains a secret.`,
        variableFor(entry.name, parameter),
      );
    }
    for (const header of entry.headers) {
      const literal = credentialsIn(header);
      const variable = variableFor(entry.name, header.name.toLowerCase() === "authorization" ? "TOKEN" : header.name);
      if (isCredentialHeader(header.name) && literal !== "") {
        add(header, [literal], true, `${header.field} contains the credential itself.`, variable);
      } else byShape(header, variable, true);
    }
    const { clientSecret } = entry.oauth ?? {};
    for (const text of oauthTexts(entry.oauth)) {
      if (text.field !== clientSecret?.field) byShape(text, variableFor(entry.name, "TOKEN"), false);
      else if (credentialsIn(text) !== "") {
        const message = `${text.field} contains the secret itself.`;
        add(text, [credentialsIn(text)], true, message, variableFor(entry.name, "CLIENT_SECRET"));
      }
    }
    checkArguments(entry.secretCommands.map(({ command }) => command));
    return secrets;
  }
  for (const variable of entry.env) {
    const literal = credentialsIn(variable);
    if (isSecretName(variable.name) && isSecretLiteral(literal)) {
      add(variable, [literal], true, `${variable.field} contains the secret itself.`, variable.name);
    } else byShape(variable, variable.name, true);
  }
  byShape(entry.command, variableFor(entry.name, "TOKEN"), false);
  checkArguments([entry.args, ...entry.secretCommands.map(({ command }) => command)]);
  return secrets;
}

/** The string of a field with the defaults of its variables; variables without default, and literals marked as not secret, stay references. */
function writtenText({ template }: TemplateField): string {
  return renderParts(template, ({ name, fallback }) =>
    name === notSecretVariable || fallback === undefined ? `\${${name}}` : fallback,
  );
}

/** The literal credential in a credential field: the string without its scheme, or a default. */
function credentialsIn({ template }: Pick<TemplateField, "template">): string {
  const withoutScheme = parseAuthorization(literalOf(template)).credentials;
  const variables = variablesOf(template);
  // Next to other text, as in a URL, a default is a secret only if its variable is named like one.
  const fallback = variables
    .filter(({ name }) => name !== notSecretVariable && (withoutScheme === "" || isSecretName(name)))
    .map((variable) => variable.fallback ?? "")
    .find(isSecretLiteral);
  if (fallback !== undefined) return fallback;
  // $NAME and %NAME% are meant as variables; another rule reports them.
  const isMistaken = /^(?:\$\w+|%\w+%)$/.test(withoutScheme) || template.malformed.length > 0;
  return variables.length > 0 || isMistaken ? "" : withoutScheme;
}

function isSecretLiteral(value: string): boolean {
  return (
    value !== "" &&
    !/^(?:\d{1,6}|true|false|null|none|yes|no|on|off)$/i.test(value) &&
    !/^\.{0,2}\/|^~\//.test(value) &&
    !isPlainAddress(value)
  );
}

function literalParameters({ template }: TemplateField): [name: string, value: string][] {
  const query = parseUrlTemplate(template)?.query ?? "";
  return [...new URLSearchParams(query)].filter(
    ([name, value]) => isSecretName(name) && isSecretLiteral(value) && !value.includes(variableMark),
  );
}

function flagAndValue(
  arg: TemplateField,
  before: TemplateField | undefined,
): [flag: string | undefined, value: string] {
  const { text } = arg.template;
  if (variablesOf(arg.template).length > 0) return [undefined, ""];
  const [, flag, value] = /^(--?[\w-]+)=(.*)$/s.exec(text) ?? [];
  if (flag !== undefined && value !== undefined) return [flag, value];
  const previous = before?.template.text ?? "";
  return /^--?[\w-]+$/.test(previous) && !text.startsWith("-") ? [previous, text] : [undefined, ""];
}

/** Like isSecretName, except --key and similar flags, which name a key file. */
function isSecretFlag(flag: string): boolean {
  return isSecretName(flag) && (!/key$/i.test(flag) || /(?:api|access|secret)[-_]?key$/i.test(flag));
}

/** A variable name to suggest: the server's name and the kind of value, such as GITHUB_TOKEN. */
function variableFor(server: string, what: string): string {
  const words = `${server} ${what.replace(/^x-/i, "")}`.toUpperCase().split(/[^A-Z0-9]+/);
  return words
    .filter((word) => word !== "")
    .join("_")
    .replace(/^(?=\d)/, "_");
}
