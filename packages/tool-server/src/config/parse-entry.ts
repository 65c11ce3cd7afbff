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
  type TenantVariable,
  type TextField,
} from "./entry.js";
import { type JsonPath, type Place, quoteName, type Report } from "./finding.js";
import { type JsonMember, type JsonNode, jsonNodeToValue } from "./json-with-positions.js";
import { parseTemplate, type Template, variablesOf } from "./template.js";
import { parseUrlTemplate, variableMark } from "./url-template.js";

type Members = ReadonlyMap<FieldName, JsonMember>;

/** Reads one entry; undefined if so much is wrong with it that nothing could be connected to. */
export function parseEntry(
  member: JsonMember,
  parent: JsonPath,
  allowsInsecureLoopback: boolean,
  report: Report,
): Entry | undefined {
  const { key: name, keyAt, value } = member;
  const place: Place = { ...keyAt, path: [...parent, name], server: name };
  if (name.trim() === "" || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) {
    report("server-name", "error", place, "The name of a server is empty or cannot be printed.", "Give it a name.");
  }
  if (value.kind !== "object") {
    const message = `The entry is ${describe(value)} and not an object.`;
    report("entry-shape", "error", { ...place, ...at(value) }, message, 'Write {"type": "http", "url": "https://…"}.');
    return undefined;
  }
  const members = readFields(value.members, place, report);
  const type = typeOf(members, place, report);
  if (type === undefined) return undefined;
  judgePlacement(members, type, place, report);
  const written = jsonNodeToValue(value);
  if (type === "stdio") {
    const parsed = parseStdio(members, place, name, report);
    return parsed && { ...parsed, written };
  }
  const parsed = parseNetwork(members, type, place, name, report);
  return parsed && { ...parsed, allowsInsecureLoopback, written };
}

function readFields(all: readonly JsonMember[], entry: Place, report: Report): Members {
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
      `An entry has no field ${quoteName(member.key)}.`,
      near === undefined ? `Take it away. The fields are ${fieldNames.join(", ")}.` : `Did you mean ${near}?`,
    );
  }
  return members;
}

/** What an entry is, by its type and by whether it has url or command. */
function typeOf(members: Members, entry: Place, report: Report): Entry["type"] | undefined {
  const url = members.get("url");
  const command = members.get("command");
  if (url !== undefined && command !== undefined) {
    const place = { ...entry, ...command.keyAt, path: [...entry.path, "command"] };
    const fix = "Keep url for a server on the network, or command for a process; make two entries for two servers.";
    report("field-conflict", "error", place, "The entry has both url and command.", fix);
    const { value } = members.get("type") ?? {};
    // So that what else is wrong is found in the same run.
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
    const fix = isWebSocket ? 'Add "type": "ws".' : 'Add "type": "http", or "sse" for a server of the older kind.';
    report("type-missing", "error", entry, "The entry has a url and no type.", fix);
    // So that what else is wrong is found in the same run.
    return isWebSocket ? "ws" : "http";
  }
  const place = { ...entry, ...at(member.value), path: [...entry.path, "type"] };
  if (!isType(type)) {
    const near =
      suggest(type, [...entryTypes]) ?? (/stream/i.test(type) ? "http" : /socket/i.test(type) ? "ws" : undefined);
    const fix = near === undefined ? `Write one of ${entryTypes.join(", ")}.` : `Write "${near}".`;
    report("type-unknown", "error", place, "The type is none of http, sse, ws and stdio.", fix);
    return command !== undefined ? "stdio" : url !== undefined ? "http" : undefined;
  }
  if (type === "stdio" && url !== undefined) {
    report(
      "type-mismatch",
      "error",
      place,
      "The type is stdio, and the entry has a url.",
      'Write "http", "sse" or "ws".',
    );
    return "http";
  }
  if (type !== "stdio" && command !== undefined) {
    report("type-mismatch", "error", place, `The type is ${type}, and the entry has a command.`, 'Write "stdio".');
    return "stdio";
  }
  return type;
}

function judgePlacement(members: Members, type: Entry["type"], entry: Place, report: Report): void {
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
      `${name} is for ${appliesTo} servers, and this is a ${type} server.`,
      `Take it away; a ${type} server has ${fits.join(", ")}.`,
    );
  }
}

function parseNetwork(
  members: Members,
  type: NetworkType,
  entry: Place,
  name: string,
  report: Report,
): Omit<NetworkEntry, "written" | "allowsInsecureLoopback"> | undefined {
  const url = textOf(members, "url", entry, report);
  const headers = namedTexts(members, "headers", entry, report);
  const headersHelper = textOf(members, "headersHelper", entry, report);
  const sandbox = sandboxOf(members, "helper", entry, report);
  const { keyAt } = members.get("sandbox") ?? {};
  if (keyAt !== undefined && !members.has("headersHelper")) {
    const place = { ...entry, ...keyAt, path: [...entry.path, "sandbox"] };
    const message = `sandbox is for what is started, and this ${type} server has no headersHelper.`;
    report("field-misplaced", "error", place, message, "Take it away.");
  }
  if (url === undefined) {
    if (!members.has("url"))
      report("field-missing", "error", entry, "The entry has no url.", 'Add "url": "https://…".');
    return undefined;
  }
  return { ...entry, type, name, url, headers, headersHelper, sandbox, tenants: tenantsOf(url, headers) };
}

function parseStdio(
  members: Members,
  entry: Place,
  name: string,
  report: Report,
): Omit<StdioEntry, "written"> | undefined {
  const command = textOf(members, "command", entry, report);
  const args = texts(members.get("args"), entry, report);
  const env = namedTexts(members, "env", entry, report);
  const sandbox = sandboxOf(members, "server", entry, report);
  for (const variable of env) {
    if (/^[^=\0]+$/.test(variable.name)) continue;
    const message = `${quoteName(variable.name)} is no name of a variable.`;
    report("field-type", "error", variable, message, "Use letters, digits and _.");
  }
  if (command === undefined) {
    if (!members.has("command")) report("field-missing", "error", entry, "The entry has no command.", 'Add "command".');
    return undefined;
  }
  return { ...entry, type: "stdio", name, command, args, env, sandbox };
}

function sandboxOf(members: Members, program: "server" | "helper", entry: Place, report: Report): boolean {
  const sandbox = flagOf(members, "sandbox", true, entry, report);
  const { value } = members.get("sandbox") ?? {};
  if (value !== undefined && !sandbox) {
    const place = { ...entry, ...at(value), path: [...entry.path, "sandbox"] };
    const message = `Without the sandbox, the ${program} can read the tokens of all servers.`;
    report("sandbox-off", "note", place, message, `Take it away if the ${program} works in the sandbox.`);
  }
  return sandbox;
}

function tenantsOf(url: TextField, headers: readonly NamedField[]): NetworkEntry["tenants"] {
  const tenants: TenantVariable[] = [];
  const { regions = [], host = "" } = parseUrlTemplate(url.template) ?? {};
  variablesOf(url.template).forEach(({ name }, index) => {
    // At the end of the host, a variable decides the domain and not a tenant of it.
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

function textOf(members: Members, name: FieldName, entry: Place, report: Report): TextField | undefined {
  const member = members.get(name);
  const value = member && stringOf(member, name, entry, report);
  if (member === undefined || value === undefined) return undefined;
  const place = { ...entry, ...at(member.value), path: [...entry.path, name] };
  if (value.trim() === "") {
    report("field-missing", "error", place, `${name} is empty.`, "Write a value, or take the field away.");
    return undefined;
  }
  return { ...place, field: name, template: parseTemplate(value) };
}

function texts(member: JsonMember | undefined, entry: Place, report: Report): TextField[] {
  if (member === undefined) return [];
  const place = { ...entry, ...at(member.value), path: [...entry.path, "args"] };
  if (member.value.kind !== "array") {
    wrongType(place, "args", member.value, report);
    return [];
  }
  return member.value.items.flatMap((item, index) => {
    const here = { ...place, ...at(item), path: [...place.path, index] };
    const field = `args[${index}]`;
    const template = templateOf(item, field, here, report);
    return template === undefined ? [] : [{ ...here, field, template }];
  });
}

function namedTexts(members: Members, name: "headers" | "env", entry: Place, report: Report): NamedField[] {
  const member = members.get(name);
  if (member === undefined) return [];
  const place = { ...entry, ...at(member.value), path: [...entry.path, name] };
  if (member.value.kind !== "object") {
    wrongType(place, name, member.value, report);
    return [];
  }
  return member.value.members.flatMap(({ key, value }) => {
    const here = { ...place, ...at(value), path: [...place.path, key] };
    const field = `${name}.${key}`;
    const template = templateOf(value, field, here, report);
    return template === undefined ? [] : [{ ...here, field, name: key, template }];
  });
}

/** The template that a text is; undefined, which is reported, where it is no text. */
function templateOf(node: JsonNode, field: string, place: Place, report: Report): Template | undefined {
  if (node.kind === "string") return parseTemplate(node.value);
  report("field-type", "error", place, `${field} is ${describe(node)} and not a string.`, "Write it in double quotes.");
  return undefined;
}

function stringOf({ value }: JsonMember, name: FieldName, entry: Place, report: Report): string | undefined {
  if (value.kind === "string") return value.value;
  wrongType({ ...entry, ...at(value), path: [...entry.path, name] }, name, value, report);
  return undefined;
}

function flagOf(members: Members, name: FieldName, standard: boolean, entry: Place, report: Report): boolean {
  const { value } = members.get(name) ?? {};
  if (value === undefined || value.kind === "boolean") return value?.value ?? standard;
  wrongType({ ...entry, ...at(value), path: [...entry.path, name] }, name, value, report);
  return standard;
}

function wrongType(place: Place, name: FieldName, value: JsonNode, report: Report): void {
  const { json } = fieldTable[name];
  const wanted = json === "string" || json === "boolean" ? `a ${json}` : `an ${json}`;
  const examples = {
    string: '"…"',
    "array of strings": '["…", "…"]',
    "object of strings": '{"NAME": "…"}',
    boolean: "true or false",
  };
  report("field-type", "error", place, `${name} is ${describe(value)} and not ${wanted}.`, `Write ${examples[json]}.`);
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
