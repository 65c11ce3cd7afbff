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
}

/** A header, or a variable of a process. */
export interface NamedField extends TemplateField {
  readonly name: string;
}

/** A variable that selects the tenant of a user. */
export interface TenantVariable {
  readonly variable: string;
  /** Whether it is part of the host or the value of a header. */
  readonly via: "host" | "header";
  readonly field: string;
}

/** An entry for a network server. */
export interface NetworkEntry extends SourcePosition {
  readonly type: NetworkType;
  readonly name: string;
  readonly url: TemplateField;
  readonly headers: readonly NamedField[];
  readonly headersHelper: TemplateField | undefined;
  /** How to sign in with OAuth, if the server requires it. */
  readonly oauth: EntryOAuth | undefined;
  /** Whether the helper runs in the sandbox, if a sandbox is available. Default true. */
  readonly sandbox: boolean;
  readonly tenants: readonly TenantVariable[];
  /** Whether http and ws are accepted for a loopback host, including one that a variable sets. */
  readonly allowsInsecureLoopback: boolean;
  /** The entry as it is in the file, with unknown fields and without substitution. */
  readonly written: unknown;
}

/** An entry for a server that runs as a child process. */
export interface StdioEntry extends SourcePosition {
  readonly type: "stdio";
  readonly name: string;
  readonly command: TemplateField;
  readonly args: readonly TemplateField[];
  readonly env: readonly NamedField[];
  /** Whether it runs in the sandbox, if a sandbox is available. Default true. */
  readonly sandbox: boolean;
  /** The entry as it is in the file, with unknown fields and without substitution. */
  readonly written: unknown;
}

/** An entry of a configuration, before substitution. */
export type Entry = NetworkEntry | StdioEntry;

/** Every string of an entry that may contain variables, in the order of the format. */
export function templateFieldsOf(entry: Entry): TemplateField[] {
  if (entry.type === "stdio") return [entry.command, ...entry.args, ...entry.env];
  const helper = entry.headersHelper === undefined ? [] : [entry.headersHelper];
  return [entry.url, ...entry.headers, ...helper, ...oauthTexts(entry.oauth)];
}

/** A field of an entry: which servers it applies to, and its JSON type. */
export interface FieldSpec {
  readonly appliesTo: "network" | "stdio" | "both";
  readonly json: "string" | "array of strings" | "object of strings" | "boolean" | "object";
}

/** Every field that an entry may have. */
export const fieldTable = {
  type: { appliesTo: "both", json: "string" },
  url: { appliesTo: "network", json: "string" },
  headers: { appliesTo: "network", json: "object of strings" },
  headersHelper: { appliesTo: "network", json: "string" },
  oauth: { appliesTo: "network", json: "object" },
  command: { appliesTo: "stdio", json: "string" },
  args: { appliesTo: "stdio", json: "array of strings" },
  env: { appliesTo: "stdio", json: "object of strings" },
  sandbox: { appliesTo: "both", json: "boolean" },
} as const;

/** The name of a field. */
export type FieldName = keyof typeof fieldTable;

/** The names of all fields. */
export const fieldNames: readonly FieldName[] = Object.keys(fieldTable) as FieldName[];

/** The values of `type`. */
export const entryTypes = ["http", "sse", "ws", "stdio"] as const;
