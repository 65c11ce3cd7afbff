import { type JsonNode, memberOf } from "./json-with-positions.js";
import type { TemplateSyntax } from "./template.js";

/** A program's configuration format for tool servers. `claude-code` is also the reference format of `.mcp.json`. */
export type DialectName =
  | "claude-code"
  | "claude-desktop"
  | "cursor"
  | "vscode"
  | "cline"
  | "roo"
  | "windsurf"
  | "gemini"
  | "codex"
  | "zed"
  | "opencode"
  | "copilot"
  | "amp"
  | "mcp-json"
  | "server-json";

/** A dialect: where it is used, and how it differs from the reference format. */
export interface Dialect {
  readonly name: DialectName;
  /** The program or the document that defines it. */
  readonly title: string;
  readonly format: "json" | "toml";
  /** The keys of the object with the entries; empty if they are at the top level. */
  readonly container: readonly string[];
  /** Matches the end of a file's path, with slashes, if the path identifies the dialect. */
  readonly file?: RegExp | undefined;
  /** Fields that only entries of this dialect have. */
  readonly markers: readonly string[];
  /** The unit of `timeout`. */
  readonly timeoutUnit: "ms" | "s";
  /** What is a variable in addition to `${NAME}`: `$NAME` as in a shell, or `{env:NAME}` and `{file:path}`. Default: nothing. */
  readonly variables?: TemplateSyntax["variables"];
  /** Its own values of `type`, each with ours. Default: none. */
  readonly types?: Readonly<Record<string, string>> | undefined;
  /** Whether `type: "http"` is tried over SSE as well. */
  readonly httpFallsBack: boolean;
}

const common = {
  format: "json",
  container: ["mcpServers"],
  markers: [],
  timeoutUnit: "ms",
  httpFallsBack: false,
} as const;

/** Every dialect. The first is the reference format. */
export const dialects: readonly Dialect[] = [
  { ...common, name: "claude-code", title: "Claude Code", file: /(?:^|\/)\.(?:mcp|claude)\.json$/ },
  { ...common, name: "claude-desktop", title: "Claude Desktop", file: /(?:^|\/)claude_desktop_config\.json$/ },
  { ...common, name: "cursor", title: "Cursor", file: /(?:^|\/)\.cursor\/mcp\.json$/, markers: ["auth"] },
  {
    ...common,
    name: "vscode",
    title: "VS Code",
    container: ["servers"],
    file: /(?:^|\/)(?:\.vscode|Code(?: - Insiders)?\/User)\/mcp\.json$/,
    markers: ["dev", "sandboxEnabled", "gallery"],
    httpFallsBack: true,
  },
  {
    ...common,
    name: "cline",
    title: "Cline",
    file: /(?:^|\/)cline_mcp_settings\.json$/,
    markers: ["autoApprove"],
    timeoutUnit: "s",
  },
  {
    ...common,
    name: "roo",
    title: "Roo Code",
    file: /(?:^|\/)(?:\.roo\/mcp|mcp_settings)\.json$/,
    markers: ["alwaysAllow", "watchPaths"],
    timeoutUnit: "s",
  },
  { ...common, name: "windsurf", title: "Windsurf", file: /(?:^|\/)mcp_config\.json$/, markers: ["serverUrl"] },
  {
    ...common,
    name: "gemini",
    title: "Gemini CLI",
    file: /(?:^|\/)\.gemini\/settings\.json$/,
    markers: ["httpUrl", "trust", "authProviderType"],
    variables: "shell",
  },
  {
    ...common,
    name: "codex",
    title: "Codex",
    format: "toml",
    container: ["mcp_servers"],
    file: /\.toml$/,
    markers: ["bearer_token_env_var", "http_headers", "env_http_headers", "startup_timeout_sec", "tool_timeout_sec"],
  },
  {
    ...common,
    name: "zed",
    title: "Zed",
    container: ["context_servers"],
    file: /(?:^|\/)zed\/settings\.json$/i,
    markers: ["source"],
  },
  {
    ...common,
    name: "opencode",
    title: "opencode",
    container: ["mcp"],
    file: /(?:^|\/)(?:opencode\.jsonc?|opencode\/config\.json)$/,
    markers: ["environment"],
    variables: "braces",
    types: { local: "stdio", remote: "http" },
    httpFallsBack: true,
  },
  {
    ...common,
    name: "copilot",
    title: "GitHub Copilot CLI",
    file: /(?:^|\/)mcp-config\.json$/,
    markers: ["oauthClientId", "oauthScopes", "filterMapping"],
    variables: "shell",
    types: { local: "stdio" },
  },
  {
    ...common,
    name: "amp",
    title: "Amp",
    container: ["amp.mcpServers"],
    file: /(?:^|\/)\.?amp\/settings\.jsonc?$/,
  },
  {
    ...common,
    name: "mcp-json",
    title: "mcp.json (draft SEP-2633)",
    container: [],
    markers: [],
  },
  {
    ...common,
    name: "server-json",
    title: "server.json of a registry",
    container: [],
    file: /(?:^|\/)server\.json$/,
  },
];

export function dialectOf(name: DialectName): Dialect {
  const found = dialects.find((dialect) => dialect.name === name);
  if (found === undefined) throw new TypeError(`Unknown dialect ${name}.`);
  return found;
}

/** How a file of this dialect refers to a variable, so that both its program and we read it. */
export function referenceTo(variable: string, dialect: DialectName): string {
  return dialectOf(dialect).variables === "braces" ? `{env:${variable}}` : `\${${variable}}`;
}

/** The dialect that a path identifies; undefined if none. */
export function dialectOfFile(file: string | undefined): DialectName | undefined {
  const path = file?.replaceAll("\\", "/");
  return path === undefined ? undefined : dialects.find((dialect) => dialect.file?.test(path))?.name;
}

/** Whether a string is TOML, if the path does not say so: it has a table of servers in brackets. */
export function looksLikeToml(text: string): boolean {
  return !/^\ufeff?\s*\{/.test(text) && /^[ \t]*\[[ \t]*mcp_servers[ \t]*[.\]]/m.test(text);
}

/**
 * The dialect of one entry, by the fields or the `type` that only this dialect has; undefined if it has none of them. `container` is the
 * first key of the object that it is in.
 */
export function dialectOfEntry(value: JsonNode, container: string | number | undefined): DialectName | undefined {
  if (value.kind !== "object") return undefined;
  const keys = new Set(value.members.map(({ key }) => key));
  const type = memberOf(value, "type");
  const hasType = ({ types = {} }: Dialect): boolean => type?.kind === "string" && Object.hasOwn(types, type.value);
  const found =
    dialects.find(({ markers }) => markers.some((marker) => keys.has(marker))) ??
    dialects.find((dialect) => hasType(dialect) && dialect.container[0] === container) ??
    dialects.find(hasType);
  return found?.name;
}

/** Whether the root is a `server.json`: it describes one server, by its packages and remotes. */
export function isServerJson(root: JsonNode): boolean {
  const kindOf = (name: string): string | undefined => memberOf(root, name)?.kind;
  return kindOf("name") === "string" && (kindOf("packages") === "array" || kindOf("remotes") === "array");
}
