import { readFileSync } from "node:fs";
import { unreadable } from "../file-failure.js";
import { UsageError } from "../usage-error.js";

/** The part of JSON Schema that is needed to convert arguments. */
interface Schema {
  readonly type?: unknown;
  readonly properties?: unknown;
  readonly items?: unknown;
  readonly enum?: unknown;
  readonly anyOf?: unknown;
  readonly oneOf?: unknown;
}

type Kind = "string" | "number" | "integer" | "boolean" | "array" | "object" | "null";

/**
 * The arguments of a tool from the command line: one JSON object, or `key=value` pairs, which are converted to the types in the tool's
 * schema. `key:=json` passes JSON, `key=@file` the content of a file; a repeated key makes a list. Throws a UsageError.
 */
export function parseCallArguments(words: readonly string[], schema: unknown): Record<string, unknown> {
  const [first] = words;
  if (words.length === 1 && first !== undefined && first.trimStart().startsWith("{")) return parseObject(first);
  const result: Record<string, unknown> = Object.create(null);
  const properties = objectOf(objectOf(schema).properties);
  for (const word of words) {
    const match = /^([^=]+?)(:?=)(.*)$/s.exec(word);
    if (match === null) {
      throw new UsageError(`"${word}" is not a valid argument. Write key=value, key:=json, or one JSON object.`);
    }
    const [, key = "", sign, text = ""] = match;
    const property = objectOf(properties[key]);
    const isList = kindsOf(property).has("array");
    const value =
      sign === ":=" ? parseJson(text, key) : readValue(key, text, isList ? objectOf(property.items) : property);
    const isWhole = isList && Array.isArray(value);
    if (!Object.hasOwn(result, key)) result[key] = isList && !isWhole ? [value] : value;
    else if (isList && Array.isArray(result[key])) result[key].push(value);
    else throw new UsageError(`${key} is given more than once, but the tool does not take a list there.`);
  }
  return { ...result };
}

function readValue(key: string, text: string, schema: Schema): unknown {
  if (text.startsWith("@") && text.length > 1) return readText(text.slice(1), key);
  const kinds = kindsOf(schema);
  if (kinds.has("string") || kinds.size === 0) return text;
  if (text === "null" && kinds.has("null")) return null;
  if (kinds.has("boolean") && (text === "true" || text === "false")) return text === "true";
  if ((kinds.has("number") || kinds.has("integer")) && text.trim() !== "" && Number.isFinite(Number(text))) {
    const number = Number(text);
    if (kinds.has("number") || Number.isInteger(number)) return number;
  }
  if (kinds.has("array") && !text.trimStart().startsWith("[")) return text === "" ? [] : text.split(",");
  if (kinds.has("object") || kinds.has("array")) return parseJson(text, key);
  throw new UsageError(`${key} must be of type ${[...kinds].join(" or ")}, not "${text}".`);
}

/** The types that a schema allows; empty if it does not restrict them. */
function kindsOf(schema: Schema): Set<Kind> {
  const own = Array.isArray(schema.type) ? schema.type : [schema.type];
  const kinds = new Set(own.filter((kind): kind is Kind => typeof kind === "string"));
  for (const branch of [schema.anyOf, schema.oneOf].flatMap((each) => (Array.isArray(each) ? each : []))) {
    for (const kind of kindsOf(objectOf(branch))) kinds.add(kind);
  }
  if (kinds.size === 0 && Array.isArray(schema.enum)) {
    for (const value of schema.enum) if (typeof value === "string") kinds.add("string");
  }
  return kinds;
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The arguments are not valid JSON: ${why}. Check the shell quoting: '{"key": "value"}'.`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UsageError("The arguments are not a JSON object.");
  }
  return value as Record<string, unknown>;
}

function parseJson(text: string, key: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`The value of ${key} is not valid JSON.`);
  }
}

function readText(path: string, key: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw unreadable(path, `argument ${key}`, error);
  }
}

/** The value if it is an object, or else an empty one. */
export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
