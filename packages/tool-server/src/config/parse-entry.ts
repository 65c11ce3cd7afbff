import { isTenantHeader } from "../secrets/secret-names.js";
import { suggest } from "../suggest.js";
import {
  type Entry,
  entryTypes,
  type FieldName,
  type FieldSpec,
  fieldNames,
  fieldTable,
  type NamedField,
  type NetworkEntry,
  type NetworkType,
  type StdioEntry,
  type TemplateField,
  type TenantVariable,
} from "./entry.js";
import { type JsonPath, quoteName, type Report, type SourcePosition } from "./finding.js";
import { type JsonMember, type JsonNode, jsonNodeToValue } from "./json-with-positions.js";
import type { EntryOAuth } from "./oauth-settings.js";
import { parseOAuthSettings } from "./parse-oauth-settings.js";
import { parseTemplate, type Template, variablesOf } from "./template.js";
import { parseUrlTemplate, variableMark } from "./url-template.js";

type Members = ReadonlyMap<FieldName, JsonMember>;

/** Parses one entry; undefined if it has no usable url or command. */
export function parseEntry(
  member: JsonMember,
  parent: JsonPath,
  allowsInsecureLoopback: boolean,
  report: Report,
): Entry | undefined {
  const { key: name, keyAt, value } = member;
  const position: SourcePosition = { ...keyAt, path: [...parent, name], server: name };
  if (name.trim() === "" || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) {
    report(
      "server-name",
      "error",
      position,
      "The server name is empty or contains characters that cannot be printed.",
      "Give it a name.",
    );
  }
  if (value.kind !== "object") {
    const message = `The entry must be an object, but is ${describe(value)}.`;
    report(
      "entry-shape",
      "error",
      { ...position, ...at(value) },
      message,
      'Write {"type": "http", "url": "https://…"}.',
    );
    return undefined;
  }
  const members = readFields(value.members, position, report);
  const type = typeOf(members, position, report);
  if (type === undefined) return undefined;
  checkPlacement(members, type, position, report);
  const written = jsonNodeToValue(value);
  if (type === "stdio") {
    const parsed = parseStdio(members, position, name, report);
    return parsed && { ...parsed, written };
  }
  const parsed = parseNetwork(members, type, position, name, report);
  return parsed && { ...parsed, allowsInsecureLoopback, written };
}

function readFields(all: readonly JsonMember[], entry: SourcePosition, report: Report): Members {
  const members = new Map<FieldName, JsonMember>();
  for (const member of all) {
    if (isField(member.key)) {
      members.set(member.key, member);
      continue;
    }
    const near = suggest(member.key, fieldNames);
    report(
      "field-unknown",
      "error",
      { ...entry, ...member.keyAt, path: [...entry.path, member.key] },
      `Unknown field ${quoteName(member.key)}.`,
      near === undefined ? `Remove it. Known fields: ${fieldNames.join(", ")}.` : `Did you mean ${near}?`,
    );
  }
  return members;
}

/** The type of an entry, from its type field and from whether it has url or command. */
function typeOf(members: Members, entry: SourcePosition, report: Report): Entry["type"] | undefined {
  const url = members.get("url");
  const command = members.get("command");
  if (url !== undefined && command !== undefined) {
    const position = { ...entry, ...command.keyAt, path: [...entry.path, "command"] };
    const fix = "Keep url for a network server or command for a local one. Use two entries for two servers.";
    report("field-conflict", "error", position, "The entry has both url and command.", fix);
    const { value } = members.get("type") ?? {};
    // Continue, to report the other problems in the same run.
    return value?.kind === "string" && isType(value.value) ? value.value : "http";
  }
  const member = members.get("type");
  const type = member && stringOf(member, "type", entry, report);
  if (member !== undefined && type === undefined) return undefined;
  if (member === undefined || type === undefined) {
    if (command !== undefined) return "stdio";
    if (url === undefined) {
      const fix = 'Add "type" and "url", or "command".';
      report("field-missing", "error", entry, "The entry has neither url nor command.", fix);
      return undefined;
    }
    const isWebSocket = url.value.kind === "string" && /^wss?:/i.test(url.value.value);
    const fix = isWebSocket ? 'Add "type": "ws".' : 'Add "type": "http", or "sse" for a legacy server.';
    report("type-missing", "error", entry, "The entry has a url but no type.", fix);
    // Continue, to report the other problems in the same run.
    return isWebSocket ? "ws" : "http";
  }
  const position = { ...entry, ...at(member.value), path: [...entry.path, "type"] };
  if (!isType(type)) {
    const near =
      suggest(type, [...entryTypes]) ?? (/stream/i.test(type) ? "http" : /socket/i.test(type) ? "ws" : undefined);
    const fix = near === undefined ? `Write one of ${entryTypes.join(", ")}.` : `Write "${near}".`;
    report("type-unknown", "error", position, "The type must be http, sse, ws or stdio.", fix);
    return command !== undefined ? "stdio" : url !== undefined ? "http" : undefined;
  }
  if (type === "stdio" && url !== undefined) {
    report(
      "type-mismatch",
      "error",
      position,
      "The type is stdio, but the entry has a url.",
      'Write "http", "sse" or "ws".',
    );
    return "http";
  }
  if (type !== "stdio" && command !== undefined) {
    report("type-mismatch", "error", position, `The type is ${type}, but the entry has a command.`, 'Write "stdio".');
    return "stdio";
  }
  return type;
}

function checkPlacement(members: Members, type: Entry["type"], entry: SourcePosition, report: Report): void {
  if (members.has("url") && members.has("command")) return;
  const kind = type === "stdio" ? "stdio" : "network";
  for (const [name, { keyAt }] of members) {
    const { appliesTo }: FieldSpec = fieldTable[name];
    if (appliesTo === "both" || appliesTo === kind) continue;
    const fits = fieldNames.filter((field) => fieldTable[field].appliesTo === kind);
    report(
      "field-misplaced",
      "error",
      { ...entry, ...keyAt, path: [...entry.path, name] },
      `${name} applies to ${appliesTo} servers, but this is a ${type} server.`,
      `Remove it. A ${type} server can have ${fits.join(", ")}.`,
    );
  }
}

function parseNetwork(
  members: Members,
  type: NetworkType,
  entry: SourcePosition,
  name: string,
  report: Report,
): Omit<NetworkEntry, "written" | "allowsInsecureLoopback"> | undefined {
  const url = textOf(members, "url", entry, report);
  const headers = namedTexts(members, "headers", entry, report);
  const headersHelper = textOf(members, "headersHelper", entry, report);
  const oauth = oauthOf(members, entry, report);
  const sandbox = sandboxOf(members, "helper", entry, report);
  const { keyAt } = members.get("sandbox") ?? {};
  if (keyAt !== undefined && !members.has("headersHelper")) {
    const position = { ...entry, ...keyAt, path: [...entry.path, "sandbox"] };
    const message = `sandbox applies to local programs, but this ${type} server has no headersHelper.`;
    report("field-misplaced", "error", position, message, "Remove it.");
  }
  if (url === undefined) {
    if (!members.has("url"))
      report("field-missing", "error", entry, "The entry has no url.", 'Add "url": "https://…".');
    return undefined;
  }
  return { ...entry, type, name, url, headers, headersHelper, oauth, sandbox, tenants: tenantsOf(url, headers) };
}

function parseStdio(
  members: Members,
  entry: SourcePosition,
  name: string,
  report: Report,
): Omit<StdioEntry, "written"> | undefined {
  const command = textOf(members, "command", entry, report);
  const args = texts(members.get("args"), entry, report);
  const env = namedTexts(members, "env", entry, report);
  const sandbox = sandboxOf(members, "server", entry, report);
  for (const variable of env) {
    if (/^[^=\0]+$/.test(variable.name)) continue;
    const message = `${quoteName(variable.name)} is not a valid variable name.`;
    report("field-type", "error", variable, message, "Use letters, digits and _.");
  }
  if (command === undefined) {
    if (!members.has("command")) report("field-missing", "error", entry, "The entry has no command.", 'Add "command".');
    return undefined;
  }
  return { ...entry, type: "stdio", name, command, args, env, sandbox };
}

function oauthOf(members: Members, entry: SourcePosition, report: Report): EntryOAuth | undefined {
  const { value } = members.get("oauth") ?? {};
  if (value === undefined) return undefined;
  return parseOAuthSettings(value, { ...entry, ...at(value), path: [...entry.path, "oauth"] }, "entry", report);
}

function sandboxOf(members: Members, program: "server" | "helper", entry: SourcePosition, report: Report): boolean {
  const sandbox = flagOf(members, "sandbox", true, entry, report);
  const { value } = members.get("sandbox") ?? {};
  if (value !== undefined && !sandbox) {
    const position = { ...entry, ...at(value), path: [...entry.path, "sandbox"] };
    const message = `Without the sandbox, the ${program} can read the tokens of all servers.`;
    report("sandbox-off", "note", position, message, `Remove this field if the ${program} works in the sandbox.`);
  }
  return sandbox;
}

function tenantsOf(url: TemplateField, headers: readonly NamedField[]): NetworkEntry["tenants"] {
  const tenants: TenantVariable[] = [];
  const { regions = [], host = "" } = parseUrlTemplate(url.template) ?? {};
  variablesOf(url.template).forEach(({ name }, index) => {
    // A variable at the end of the host sets the domain, not a tenant.
    if (regions[index] === "host" && !host.endsWith(variableMark))
      tenants.push({ variable: name, via: "host", field: url.field });
  });
  for (const header of headers.filter((each) => isTenantHeader(each.name))) {
    for (const { name } of variablesOf(header.template)) {
      tenants.push({ variable: name, via: "header", field: header.field });
    }
  }
  return tenants;
}

function textOf(members: Members, name: FieldName, entry: SourcePosition, report: Report): TemplateField | undefined {
  const member = members.get(name);
  const value = member && stringOf(member, name, entry, report);
  if (member === undefined || value === undefined) return undefined;
  const position = { ...entry, ...at(member.value), path: [...entry.path, name] };
  if (value.trim() === "") {
    report("field-missing", "error", position, `${name} is empty.`, "Write a value, or remove the field.");
    return undefined;
  }
  return { ...position, field: name, template: parseTemplate(value) };
}

function texts(member: JsonMember | undefined, entry: SourcePosition, report: Report): TemplateField[] {
  if (member === undefined) return [];
  const position = { ...entry, ...at(member.value), path: [...entry.path, "args"] };
  if (member.value.kind !== "array") {
    wrongType(position, "args", member.value, report);
    return [];
  }
  return member.value.items.flatMap((item, index) => {
    const here = { ...position, ...at(item), path: [...position.path, index] };
    const field = `args[${index}]`;
    const template = templateOf(item, field, here, report);
    return template === undefined ? [] : [{ ...here, field, template }];
  });
}

function namedTexts(members: Members, name: "headers" | "env", entry: SourcePosition, report: Report): NamedField[] {
  const member = members.get(name);
  if (member === undefined) return [];
  const position = { ...entry, ...at(member.value), path: [...entry.path, name] };
  if (member.value.kind !== "object") {
    wrongType(position, name, member.value, report);
    return [];
  }
  return member.value.members.flatMap(({ key, value }) => {
    const here = { ...position, ...at(value), path: [...position.path, key] };
    const field = `${name}.${key}`;
    const template = templateOf(value, field, here, report);
    return template === undefined ? [] : [{ ...here, field, name: key, template }];
  });
}

/** Parses a string as a template; reports any other kind of value and returns undefined. */
function templateOf(node: JsonNode, field: string, position: SourcePosition, report: Report): Template | undefined {
  if (node.kind === "string") return parseTemplate(node.value);
  report(
    "field-type",
    "error",
    position,
    `${field} must be a string, but is ${describe(node)}.`,
    "Write it in double quotes.",
  );
  return undefined;
}

function stringOf({ value }: JsonMember, name: FieldName, entry: SourcePosition, report: Report): string | undefined {
  if (value.kind === "string") return value.value;
  wrongType({ ...entry, ...at(value), path: [...entry.path, name] }, name, value, report);
  return undefined;
}

function flagOf(members: Members, name: FieldName, standard: boolean, entry: SourcePosition, report: Report): boolean {
  const { value } = members.get(name) ?? {};
  if (value === undefined || value.kind === "boolean") return value?.value ?? standard;
  wrongType({ ...entry, ...at(value), path: [...entry.path, name] }, name, value, report);
  return standard;
}

function wrongType(position: SourcePosition, name: FieldName, value: JsonNode, report: Report): void {
  const { json } = fieldTable[name];
  const expected = json === "string" || json === "boolean" ? `a ${json}` : `an ${json}`;
  const examples = {
    string: '"…"',
    "array of strings": '["…", "…"]',
    "object of strings": '{"NAME": "…"}',
    boolean: "true or false",
    object: "{…}",
  };
  report(
    "field-type",
    "error",
    position,
    `${name} must be ${expected}, but is ${describe(value)}.`,
    `Write ${examples[json]}.`,
  );
}

function describe({ kind }: JsonNode): string {
  return kind === "null" ? "null" : kind === "object" || kind === "array" ? `an ${kind}` : `a ${kind}`;
}

function at({ line, column }: JsonNode): { line: number; column: number } {
  return { line, column };
}

function isField(key: string): key is FieldName {
  return Object.hasOwn(fieldTable, key);
}

function isType(type: string): type is Entry["type"] {
  return entryTypes.some((each) => each === type);
}
