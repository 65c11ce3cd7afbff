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
