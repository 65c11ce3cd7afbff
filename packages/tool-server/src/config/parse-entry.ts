import { isTenantHeader } from "../secrets/recognize-secrets.js";
import { suggest } from "../suggest.js";
import { foreignFields, translateEntry } from "./dialect-fields.js";
import { type DialectName, dialectOf } from "./dialects.js";
import {
  type CommonEntry,
  type Entry,
  entryTypes,
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
import {
  at,
  describeKind,
  type EntryReader,
  firstOf,
  flagOf,
  keyPosition,
  namedTextsOf,
  namesOf,
  plainTextOf,
  textOf,
  textsOf,
  timeOf,
  valuePosition,
} from "./entry-values.js";
import { quoteName, type Report, type SourcePosition } from "./finding.js";
import { isReservedHeader } from "./headers.js";
import { type InputDefinition, inputsKey } from "./inputs.js";
import { type JsonMember, type JsonNode, type JsonPath, jsonNodeToValue } from "./json-with-positions.js";
import type { EntryOAuth } from "./oauth-settings.js";
import { parseOAuthSettings } from "./parse-oauth-settings.js";
import { namedCommandsOf, splitClientSecret } from "./parse-secret-command.js";
import { variablesOf } from "./template.js";
import { parseUrlTemplate, variableMark } from "./url-template.js";

/** The context in which an entry is parsed. */
export interface ParseEntryContext {
  readonly dialect: DialectName;
  readonly inputs: readonly InputDefinition[];
  readonly report: Report;
  /** The path of the file. Default: none. */
  readonly file?: string | undefined;
}

/** Parses one entry; undefined if it has no usable url or command. */
export function parseEntry(member: JsonMember, parent: JsonPath, context: ParseEntryContext): Entry | undefined {
  const { key: name, keyAt, value } = member;
  const { dialect, report } = context;
  const entry: SourcePosition = { line: keyAt.line, column: keyAt.column, path: [...parent, name], server: name };
  if (name.trim() === "" || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) {
    const message = "The server name is empty or contains characters that cannot be printed.";
    const fix = "Give it a name.";
    report("server-name", "error", entry, message, fix);
  }
  if (value.kind !== "object") {
    const message = `The entry must be an object, but is ${describeKind(value)}.`;
    report("entry-shape", "error", { ...entry, ...at(value) }, message, 'Write {"type": "http", "url": "https://…"}.');
    return undefined;
  }
  const reader = readFields(value.members, entry, context);
  const type = typeOf(reader);
  if (type === undefined) return undefined;
  checkPlacement(reader, type);
  const common = { ...entry, name, dialect, written: writtenForm(value, context.inputs), ...settingsOf(reader) };
  return type === "stdio" ? parseStdio(reader, common) : parseNetwork(reader, type, common);
}

/** The entry as written, with the definitions of the inputs that it uses: an approval covers them too. */
function writtenForm(value: JsonNode, inputs: readonly InputDefinition[]): unknown {
  const written = jsonNodeToValue(value);
  const text = JSON.stringify(written);
  const used = inputs.filter(({ id }) => text.includes(`\${input:${id}}`));
  return used.length === 0 ? written : { ...Object(written), [inputsKey]: used.map((input) => input.written) };
}

function readFields(members: readonly JsonMember[], entry: SourcePosition, context: ParseEntryContext): EntryReader {
  const { dialect, inputs, report, file } = context;
  const { fields, unused, wrong, unknown } = translateEntry(members, dialect, file);
  const syntax = {
    variables: dialectOf(dialect).variables,
    inputs: new Map(
      inputs.map(({ id, isSecret, choices }) => [
        id,
        { ...(isSecret && { isSecret }), ...(choices.length > 0 && { choices }) },
      ]),
    ),
  };
  const reader: EntryReader = { entry, fields, syntax, report };
  for (const field of unused) {
    const message = `${field.key} has no effect here: ${field.effect}.`;
    report("field-unused", "note", keyPosition(reader, field), message, "Keep it for the program that uses it.");
  }
  for (const field of wrong) {
    const message = `${field.key} cannot be ${describeKind(field.value)}.`;
    const fix = `It means ${foreignFields[field.key]?.effect ?? "something else"}.`;
    report("field-type", "error", valuePosition(reader, field), message, fix);
  }
  for (const field of unknown) {
    const near = suggest(field.key, [...fieldNames, ...Object.keys(foreignFields)]);
    const position = keyPosition(reader, field);
    const message = `Unknown field ${quoteName(field.key)}, which has no effect.`;
    if (near === undefined) report("field-unknown", "note", position, message, "Keep it for the program that uses it.");
    else report("field-unknown", "warning", position, message, `Did you mean ${near}?`);
  }
  return reader;
}

/** The type of an entry, from its type field and from whether it has url or command. */
function typeOf(reader: EntryReader): Entry["type"] | undefined {
  const { entry, report } = reader;
  const [url, command, written] = [firstOf(reader, "url"), firstOf(reader, "command"), firstOf(reader, "type")];
  if (url !== undefined && command !== undefined) {
    const fix = "Keep url for a network server or command for a local one. Use two entries for two servers.";
    report("field-conflict", "error", keyPosition(reader, command), "The entry has both url and command.", fix);
    const { value } = written ?? {};
    // Continue, to report the other problems in the same run.
    return value?.kind === "string" && isType(value.value) ? value.value : "http";
  }
  const type = plainTextOf(reader, "type");
  if (written !== undefined && type === undefined) return undefined;
  if (written === undefined || type === undefined) {
    if (command !== undefined) return "stdio";
    if (url === undefined) {
      const fix = 'Add "url" for a network server, or "command" for a local one.';
      report("field-missing", "error", entry, "The entry has neither url nor command.", fix);
      return undefined;
    }
    return url.value.kind === "string" && /^wss?:/i.test(url.value.value) ? "ws" : "http";
  }
  const position = valuePosition(reader, written);
  if (!isType(type)) {
    const near = suggest(type, [...entryTypes]) ?? (/socket/i.test(type) ? "ws" : undefined);
    const write = near === undefined ? undefined : JSON.stringify(near);
    const fix = `Write ${write ?? `one of ${entryTypes.join(", ")}`}.`;
    report("type-unknown", "error", position, "The type must be http, sse, ws or stdio.", fix, { write });
    return command !== undefined ? "stdio" : url !== undefined ? "http" : undefined;
  }
  if (type === "stdio" && url !== undefined) {
    const fix = 'Write "http", "sse" or "ws".';
    report("type-mismatch", "error", position, "The type is stdio, but the entry has a url.", fix);
    return "http";
  }
  if (type !== "stdio" && command !== undefined) {
    const [message, write] = [`The type is ${type}, but the entry has a command.`, '"stdio"'];
    report("type-mismatch", "error", position, message, `Write ${write}.`, { write });
    return "stdio";
  }
  return type;
}

function checkPlacement(reader: EntryReader, type: Entry["type"]): void {
  if (reader.fields.has("url") && reader.fields.has("command")) return;
  const kind = type === "stdio" ? "stdio" : "network";
  for (const [name, fields] of reader.fields) {
    const { appliesTo }: FieldSpec = fieldTable[name];
    if (appliesTo === "both" || appliesTo === kind) continue;
    for (const field of fields) {
      const message = `${field.key} applies to ${appliesTo} servers, and has no effect for this ${type} server.`;
      reader.report("field-misplaced", "note", keyPosition(reader, field), message, "Remove it.");
    }
  }
}

type CommonFields = Omit<CommonEntry, "secretCommands">;

/** The settings that every kind of server has. */
function settingsOf(reader: EntryReader): Omit<CommonFields, keyof SourcePosition | "name" | "dialect" | "written"> {
  const [title, description] = [plainTextOf(reader, "title"), plainTextOf(reader, "description")];
  const texts = [title, description].filter((text) => text !== undefined && text.trim() !== "");
  return {
    description: texts.length === 0 ? undefined : texts.join(": ").slice(0, 600),
    isDisabled: flagOf(reader, "disabled", false),
    tools: { include: namesOf(reader, "includeTools"), exclude: namesOf(reader, "excludeTools") ?? [] },
    callTimeoutMs: timeOf(reader, "timeout"),
    connectTimeoutMs: timeOf(reader, "connectTimeout"),
  };
}

function parseNetwork(reader: EntryReader, type: NetworkType, common: CommonFields): NetworkEntry | undefined {
  const { entry, report } = reader;
  const { dialect } = common;
  const url = textOf(reader, "url");
  const isOurs = (header: SourcePosition & { readonly name: string }): boolean => {
    // Other programs accept them, and many examples have a Content-Type.
    if (dialect === "claude-code" || !isReservedHeader(header.name)) return true;
    report("header-reserved", "note", header, `${header.name} is set by the connection itself.`, "Remove it.");
    return false;
  };
  const headers = namedTextsOf(reader, "headers").filter(isOurs);
  const headerCommands = namedCommandsOf(reader, "headers").filter(isOurs);
  const headersHelper = textOf(reader, "headersHelper");
  const sandbox = sandboxOf(reader, "helper");
  const misplaced = firstOf(reader, "sandbox");
  const oauthParts = (reader.fields.get("oauth") ?? []).map((field) => ({
    field,
    ...splitClientSecret(reader, field.value, valuePosition(reader, field), "oauth."),
  }));
  const secretCommands = [...headerCommands, ...oauthParts.flatMap(({ commands }) => commands)];
  if (misplaced !== undefined && firstOf(reader, "headersHelper") === undefined && secretCommands.length === 0) {
    const message = `sandbox applies to local programs, but this ${type} server has no headersHelper and no command.`;
    report("field-misplaced", "note", keyPosition(reader, misplaced), message, "Remove it.");
  }
  const settings = oauthParts.map(({ field, settings: node }) =>
    parseOAuthSettings(node, valuePosition(reader, field), "entry", report, reader.syntax),
  );
  const oauth: EntryOAuth | undefined = settings.length === 0 ? undefined : Object.assign({}, ...settings);
  if (url === undefined) {
    if (firstOf(reader, "url") === undefined)
      report("field-missing", "error", entry, "The entry has no url.", 'Add "url": "https://…".');
    return undefined;
  }
  const hasType = firstOf(reader, "type") !== undefined;
  return {
    ...common,
    type,
    url,
    headers,
    headersHelper,
    helperTimeoutMs: timeOf(reader, "headersHelperTimeout"),
    helperTtlMs: timeOf(reader, "headersHelperTtl"),
    sandbox,
    secretCommands,
    oauth,
    tenants: tenantsOf(url, headers),
    fallsBackToSse: type === "http" && (!hasType || dialectOf(dialect).httpFallsBack),
  };
}

function parseStdio(reader: EntryReader, common: CommonFields): StdioEntry | undefined {
  const { entry, report } = reader;
  const command = textOf(reader, "command");
  const args = textsOf(reader, "args");
  const env = namedTextsOf(reader, "env");
  const secretCommands = namedCommandsOf(reader, "env");
  const [cwd, envFile] = [textOf(reader, "cwd"), textOf(reader, "envFile")];
  const sandbox = sandboxOf(reader, "server");
  for (const variable of [...env, ...secretCommands]) {
    if (/^[^=\0]+$/.test(variable.name)) continue;
    const message = `${quoteName(variable.name)} is not a valid variable name.`;
    report("field-type", "error", variable, message, "Use letters, digits and _.");
  }
  if (command === undefined) {
    if (firstOf(reader, "command") === undefined)
      report("field-missing", "error", entry, "The entry has no command.", 'Add "command".');
    return undefined;
  }
  const processVariables = new Set([...env, ...secretCommands].map((variable) => variable.name));
  return {
    ...common,
    type: "stdio",
    command,
    args: args.map((field) => ({ ...field, processVariables })),
    env,
    secretCommands,
    cwd,
    envFile,
    sandbox,
  };
}

function sandboxOf(reader: EntryReader, program: "server" | "helper"): boolean {
  const sandbox = flagOf(reader, "sandbox", true);
  const field = firstOf(reader, "sandbox");
  if (field !== undefined && !sandbox) {
    const message = `Without the sandbox, the ${program} can read the tokens of all servers.`;
    const fix = `Remove this field if the ${program} works in the sandbox.`;
    reader.report("sandbox-off", "note", valuePosition(reader, field), message, fix);
  }
  return sandbox;
}

function tenantsOf(url: TemplateField, headers: readonly NamedField[]): NetworkEntry["tenants"] {
  const tenants: TenantVariable[] = [];
  const { regions = [], host = "" } = parseUrlTemplate(url.template) ?? {};
  variablesOf(url.template).forEach(({ name, fallback }, index) => {
    // A variable at the end of the host sets the domain, not a tenant.
    if (regions[index] === "host" && !host.endsWith(variableMark))
      tenants.push({ variable: name, via: "host", field: url.field, fallback });
  });
  for (const header of headers.filter((each) => isTenantHeader(each.name))) {
    for (const { name, fallback } of variablesOf(header.template)) {
      tenants.push({ variable: name, via: "header", field: header.field, fallback });
    }
  }
  return tenants;
}

function isType(type: string): type is Entry["type"] {
  return entryTypes.some((each) => each === type);
}
