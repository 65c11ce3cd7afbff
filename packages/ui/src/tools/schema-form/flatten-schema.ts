/** A JSON Schema as a server sent it: any of its members may be anything. */
export type Schema = Readonly<Record<string, unknown>>;

/** The schema that contains `$defs`, and the references followed to the current part of it. */
export interface SchemaScope {
  readonly root: Schema;
  readonly references: ReadonlySet<string>;
  /** How many parts may still be visited: combined references can expand exponentially. */
  readonly budget: { parts: number };
}

const maxReferences = 32;
const maxMerged = 32;

/**
 * A schema without `$ref` and `allOf`, as far as a form needs: referenced and combined schemas are merged, and the innermost
 * definition wins. Undefined if it refers to itself, to another document or to nothing, or combines too much.
 */
export function flattenSchema(
  schema: unknown,
  scope: SchemaScope,
): { readonly schema: Schema; readonly scope: SchemaScope } | undefined {
  scope.budget.parts -= 1;
  if (!isSchema(schema) || scope.budget.parts < 0) return undefined;
  let [at, references]: [Schema, ReadonlySet<string>] = [schema, scope.references];
  while (typeof at.$ref === "string") {
    const { $ref: reference, ...rest } = at;
    if (references.has(reference) || references.size >= maxReferences) return undefined;
    const target = resolveReference(scope.root, reference);
    if (!isSchema(target)) return undefined;
    references = new Set([...references, reference]);
    at = { ...target, ...rest };
  }
  const inner: SchemaScope = { ...scope, references };
  const { allOf, ...own } = at;
  if (!Array.isArray(allOf)) return { schema: at, scope: inner };
  if (allOf.length > maxMerged || references.size >= maxReferences) return undefined;
  // Each level of allOf counts as a reference, so that nested ones end as well.
  const below: SchemaScope = { ...scope, references: new Set([...references, `allOf ${references.size}`]) };
  let merged: Schema = {};
  for (const part of [...allOf, own]) {
    const flat = flattenSchema(part, below);
    if (flat === undefined) return undefined;
    merged = mergeSchemas(merged, flat.schema);
  }
  return { schema: merged, scope: below };
}

/** Merges two schemas: properties and required names of both, and otherwise the members of the second. */
export function mergeSchemas(first: Schema, second: Schema): Schema {
  const required = [first.required, second.required].flatMap((names) => (Array.isArray(names) ? names : []));
  const isObjects = isSchema(first.properties) || isSchema(second.properties);
  return {
    ...first,
    ...second,
    ...(isObjects ? { properties: { ...asSchema(first.properties), ...asSchema(second.properties) } } : {}),
    ...(required.length === 0 ? {} : { required }),
  };
}

function resolveReference(root: Schema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const name = decode(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Schema)[name];
  }
  return at;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asSchema(value: unknown): Schema {
  return isSchema(value) ? value : {};
}
