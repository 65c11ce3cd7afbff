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
  ...checks((value) => isSchemaMap(value) && Object.keys(value as object).every(isPattern), "patternProperties"),
]);

const mapKeywords: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

const keywords: ReadonlyMap<string, Check> = new Map([
  ...containers,
  ...checks(isNumber, "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"),
  ...checks(isNumber, "maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"),
  ...checks(isString, "format"),
  ...checks(isPattern, "pattern"),
  ...checks(
    isListOf(() => true),
    "enum",
  ),
  ...checks((value) => Array.isArray(value) && value.every(isString), "required"),
  ...checks((value) => types.has(value) || isListOf((each) => types.has(each))(value), "type"),
]);

/**
 * Why a JSON Schema cannot be compiled; undefined if nothing is known. Clients compile the output schemas of all tools, and many reject
 * the whole list if one fails. Compiling it here would take up to a second for a large one.
 */
export function problemOfSchema(root: RpcObject): string | undefined {
  const open: unknown[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!isObject(next)) continue;
    for (const [keyword, value] of Object.entries(next)) {
      if (keywords.get(keyword)?.(value) === false) return `the value of ${keyword} is invalid`;
      if (keyword === "$ref" && !resolves(value, root)) return `$ref ${JSON.stringify(value)} does not exist`;
      if (!containers.has(keyword)) continue;
      const isMap = isObject(value) && mapKeywords.has(keyword);
      for (const child of isMap ? Object.values(value) : [value].flat()) open.push(child);
    }
  }
  return undefined;
}

function isPattern(text: unknown): boolean {
  try {
    new RegExp(text as string, "u");
    return typeof text === "string";
  } catch {
    return false;
  }
}

/** Whether a reference within a schema has a target. Others, such as those to an anchor, are not checked. */
function resolves(reference: unknown, root: RpcObject): boolean {
  if (typeof reference !== "string") return false;
  if (!reference.startsWith("#/")) return true;
  let target: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const key = decodePointer(part);
    if (typeof target !== "object" || target === null || key === undefined || !Object.hasOwn(target, key)) return false;
    target = (target as RpcObject)[key];
  }
  return true;
}

function decodePointer(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}
