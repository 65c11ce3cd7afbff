import { flattenSchema, isSchema, mergeSchemas, type Schema, type SchemaScope } from "./flatten-schema.js";
import type { FormField, FormNode, FormOption } from "./form-node.js";

const maxDepth = 6;
const maxParts = 1000;
const maxFields = 150;
const maxOptions = 200;
const maxVariants = 12;
const maxItems = 100;
const maxLabelLength = 200;
const maxDescriptionLength = 4000;

interface FormScope extends SchemaScope {
  readonly depth: number;
}

/**
 * The form for the arguments of a tool or the fields of an elicitation. Parts that have no field, or exceed the limits, are edited as
 * JSON, so any schema has a form.
 */
export function schemaToForm(schema: unknown): FormNode {
  const root = isSchema(schema) ? schema : {};
  const scope: FormScope = { root, references: new Set(), depth: 0, budget: { parts: maxParts } };
  const hasFields = isSchema(root.properties) && Object.keys(root.properties).length > 0;
  const takesNothing = !hasFields && !isSchema(root.additionalProperties) && !isCombined(root);
  return takesNothing ? { kind: "group", fields: [] } : buildNode(root, scope);
}

function buildNode(part: unknown, outer: FormScope): FormNode {
  const flat = flattenSchema(part, outer);
  if (flat === undefined) return { kind: "json", ...(isSchema(part) ? commonOf(part) : {}) };
  const { schema } = flat;
  const json: FormNode = { kind: "json", ...commonOf(schema) };
  if (outer.depth > maxDepth) return json;
  const scope: FormScope = { ...flat.scope, depth: outer.depth + 1 };
  if ("const" in schema) return { kind: "constant", value: schema.const, ...commonOf(schema) };
  if (Array.isArray(schema.enum)) return choiceNode(schema.enum.map(optionOf), schema);
  const branches = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(branches)) return branchNode(branches, schema, scope) ?? json;
  return typedNode(schema, scope) ?? json;
}

/** The node for a schema of one or several types; undefined if it has no field. */
function typedNode(schema: Schema, scope: FormScope): FormNode | undefined {
  const common = commonOf(schema);
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type): type is string => typeof type === "string" && type !== "null");
    const isNullable = schema.type.includes("null");
    if (types.length === 0 || types.length > maxVariants) return undefined;
    const nodes = types.map((type) => buildNode({ ...schema, type }, scope));
    const [first] = nodes;
    if (nodes.length === 1 && first !== undefined) return isNullable ? { ...first, isNullable } : first;
    return { kind: "variants", variants: nodes.map((node, at) => ({ ...node, title: types[at] ?? "" })), ...common };
  }
  switch (schema.type ?? impliedType(schema)) {
    case "string": {
      const format = typeof schema.format === "string" ? { format: schema.format } : {};
      const lengths = { ...numberOf("minLength", schema.minLength), ...numberOf("maxLength", schema.maxLength) };
      return { kind: "text", ...format, ...lengths, ...common };
    }
    case "number":
    case "integer":
      return {
        kind: "number",
        isInteger: schema.type === "integer",
        ...numberOf("min", schema.minimum),
        ...numberOf("max", schema.maximum),
        ...numberOf("above", schema.exclusiveMinimum),
        ...numberOf("below", schema.exclusiveMaximum),
        ...common,
      };
    case "boolean":
      return { kind: "boolean", ...common };
    case "array":
      return listNode(schema, scope);
    case "object":
      return groupNode(schema, scope);
    default:
      return undefined;
  }
}

function listNode(schema: Schema, scope: FormScope): FormNode | undefined {
  if (!isSchema(schema.items) || schema.prefixItems !== undefined) return undefined;
  const common = commonOf(schema);
  const item = buildNode(schema.items, scope);
  if (item.kind === "choice" && schema.uniqueItems !== false) {
    return { kind: "choices", options: item.options, ...common };
  }
  const [fewest, limit] = [countOf(schema.minItems) ?? 0, countOf(schema.maxItems) ?? maxItems];
  return { kind: "list", item, minItems: Math.min(fewest, maxItems), maxItems: Math.min(limit, maxItems), ...common };
}

function groupNode(schema: Schema, scope: FormScope): FormNode | undefined {
  const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
  const isOpen = schema.additionalProperties !== false;
  if (properties.length > maxFields || (properties.length === 0 && isOpen)) return undefined;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = properties.map(
    ([name, part]): FormField => ({ name, isRequired: required.has(name), node: buildNode(part, scope) }),
  );
  // Required fields come first; otherwise the order of the schema is kept.
  const ordered = [...fields.filter(({ isRequired }) => isRequired), ...fields.filter(({ isRequired }) => !isRequired)];
  return { kind: "group", fields: ordered, ...commonOf(schema) };
}

/** The node for alternatives: a choice of constants, the only one that is not null, or several forms. */
function branchNode(branches: readonly unknown[], schema: Schema, scope: FormScope): FormNode | undefined {
  const { oneOf, anyOf, ...base } = schema;
  const parts = branches.filter((branch) => !isSchema(branch) || branch.type !== "null");
  const isNullable = parts.length < branches.length ? { isNullable: true } : {};
  if (parts.length > 0 && parts.every((part) => isSchema(part) && "const" in part)) {
    const options = parts.map((part) => optionOf((part as Schema).const, (part as Schema).title));
    return { ...choiceNode(options, base), ...isNullable };
  }
  if (parts.length > maxVariants || parts.length === 0) return undefined;
  const nodes = parts.map((part) => {
    const flat = flattenSchema(part, scope);
    if (flat === undefined) return buildNode(part, scope);
    const inner: FormScope = { ...scope, references: flat.scope.references };
    return buildNode(mergeSchemas(withoutTexts(base), flat.schema), inner);
  });
  const [first] = nodes;
  if (nodes.length === 1 && first !== undefined) return { ...first, ...commonOf(base), ...isNullable };
  return { kind: "variants", variants: nodes, ...commonOf(base), ...isNullable };
}

function choiceNode(options: readonly FormOption[], schema: Schema): FormNode {
  const common = commonOf(schema);
  if (options.length === 0) return { kind: "json", ...common };
  if (options.length <= maxOptions) return { kind: "choice", options, ...common };
  const texts = options.slice(0, maxOptions).flatMap(({ value }) => (typeof value === "string" ? [value] : []));
  return texts.length === maxOptions ? { kind: "text", suggestions: texts, ...common } : { kind: "json", ...common };
}

function optionOf(value: unknown, title?: unknown): FormOption {
  const label = typeof title === "string" ? title : typeof value === "string" ? value : JSON.stringify(value);
  return { label: shortened(String(label), maxLabelLength), value };
}

function commonOf(schema: Schema): Partial<Pick<FormNode, "title" | "description" | "default">> {
  const { title, description } = schema;
  return {
    ...(typeof title === "string" && title !== "" ? { title: shortened(title, maxLabelLength) } : {}),
    ...(typeof description === "string" ? { description: shortened(description, maxDescriptionLength) } : {}),
    ...("default" in schema ? { default: schema.default } : {}),
  };
}

function withoutTexts({ title, description, default: _, ...rest }: Schema): Schema {
  return rest;
}

function impliedType(schema: Schema): string | undefined {
  if (isSchema(schema.properties)) return "object";
  return isSchema(schema.items) ? "array" : undefined;
}

function isCombined(schema: Schema): boolean {
  return ["$ref", "allOf", "anyOf", "oneOf", "enum", "const"].some((key) => key in schema);
}

function numberOf<Name extends string>(name: Name, value: unknown): { readonly [Key in Name]?: number } {
  return (typeof value === "number" && Number.isFinite(value) ? { [name]: value } : {}) as { [Key in Name]?: number };
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
