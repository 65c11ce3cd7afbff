import { isObject, type RpcObject } from "./rpc/json-rpc.js";

const types: ReadonlySet<unknown> = new Set(["array", "boolean", "integer", "null", "number", "object", "string"]);

const isString = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const isSchema = (value: unknown): boolean => isObject(value) || typeof value === "boolean";
const isListOf = (isItem: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.length > 0 && value.every(isItem);
const isMapOf = (isItem: (value: unknown) => boolean) => (value: unknown) =>
  isObject(value) && Object.values(value).every(isItem);

const isSchemaMap = isMapOf(isSchema);
const isSchemaList = isListOf(isSchema);
const isStringList = (value: unknown): boolean => Array.isArray(value) && value.every(isString);

type Check = (value: unknown) => boolean;

function checks(check: Check, ...names: readonly string[]): (readonly [string, Check])[] {
  return names.map((name) => [name, check]);
}

/** The keywords that contain schemas, and what their values must be. */
const containers: ReadonlyMap<string, Check> = new Map([
  ...checks(
    isSchema,
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
  ),
  ...checks((value) => isSchema(value) || isSchemaList(value), "items"),
  ...checks(isSchemaList, "allOf", "anyOf", "oneOf"),
  ...checks(isSchemaMap, "$defs", "definitions", "dependentSchemas", "properties"),
  ...checks(
    isMapOf((value) => isSchema(value) || isStringList(value)),
    "dependencies",
  ),
  ...checks((value) => isSchemaMap(value) && Object.keys(value as object).every(isPattern), "patternProperties"),
]);

const mapKeywords: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

const keywords: ReadonlyMap<string, Check> = new Map([
  ...containers,
  // Clients keep what has an id from one tool to the next, so those of two servers could conflict.
  ...checks(() => false, "$anchor", "$dynamicAnchor", "$id", "id"),
  ...checks((value) => typeof value === "boolean", "nullable", "uniqueItems"),
  ...checks(isNumber, "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"),
  ...checks(isNumber, "maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"),
  ...checks(isString, "$ref", "format"),
  ...checks(isPattern, "pattern"),
  ...checks(
    isListOf(() => true),
    "enum",
  ),
  ...checks(isStringList, "required"),
  ...checks((value) => types.has(value) || isListOf((each) => types.has(each))(value), "type"),
]);

/** How deep schemas may be in each other, also by reference: clients compile them recursively. */
const maxDepth = 100;

/**
 * Why a JSON Schema cannot be compiled; undefined if nothing is known. Clients compile the output schemas of all tools, and many reject
 * the whole list if one fails. Compiling it here would take up to a second for a large one.
 */
export function problemOfSchema(root: RpcObject): string | undefined {
  const open: (readonly [schema: unknown, depth: number])[] = [[root, 0]];
  const checked = new Set<RpcObject>();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [schema, depth] = next;
    if (!isObject(schema) || checked.has(schema)) continue;
    checked.add(schema);
    if (depth > maxDepth) return "it is nested too deeply";
    if (schema.nullable !== undefined && !isNullable(schema)) return "nullable does not match the type";
    for (const [keyword, value] of Object.entries(schema)) {
      if (keywords.get(keyword)?.(value) === false) return `the value of ${keyword} is invalid`;
      if (keyword === "$ref") {
        const target = targetOf(String(value), root);
        if (!isSchema(target)) return `$ref ${JSON.stringify(String(value).slice(0, maxQuoted))} is not a schema in it`;
        open.push([target, depth + 1]);
      }
      if (!containers.has(keyword)) continue;
      const isMap = isObject(value) && mapKeywords.has(keyword);
      for (const child of isMap ? Object.values(value) : [value].flat()) open.push([child, depth + 1]);
    }
  }
  return undefined;
}

const maxQuoted = 100;
/** The maximum number of references in a row. */
const maxSteps = 10;

function isNullable({ type, nullable }: RpcObject): boolean {
  return type !== undefined && (nullable !== false || ![type].flat().includes("null"));
}

function isPattern(text: unknown): boolean {
  try {
    new RegExp(text as string, "u");
    return typeof text === "string";
  } catch {
    return false;
  }
}

/** What a reference refers to, after further references there; undefined if they lead in a circle, or out of the schema. */
function targetOf(reference: unknown, root: RpcObject): unknown {
  let target = resolve(reference, root);
  for (let step = 0; isObject(target) && target.$ref !== undefined; step += 1) {
    if (step === maxSteps) return undefined;
    target = resolve(target.$ref, root);
  }
  return target;
}

function resolve(reference: unknown, root: RpcObject): unknown {
  if (reference === "#") return root;
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
  let target: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const key = decodePointer(part);
    if (typeof target !== "object" || target === null || key === undefined || !Object.hasOwn(target, key))
      return undefined;
    target = (target as RpcObject)[key];
  }
  return target;
}

function decodePointer(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}
