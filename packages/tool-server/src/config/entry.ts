import type { Place } from "./finding.js";
import type { Template } from "./template.js";

/** The kinds of network servers. */
export type NetworkType = "http" | "sse" | "ws";

/** A text of an entry, with its variables and its place in the file. */
export interface TextField extends Place {
  readonly template: Template;
  /** The field within the entry, as `headers.Authorization` or `args[0]`. */
  readonly field: string;
}

/** A text with a name of its own: a header, or a variable of a process. */
export interface NamedField extends TextField {
  readonly name: string;
}

/** A variable by which each user chooses a tenant. */
export interface TenantVariable {
  readonly variable: string;
  /** Whether it is part of the host or the value of a header. */
  readonly via: "host" | "header";
  readonly field: string;
}

/** An entry that is reached over the network. */
export interface NetworkEntry extends Place {
  readonly type: NetworkType;
  readonly name: string;
  readonly url: TextField;
  readonly headers: readonly NamedField[];
  readonly headersHelper: TextField | undefined;
  /** Whether the helper runs in the sandbox if there is one. Default true. */
  readonly sandbox: boolean;
  readonly tenants: readonly TenantVariable[];
  /** Whether http and ws are accepted for a loopback host, also if a variable of the url decides that it is one. */
  readonly allowsInsecureLoopback: boolean;
  /** The entry as the file has it, with every field, also those that the format does not have; nothing is put in. */
  readonly written: unknown;
}

/** An entry that is a child process. */
export interface StdioEntry extends Place {
  readonly type: "stdio";
  readonly name: string;
  readonly command: TextField;
  readonly args: readonly TextField[];
  readonly env: readonly NamedField[];
  /** Whether it runs in the sandbox if there is one. Default true. */
  readonly sandbox: boolean;
  /** The entry as the file has it, with every field, also those that the format does not have; nothing is put in. */
  readonly written: unknown;
}

/** An entry of a configuration, before its variables are put in. */
export type Entry = NetworkEntry | StdioEntry;

/** Every text of an entry, in the order of the format. */
export function textFieldsOf(entry: Entry): TextField[] {
  if (entry.type === "stdio") return [entry.command, ...entry.args, ...entry.env];
  return [entry.url, ...entry.headers, ...(entry.headersHelper === undefined ? [] : [entry.headersHelper])];
}

/** A field of an entry: what it applies to and what JSON it is. */
export interface FieldSpec {
  readonly appliesTo: "network" | "stdio" | "both";
  readonly json: "string" | "array of strings" | "object of strings" | "boolean";
}

/** Every field that an entry may have. */
export const fieldTable = {
  type: { appliesTo: "both", json: "string" },
  url: { appliesTo: "network", json: "string" },
  headers: { appliesTo: "network", json: "object of strings" },
  headersHelper: { appliesTo: "network", json: "string" },
  command: { appliesTo: "stdio", json: "string" },
  args: { appliesTo: "stdio", json: "array of strings" },
  env: { appliesTo: "stdio", json: "object of strings" },
  sandbox: { appliesTo: "both", json: "boolean" },
} as const;

/** The name of a field. */
export type FieldName = keyof typeof fieldTable;

/** The names of all fields. */
export const fieldNames: readonly FieldName[] = Object.keys(fieldTable) as FieldName[];

/** What `type` may be. */
export const entryTypes = ["http", "sse", "ws", "stdio"] as const;
