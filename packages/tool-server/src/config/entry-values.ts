import type { EntryField } from "./dialect-fields.js";
import { type FieldName, fieldTable, type NamedField, type TemplateField } from "./entry.js";
import type { Report, SourcePosition } from "./finding.js";
import type { JsonNode } from "./json-with-positions.js";
import { parseTemplate, type Template, type TemplateSyntax } from "./template.js";

/** The fields of one entry in our spelling, and how its values are read. */
export interface EntryReader {
  readonly entry: SourcePosition;
  readonly fields: ReadonlyMap<FieldName, readonly EntryField[]>;
  readonly syntax: TemplateSyntax;
  readonly report: Report;
}

/** The first occurrence of a field; undefined if the entry does not have it. */
export function firstOf({ fields }: EntryReader, name: FieldName): EntryField | undefined {
  return fields.get(name)?.[0];
}

export function keyPosition({ entry }: EntryReader, { key, keyAt }: EntryField): SourcePosition {
  return { ...entry, line: keyAt.line, column: keyAt.column, path: [...entry.path, key] };
}

export function valuePosition({ entry }: EntryReader, { key, value }: EntryField): SourcePosition {
  return { ...entry, line: value.line, column: value.column, path: [...entry.path, key] };
}

/** A string that must not be empty, with its variables. */
export function textOf(reader: EntryReader, name: FieldName): TemplateField | undefined {
  const field = firstOf(reader, name);
  const value = field && stringOf(reader, field, name);
  if (field === undefined || value === undefined) return undefined;
  const position = valuePosition(reader, field);
  if (value.trim() === "") {
    reader.report("field-missing", "error", position, `${field.key} is empty.`, "Write a value, or remove the field.");
    return undefined;
  }
  return { ...position, field: name, template: parseTemplate(value, reader.syntax) };
}

/** The strings of an array, with their variables. */
export function textsOf(reader: EntryReader, name: FieldName): TemplateField[] {
  const field = firstOf(reader, name);
  if (field === undefined) return [];
  const position = valuePosition(reader, field);
  if (field.value.kind !== "array") {
    reportWrongType(reader, field, name);
    return [];
  }
  return field.value.items.flatMap((item, index) => {
    const here = { ...position, ...at(item), path: [...position.path, index + (field.firstIndex ?? 0)] };
    const fieldName = `${name}[${index}]`;
    const template = templateOf(reader, item, fieldName, here);
    return template === undefined ? [] : [{ ...here, field: fieldName, template }];
  });
}

/** The named strings of all objects of a field, without secret commands. */
export function namedTextsOf(reader: EntryReader, name: "headers" | "env"): NamedField[] {
  return (reader.fields.get(name) ?? []).flatMap((field) => {
    const position = valuePosition(reader, field);
    if (field.value.kind !== "object") {
      reportWrongType(reader, field, name);
      return [];
    }
    return field.value.members.flatMap(({ key, value }) => {
      if (value.kind === "object") return [];
      const here = { ...position, ...at(value), path: [...position.path, key] };
      const fieldName = `${name}.${key}`;
      const template = templateOf(reader, value, fieldName, here);
      const optional = field.isOptional ? { isOptional: true } : {};
      return template === undefined ? [] : [{ ...here, field: fieldName, name: key, template, ...optional }];
    });
  });
}

/** Plain names, without variables; undefined if the entry does not have the field. */
export function namesOf(reader: EntryReader, name: FieldName): string[] | undefined {
  const fields = reader.fields.get(name);
  return fields?.flatMap((field) => {
    if (field.value.kind === "array" && field.value.items.every((item) => item.kind === "string")) {
      return field.value.items.map((item) => item.value);
    }
    reportWrongType(reader, field, name);
    return [];
  });
}

/** A boolean, or `fallback` if the entry does not have it. */
export function flagOf(reader: EntryReader, name: FieldName, fallback: boolean): boolean {
  const field = firstOf(reader, name);
  if (field === undefined) return fallback;
  if (field.value.kind === "boolean") return field.value.value;
  reportWrongType(reader, field, name);
  return fallback;
}

type TimeField = "timeout" | "connectTimeout" | "headersHelperTimeout" | "headersHelperTtl";

/** One day. */
const maxTimeoutMs = 86_400_000;

/** A time in milliseconds, at most a day; undefined if the entry does not have it. */
export function timeOf(reader: EntryReader, name: TimeField): number | undefined {
  const field = firstOf(reader, name);
  if (field === undefined) return undefined;
  if (field.value.kind === "number" && field.value.value > 0)
    return Math.min(Math.ceil(field.value.value), maxTimeoutMs);
  reportWrongType(reader, field, name);
  return undefined;
}

/** A string for people; undefined if the entry does not have it, or it is not a string. */
export function plainTextOf(reader: EntryReader, name: FieldName): string | undefined {
  const field = firstOf(reader, name);
  return field && stringOf(reader, field, name);
}

function stringOf(reader: EntryReader, field: EntryField, name: FieldName): string | undefined {
  if (field.value.kind === "string") return field.value.value;
  reportWrongType(reader, field, name);
  return undefined;
}

/** Parses a string as a template; reports any other kind of value and returns undefined. */
function templateOf(
  { syntax, report }: EntryReader,
  node: JsonNode,
  field: string,
  position: SourcePosition,
): Template | undefined {
  if (node.kind === "string") return parseTemplate(node.value, syntax);
  const message = `${field} must be a string, but is ${describeKind(node)}.`;
  report("field-type", "error", position, message, "Write it in double quotes.");
  return undefined;
}

/** Fields that an entry works without. */
const optional: ReadonlySet<FieldName> = new Set([
  "timeout",
  "connectTimeout",
  "headersHelperTimeout",
  "headersHelperTtl",
  "title",
  "description",
]);

/** Reports a value of the wrong JSON type. It makes the entry unusable unless the field is optional. */
function reportWrongType(reader: EntryReader, field: EntryField, name: FieldName): void {
  const { json } = fieldTable[name];
  const article = /^[aeiou]/.test(json) ? "an" : "a";
  const examples = {
    string: '"…"',
    "array of strings": '["…", "…"]',
    "object of strings": '{"NAME": "…"}',
    object: '{"clientId": "…"}',
    boolean: "true or false",
    number: "a number above 0",
  };
  const message = `${field.key} must be ${article} ${json}, but is ${describeKind(field.value)}.`;
  const severity = optional.has(name) ? "warning" : "error";
  reader.report("field-type", severity, valuePosition(reader, field), message, `Write ${examples[json]}.`);
}

/** The kind of a JSON value with its article. */
export function describeKind({ kind }: JsonNode): string {
  return kind === "null" ? "null" : kind === "object" || kind === "array" ? `an ${kind}` : `a ${kind}`;
}

/** The position of a value, without its range. */
export function at({ line, column }: JsonNode): { line: number; column: number } {
  return { line, column };
}
