import { type Dialect, type DialectName, dialectOf } from "./dialects.js";
import { type FieldName, fieldTable } from "./entry.js";
import { withFileCommands } from "./file-references.js";
import { type JsonMember, type JsonNode, type JsonObjectNode, jsonNodeAt, memberOf } from "./json-with-positions.js";
import type { OAuthSettingName } from "./oauth-settings.js";

/** A field of an entry in our spelling, and how it is written in the file. */
export interface EntryField {
  /** The key as written. */
  readonly key: string;
  readonly keyAt: JsonMember["keyAt"];
  readonly value: JsonNode;
  /** Whether values are omitted if their variable is not set. */
  readonly isOptional?: boolean | undefined;
  /** The index in the file of the first item of an array. Default 0. */
  readonly firstIndex?: number | undefined;
}

/** A member of an object whose key another program spells differently. */
interface RenamedMember extends JsonMember {
  readonly writtenKey?: string;
}

export function writtenKeyOf(member: RenamedMember): string {
  return member.writtenKey ?? member.key;
}

/** Fields in our spelling; undefined if the value has the wrong JSON type. */
type Translated =
  | readonly (readonly [field: FieldName, value: JsonNode, how?: Pick<EntryField, "isOptional" | "firstIndex">])[]
  | undefined;

/** A field that our format does not have, or has with another meaning. */
export interface ForeignField {
  readonly dialects: readonly DialectName[];
  /** Its effect here. */
  readonly effect: string;
  /** Our equivalent field; undefined if `translate` decides, or if it has no effect. */
  readonly field?: FieldName | undefined;
  /** Converts the value, if more than the name differs. */
  readonly translate?: ((value: JsonNode, dialect: Dialect) => Translated) | undefined;
}

const clientDecides = "the client decides which calls a user confirms";

/** Maps the fields of every dialect to ours. Fields with our own names and meanings are in `fieldTable`. */
export const foreignFields: Readonly<Record<string, ForeignField>> = {
  serverUrl: { dialects: ["windsurf"], field: "url", effect: "the same as `url`" },
  httpUrl: {
    dialects: ["gemini"],
    effect: '`url` with `type: "http"`',
    translate: (value) => [
      ["url", value],
      ["type", jsonNodeAt("http", value)],
    ],
  },
  transport: { dialects: ["cline"], field: "type", effect: "the same as `type`" },
  transportType: { dialects: ["cline"], field: "type", effect: "the same as `type`" },
  environment: { dialects: ["opencode"], field: "env", effect: "the same as `env`" },
  http_headers: { dialects: ["codex"], field: "headers", effect: "the same as `headers`" },
  env_http_headers: {
    dialects: ["codex"],
    effect: "headers whose values are the variables with these names",
    translate: variableHeaders,
  },
  bearer_token_env_var: {
    dialects: ["codex"],
    effect: "`Authorization: Bearer` and the variable with this name",
    translate: (value) =>
      value.kind === "string"
        ? [["headers", object([["Authorization", jsonNodeAt(`Bearer \${${value.value}}`, value)]], value)]]
        : undefined,
  },
  env_vars: {
    dialects: ["codex"],
    effect: "variables that are passed on to the process, if they are set",
    translate: passedVariables,
  },
  tool_timeout_sec: { dialects: ["codex"], effect: "`timeout`, in seconds", translate: inSeconds("timeout") },
  startup_timeout_sec: {
    dialects: ["codex"],
    effect: "`connectTimeout`, in seconds",
    translate: inSeconds("connectTimeout"),
  },
  startup_timeout_ms: { dialects: ["codex"], field: "connectTimeout", effect: "the same as `connectTimeout`" },
  enabled: {
    dialects: ["codex", "zed", "opencode"],
    effect: "`false`: the same as `disabled: true`",
    translate: (value) => (value.kind === "boolean" ? [["disabled", { ...value, value: !value.value }]] : undefined),
  },
  enabled_tools: { dialects: ["codex"], field: "includeTools", effect: "the same as `includeTools`" },
  disabled_tools: { dialects: ["codex"], field: "excludeTools", effect: "the same as `excludeTools`" },
  disabledTools: { dialects: ["windsurf", "roo"], field: "excludeTools", effect: "the same as `excludeTools`" },
  tools: {
    dialects: ["codex", "vscode", "copilot"],
    effect: "a list of names: the same as `includeTools`; `*` and an object of approvals change nothing",
    translate: (value) => {
      const isAll = value.kind === "array" && value.items.some((item) => item.kind === "string" && item.value === "*");
      return value.kind === "array" && !isAll ? [["includeTools", value]] : [];
    },
  },
  auth: {
    dialects: ["cursor", "copilot"],
    effect: "`oauth` with `clientId`, `clientSecret`, `scopes` and `callbackPort`; `true` changes nothing",
    translate: (value) =>
      value.kind === "boolean"
        ? []
        : renamed(value, { CLIENT_ID: "clientId", CLIENT_SECRET: "clientSecret", redirectPort: "callbackPort" }),
  },
  oauthClientId: { dialects: ["copilot"], effect: "the client id of `oauth`", translate: oauthSetting("clientId") },
  oauthScopes: { dialects: ["copilot"], effect: "the scopes of `oauth`", translate: oauthSetting("scopes") },
  requestInit: {
    dialects: ["vscode"],
    effect: "its `headers`, in the files of Copilot for JetBrains",
    translate: (value) => (value.kind === "object" ? membersOf(value, { headers: "headers" }) : undefined),
  },
  scopes: { dialects: ["codex"], effect: "the scopes of `oauth`", translate: oauthSetting("scopes") },
  oauth_resource: { dialects: ["codex"], effect: "the resource of `oauth`", translate: oauthSetting("resource") },
  autoApprove: { dialects: ["cline"], effect: clientDecides },
  alwaysAllow: { dialects: ["roo"], effect: clientDecides },
  trust: { dialects: ["gemini"], effect: clientDecides },
  default_tools_approval_mode: { dialects: ["codex"], effect: clientDecides },
  watchPaths: { dialects: ["roo"], effect: "files are not watched" },
  dev: { dialects: ["vscode"], effect: "files are not watched, and no debugger is attached" },
  sandboxEnabled: { dialects: ["vscode"], effect: "servers run in our own sandbox" },
  gallery: { dialects: ["vscode"], effect: "for VS Code alone" },
  version: { dialects: ["vscode"], effect: "for VS Code alone" },
  source: { dialects: ["zed"], effect: "for Zed alone" },
  settings: { dialects: ["zed"], effect: "for Zed alone" },
  alwaysLoad: { dialects: ["claude-code"], effect: "for Claude Code alone" },
  authProviderType: { dialects: ["gemini"], effect: "OAuth is used if the server asks for it" },
  targetAudience: { dialects: ["gemini"], effect: "for Google's credentials alone" },
  targetServiceAccount: { dialects: ["gemini"], effect: "for Google's credentials alone" },
  required: { dialects: ["codex"], effect: "a server that fails does not stop the others" },
  supports_parallel_tool_calls: { dialects: ["codex"], effect: "calls are always parallel" },
  experimental_environment: { dialects: ["codex"], effect: "servers run on this machine" },
  name: { dialects: ["codex"], field: "title", effect: "the same as `title`" },
  displayName: { dialects: ["copilot"], field: "title", effect: "the same as `title`" },
  oauthPublicClient: { dialects: ["copilot"], effect: "a client without a secret is public" },
  oauthGrantType: { dialects: ["copilot"], effect: "a grant without a user is set in your own OAuth settings" },
  oidc: { dialects: ["copilot"], effect: "for GitHub's own tokens alone" },
  filterMapping: { dialects: ["copilot"], effect: "for GitHub Copilot alone" },
  deferTools: { dialects: ["copilot"], effect: "for GitHub Copilot alone" },
};

/** Spellings of `type` that other programs use. */
const typeSpellings: Readonly<Record<string, string>> = {
  "streamable-http": "http",
  streamableHttp: "http",
  streamable_http: "http",
  streamable: "http",
  "http-stream": "http",
  websocket: "ws",
};

/** Fields with our names that opencode writes in another way, too; another value of the field means the same as ours. */
const opencodeFields: Readonly<Partial<Record<FieldName, Omit<ForeignField, "dialects" | "field">>>> = {
  command: {
    effect: "the program and its arguments",
    translate: (value) => {
      if (value.kind !== "array") return undefined;
      const [program, ...items] = value.items;
      return (
        program && [
          ["command", program],
          ["args", { ...value, items }, { firstIndex: 1 }],
        ]
      );
    },
  },
  timeout: {
    effect: "`connectTimeout` and `timeout`",
    translate: (value) =>
      value.kind === "object" ? membersOf(value, { startup: "connectTimeout", request: "timeout" }) : undefined,
  },
  oauth: {
    effect: "OAuth is used only if the server asks for it",
    translate: (value) => (value.kind === "boolean" && !value.value ? [] : undefined),
  },
};

export interface TranslatedEntry {
  readonly fields: ReadonlyMap<FieldName, readonly EntryField[]>;
  /** Fields of other programs that have no effect here. */
  readonly unused: readonly (EntryField & { readonly effect: string })[];
  /** Fields whose value has the wrong JSON type for their dialect. */
  readonly wrong: readonly EntryField[];
  readonly unknown: readonly EntryField[];
}

/**
 * Translates the fields of an entry into ours. A field in our spelling takes precedence over one that means the same. `file` is the path of
 * the configuration file.
 */
export function translateEntry(members: readonly JsonMember[], name: DialectName, file?: string): TranslatedEntry {
  const dialect = dialectOf(name);
  const fields = new Map<FieldName, EntryField[]>();
  const unused: (EntryField & { readonly effect: string })[] = [];
  const wrong: EntryField[] = [];
  const unknown: EntryField[] = [];
  const add = (field: FieldName, written: EntryField): void => {
    const hasFiles = dialect.variables === "braces";
    const entryField = hasFiles ? { ...written, value: withFileCommands(field, written.value, file) } : written;
    const present = fields.get(field);
    if (present === undefined) fields.set(field, [entryField]);
    else if (isMerged(field)) present.push(entryField);
    else if (field !== "type") unused.push({ ...entryField, effect: `${present[0]?.key ?? field} takes precedence` });
  };
  const own = members.filter(({ key }) => Object.hasOwn(fieldTable, key));
  for (const { key, keyAt, value } of own) {
    const field = key as FieldName;
    const opencode = name === "opencode" ? opencodeFields[field] : undefined;
    const translated = opencode?.translate?.(value, dialect);
    if (field === "sandbox" && value.kind === "object") {
      unused.push({ key, keyAt, value, effect: "servers run in our own sandbox" });
    } else if (translated?.length === 0) unused.push({ key, keyAt, value, effect: opencode?.effect ?? "" });
    else {
      for (const [target, changed, how] of translated ?? ownMeaning(field, value, dialect))
        add(target, { key, keyAt, value: changed, ...how });
    }
  }
  for (const { key, keyAt, value } of members) {
    if (Object.hasOwn(fieldTable, key)) continue;
    const foreign = Object.hasOwn(foreignFields, key) ? foreignFields[key] : undefined;
    if (foreign === undefined) {
      unknown.push({ key, keyAt, value });
      continue;
    }
    const translated: Translated =
      foreign.field === undefined ? foreign.translate?.(value, dialect) : ownMeaning(foreign.field, value, dialect);
    if (translated === undefined && foreign.translate !== undefined) wrong.push({ key, keyAt, value });
    else if (translated === undefined || translated.length === 0)
      unused.push({ key, keyAt, value, effect: foreign.effect });
    else for (const [field, changed, how] of translated) add(field, { key, keyAt, value: changed, ...how });
  }
  return { fields, unused, wrong, unknown };
}

/** Fields that several keys can add to. */
function isMerged(field: FieldName): boolean {
  return field === "headers" || field === "env" || field === "oauth" || field === "excludeTools";
}

/** The value of a field with one of our names, which a dialect may write in another way. */
function ownMeaning(field: FieldName, value: JsonNode, dialect: Dialect): NonNullable<Translated> {
  const types = { ...typeSpellings, ...dialect.types };
  if (field === "type" && value.kind === "string" && Object.hasOwn(types, value.value)) {
    return [["type", { ...value, value: types[value.value] ?? value.value }]];
  }
  if (field === "timeout" && value.kind === "number") {
    // Programs that count milliseconds ignore less than a second, so a smaller number is meant as seconds.
    const isSeconds = dialect.timeoutUnit === "s" || value.value < 1_000;
    return [["timeout", { ...value, value: isSeconds ? value.value * 1_000 : value.value }]];
  }
  // Programs spell the names differently, and the draft has the port in the redirect URI.
  if (field === "oauth") return renamed(value, oauthNames) ?? [[field, value]];
  // Older versions of Zed.
  if (field === "command" && value.kind === "object")
    return membersOf(value, { path: "command", command: "command", args: "args", env: "env" });
  return [[field, value]];
}

const oauthNames = {
  client_id: "clientId",
  client_secret: "clientSecret",
  scope: "scopes",
  callback_port: "callbackPort",
};

/** The members of an object that are fields of ours with these names. */
function membersOf({ members }: JsonObjectNode, names: Readonly<Record<string, FieldName>>): NonNullable<Translated> {
  return members.flatMap(({ key, value }): NonNullable<Translated> => {
    const field = Object.hasOwn(names, key) ? names[key] : undefined;
    return field === undefined ? [] : [[field, value]];
  });
}

function variableHeaders(value: JsonNode): Translated {
  if (value.kind !== "object" || value.members.some((member) => member.value.kind !== "string")) return undefined;
  const members = value.members.map((member) => ({
    ...member,
    value: member.value.kind === "string" ? jsonNodeAt(`\${${member.value.value}}`, member.value) : member.value,
  }));
  return [["headers", { ...value, members }]];
}

function passedVariables(value: JsonNode): Translated {
  if (value.kind !== "array") return undefined;
  const names = value.items.map((item) => {
    const named = item.kind === "object" ? memberOf(item, "name") : item;
    return named?.kind === "string" ? named : undefined;
  });
  if (names.includes(undefined)) return undefined;
  const pairs = names.flatMap((name): [string, JsonNode][] =>
    name === undefined ? [] : [[name.value, jsonNodeAt(`\${${name.value}}`, name)]],
  );
  return [["env", object(pairs, value), { isOptional: true }]];
}

function inSeconds(field: FieldName): (value: JsonNode) => Translated {
  return (value) => (value.kind === "number" ? [[field, { ...value, value: value.value * 1_000 }]] : undefined);
}

function oauthSetting(name: OAuthSettingName): (value: JsonNode) => Translated {
  return (value) => [["oauth", object([[name, value]], value)]];
}

function renamed(value: JsonNode, names: Readonly<Record<string, string>>): Translated {
  if (value.kind !== "object") return undefined;
  const members = value.members.flatMap((member): RenamedMember[] => {
    if (member.key === "redirectUri" || member.key === "redirect_uri") return callbackOf(member);
    const key = Object.hasOwn(names, member.key) ? names[member.key] : undefined;
    return key === undefined ? [member] : [{ ...member, key, writtenKey: member.key }];
  });
  return [["oauth", { ...value, members }]];
}

/** The host and port of a loopback redirect URI; any other has no effect. */
function callbackOf(member: JsonMember): RenamedMember[] {
  const { value } = member;
  const [, host, port] =
    (value.kind === "string" && /^http:\/\/(localhost|127\.0\.0\.1):(\d{1,5})(?:\/|$)/.exec(value.value)) || [];
  if (host === undefined || port === undefined) return [member];
  return [
    { ...member, key: "callbackHost", value: jsonNodeAt(host, value), writtenKey: member.key },
    { ...member, key: "callbackPort", value: jsonNodeAt(Number(port), value), writtenKey: member.key },
  ];
}

/** An object at the position of another value. */
function object(pairs: readonly (readonly [string, JsonNode])[], at: JsonNode): JsonObjectNode {
  const { line, column, start, end } = at;
  const members = pairs.map(([key, value]) => ({ key, keyAt: at, value }));
  return { kind: "object", members, line, column, start, end };
}
