import { settingOfParameter } from "../oauth-parameters.js";
import { suggest } from "../suggest.js";
import { writtenKeyOf } from "./dialect-fields.js";
import { at, describeKind } from "./entry-values.js";
import { quoteName, type Report, type SourcePosition } from "./finding.js";
import type { JsonMember, JsonNode } from "./json-with-positions.js";
import {
  type OAuthFieldSpec,
  type OAuthSettingName,
  type OAuthSettingsOf,
  type OAuthText,
  oauthFieldTable,
  oauthValueProblem,
  weakenedBy,
} from "./oauth-settings.js";
import { parseTemplate, type TemplateSyntax, variablesOf } from "./template.js";

const settingNames = Object.keys(oauthFieldTable) as OAuthSettingName[];
const entrySettingNames = settingNames.filter((name) => oauthFieldTable[name].inEntry);

const maxItems = 64;

/**
 * Parses OAuth settings and reports what is wrong, at its position. In an entry, settings that only the user's own file may have, and
 * unknown ones, have no effect and are notes; in the user's file they are errors.
 */
export function parseOAuthSettings(
  node: JsonNode,
  position: SourcePosition,
  file: "entry" | "own",
  report: Report,
  syntax: TemplateSyntax = {},
): OAuthSettingsOf<OAuthText> {
  const prefix = file === "entry" ? "oauth." : "";
  if (node.kind !== "object") {
    const what = file === "entry" ? "oauth" : quoteName(position.server ?? "");
    const message = `${what} must be an object, but is ${describeKind(node)}.`;
    report("field-type", "error", { ...position, ...at(node) }, message, 'Write {"clientId": "…"}.');
    return {};
  }
  const settings: Record<string, unknown> = {};
  for (const member of node.members) {
    const name = settingNames.find((each) => each === member.key);
    if (name !== undefined && (file === "own" || oauthFieldTable[name].inEntry)) {
      settings[name] = parseSetting(name, member, position, prefix, report, syntax);
    } else reportUnknown(member, name, position, file, report);
  }
  const parsed: OAuthSettingsOf<OAuthText> = settings;
  if (parsed.clientSecret !== undefined && parsed.clientId === undefined) {
    report("oauth-setting", "error", parsed.clientSecret, `${prefix}clientSecret requires clientId.`, "Add clientId.");
  }
  const weakened = file === "entry" ? weakenedBy(parsed) : {};
  for (const { key, keyAt } of node.members) {
    const text = weakened[key as OAuthSettingName];
    if (text === undefined) continue;
    const fix = `Remove ${key} if the sign-in works without it.`;
    report("oauth-weakened", "note", { ...position, ...keyAt, path: [...position.path, key] }, text, fix);
  }
  return parsed;
}

function parseSetting(
  name: OAuthSettingName,
  member: JsonMember,
  parent: SourcePosition,
  prefix: string,
  report: Report,
  syntax: TemplateSyntax,
): unknown {
  const { value } = member;
  const { kind } = oauthFieldTable[name];
  const position = { ...parent, ...at(value), path: [...parent.path, writtenKeyOf(member)] };
  const field = `${prefix}${name}`;
  const wrong = (): undefined => {
    const fix = `Write ${examples[kind]}.`;
    report("field-type", "error", position, `${field} must be ${article(kind)}, but is ${describeKind(value)}.`, fix);
    return undefined;
  };
  const textOf = (node: JsonNode, path: SourcePosition["path"], label: string): OAuthText | undefined => {
    if (node.kind !== "string") return wrong();
    const template = parseTemplate(node.value, syntax);
    const text = { ...position, ...at(node), path, field: label, setting: name, template };
    if (node.value.trim() === "") {
      report("oauth-setting", "error", text, `${label} is empty.`, "Write a value, or remove the field.");
      return undefined;
    }
    // A value with variables is checked when they are known.
    const problem = variablesOf(text.template).length > 0 ? undefined : oauthValueProblem(text, node.value);
    if (problem !== undefined) report("oauth-setting", "error", text, problem, "Correct the value.");
    return text;
  };
  switch (kind) {
    case "boolean":
      return value.kind === "boolean" ? value.value : wrong();
    case "number": {
      if (value.kind !== "number") return wrong();
      if (Number.isInteger(value.value) && value.value > 0 && value.value < 65_536) return value.value;
      report("oauth-setting", "error", position, `${field} must be an integer from 1 to 65535.`, "Write a port.");
      return undefined;
    }
    case "string or false":
      if (value.kind === "boolean" && !value.value) return false;
      return textOf(value, position.path, field);
    case "string":
      return textOf(value, position.path, field);
    case "list of strings": {
      // Claude Code writes one string with spaces.
      const words = value.kind === "string" ? value.value.split(/\s+/).filter((word) => word !== "") : [];
      const items = value.kind === "array" ? value.items : words.map((word) => ({ ...value, value: word }));
      if (value.kind !== "array" && value.kind !== "string") return wrong();
      if (items.length > maxItems) return tooMany(field, position, report);
      return items.flatMap((item, index) => {
        const path = value.kind === "array" ? [...position.path, index] : position.path;
        return textOf(item as JsonNode, path, value.kind === "array" ? `${field}[${index}]` : field) ?? [];
      });
    }
    case "object of strings": {
      if (value.kind !== "object") return wrong();
      if (value.members.length > maxItems) return tooMany(field, position, report);
      return value.members.flatMap(({ key, keyAt, value: inner }) => {
        const path = [...position.path, key];
        const refused = parameterProblem(key);
        if (refused !== undefined) {
          report("oauth-parameter", "error", { ...position, ...keyAt, path }, `${field}: ${refused[0]}`, refused[1]);
          return [];
        }
        const text = textOf(inner, path, `${field}.${key}`);
        return text === undefined ? [] : [[key, text]];
      });
    }
  }
}

function parameterProblem(name: string): [message: string, fix: string] | undefined {
  if (!/^[A-Za-z][\w.-]{0,63}$/.test(name)) {
    return [`${quoteName(name)} is not the name of a parameter.`, "Use letters, digits, _, - and dots."];
  }
  const setting = settingOfParameter(name);
  if (setting === undefined || setting === "authorizeParameters") return undefined;
  const fix = setting === "none" ? "Remove it." : `Use ${setting} instead.`;
  return [`Wirescope sets the parameter ${name} itself.`, fix];
}

function tooMany(field: string, position: SourcePosition, report: Report): undefined {
  report("oauth-setting", "error", position, `${field} has more than ${maxItems} values.`, "Remove some.");
  return undefined;
}

function reportUnknown(
  { key, keyAt }: JsonMember,
  known: OAuthSettingName | undefined,
  parent: SourcePosition,
  file: "entry" | "own",
  report: Report,
): void {
  const position = { ...parent, ...keyAt, path: [...parent.path, key] };
  if (known !== undefined) {
    const message = `oauth.${key} has no effect in an entry.`;
    report("field-unknown", "note", position, message, "Set it in your own OAuth settings, wirescope/oauth.json.");
    return;
  }
  const names = file === "entry" ? entrySettingNames : settingNames;
  const near = suggest(key, names);
  const fix = near === undefined ? `Known fields: ${names.join(", ")}.` : `Did you mean ${near}?`;
  const what = file === "entry" ? `oauth.${key} is unknown and has no effect.` : `Unknown field ${quoteName(key)}.`;
  report("field-unknown", file === "entry" ? "note" : "error", position, what, fix);
}

const examples: Readonly<Record<OAuthFieldSpec["kind"], string>> = {
  string: '"…"',
  "list of strings": '["…", "…"]',
  number: "a number without quotes",
  boolean: "true or false",
  "object of strings": '{"name": "…"}',
  "string or false": '"…" or false',
};

function article(kind: OAuthFieldSpec["kind"]): string {
  return kind.startsWith("object") ? `an ${kind}` : `a ${kind}`;
}
