import type { DialectName } from "./dialects.js";
import type { SourcePosition } from "./finding.js";
import { type EntryOAuth, oauthTexts } from "./oauth-settings.js";
import type { Template } from "./template.js";

/** The kinds of network servers. */
export type NetworkType = "http" | "sse" | "ws";

/** A string of an entry, with its variables and its position in the file. */
export interface TemplateField extends SourcePosition {
  readonly template: Template;
  /** The field within the entry, such as `headers.Authorization` or `args[0]`. */
  readonly field: string;
  /** For an argument: the names in `env` of its entry, whose `$NAME` a shell replaces. */
  readonly processVariables?: ReadonlySet<string> | undefined;
}

/** A header, or a variable of a process. */
export interface NamedField extends TemplateField {
  readonly name: string;
  /** Whether it is left out if its variable is not set. Default false. */
  readonly isOptional?: boolean | undefined;
}

/** A program whose output is a secret: the value of a header, of a variable of the process, or the client secret. */
export interface SecretCommand extends SourcePosition {
  readonly target: "header" | "env" | "clientSecret";
  /** The name of the header or variable. */
  readonly name: string;
  /** The field that gets the value, such as `headers.Authorization`. */
  readonly field: string;
  /** The program and its arguments; there is no shell. */
  readonly command: readonly TemplateField[];
  /** Written before the output, such as `Bearer `. */
  readonly prefix: string;
  /** The time limit of a run. Default 10,000. */
  readonly timeoutMs: number | undefined;
  /** How long the value of a header is used. Default 300,000. */
  readonly ttlMs: number | undefined;
}

/** Matches the field of an argument of a secret command, with its index. */
export const commandArgument: RegExp = /^command\[(\d+)\] of /;

/** A variable that selects the tenant of a user. */
export interface TenantVariable {
  readonly variable: string;
  /** Whether it is part of the host or the value of a header. */
  readonly via: "host" | "header";
  readonly field: string;
  /** The value to use if the variable is unset or empty. */
  readonly fallback?: string | undefined;
}

/** The tools of a server that clients see and can call. */
export interface ToolSelection {
  /** Only these; undefined: all. */
  readonly include: readonly string[] | undefined;
  /** Not these, even if they are included. */
  readonly exclude: readonly string[];
}

export interface CommonEntry extends SourcePosition {
  readonly name: string;
  /** The format of the entry. */
  readonly dialect: DialectName;
  /** What the server is, for people; as written. */
  readonly description: string | undefined;
  /** Whether the file turns the server off. */
  readonly isDisabled: boolean;
  readonly tools: ToolSelection;
  /** The programs that obtain secrets of the entry. */
  readonly secretCommands: readonly SecretCommand[];
  /** The maximum time without a response or progress during a call. Default: that of the program. */
  readonly callTimeoutMs: number | undefined;
  /** The time limit for the handshake. Default: that of the program. */
  readonly connectTimeoutMs: number | undefined;
  /** The entry as written in the file, with unknown fields and without substitution. */
  readonly written: unknown;
}

/** An entry for a network server. */
export interface NetworkEntry extends CommonEntry {
  readonly type: NetworkType;
  /** Whether HTTP with SSE is tried if the server does not support Streamable HTTP. */
  readonly fallsBackToSse: boolean;
  readonly url: TemplateField;
  readonly headers: readonly NamedField[];
  readonly headersHelper: TemplateField | undefined;
  /** The time limit of a run of the helper. Default 10,000. */
  readonly helperTimeoutMs: number | undefined;
  /** How long headers without an expiry are used. Default 300,000. */
  readonly helperTtlMs: number | undefined;
  /** How to sign in with OAuth, if the server requires it. */
  readonly oauth: EntryOAuth | undefined;
  /** Whether the helper runs in the sandbox, if a sandbox is available. Default true. */
  readonly sandbox: boolean;
  readonly tenants: readonly TenantVariable[];
}

/** An entry for a server that runs as a child process. */
export interface StdioEntry extends CommonEntry {
  readonly type: "stdio";
  readonly command: TemplateField;
  readonly args: readonly TemplateField[];
  readonly env: readonly NamedField[];
  /** The working directory, relative to the plugin root. Default: the plugin root. */
  readonly cwd: TemplateField | undefined;
  /** A file with more variables for the process, relative to the plugin root; `env` takes precedence. */
  readonly envFile: TemplateField | undefined;
  /** Whether it runs in the sandbox, if a sandbox is available. Default true. */
  readonly sandbox: boolean;
}

/** An entry of a configuration, before substitution. */
export type Entry = NetworkEntry | StdioEntry;

/** Every string of an entry that may contain variables, in the order of the format. */
export function templateFieldsOf(entry: Entry): TemplateField[] {
  const given = (field: TemplateField | undefined): TemplateField[] => (field === undefined ? [] : [field]);
  const commands = entry.secretCommands.flatMap(({ command }) => command);
  if (entry.type === "stdio") {
    return [entry.command, ...entry.args, ...entry.env, ...commands, ...given(entry.cwd), ...given(entry.envFile)];
  }
  return [entry.url, ...entry.headers, ...commands, ...given(entry.headersHelper), ...oauthTexts(entry.oauth)];
}

/** A field of an entry: which servers it applies to, and its JSON type. */
export interface FieldSpec {
  readonly appliesTo: "network" | "stdio" | "both";
  readonly json: "string" | "array of strings" | "object of strings" | "object" | "boolean" | "number";
}

/** Every field that an entry may have. */
export const fieldTable = {
  type: { appliesTo: "both", json: "string" },
  url: { appliesTo: "network", json: "string" },
  headers: { appliesTo: "network", json: "object of strings" },
  headersHelper: { appliesTo: "network", json: "string" },
  headersHelperTimeout: { appliesTo: "network", json: "number" },
  headersHelperTtl: { appliesTo: "network", json: "number" },
  command: { appliesTo: "stdio", json: "string" },
  args: { appliesTo: "stdio", json: "array of strings" },
  env: { appliesTo: "stdio", json: "object of strings" },
  cwd: { appliesTo: "stdio", json: "string" },
  envFile: { appliesTo: "stdio", json: "string" },
  sandbox: { appliesTo: "both", json: "boolean" },
  oauth: { appliesTo: "network", json: "object" },
  timeout: { appliesTo: "both", json: "number" },
  connectTimeout: { appliesTo: "both", json: "number" },
  disabled: { appliesTo: "both", json: "boolean" },
  includeTools: { appliesTo: "both", json: "array of strings" },
  excludeTools: { appliesTo: "both", json: "array of strings" },
  title: { appliesTo: "both", json: "string" },
  description: { appliesTo: "both", json: "string" },
} as const;

export type FieldName = keyof typeof fieldTable;

export const fieldNames: readonly FieldName[] = Object.keys(fieldTable) as FieldName[];

/** The values of `type`. */
export const entryTypes = ["http", "sse", "ws", "stdio"] as const;
