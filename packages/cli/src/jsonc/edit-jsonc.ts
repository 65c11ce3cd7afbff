import { isDeepStrictEqual } from "node:util";
import {
  type JsonMember,
  type JsonNode,
  type JsonObjectNode,
  jsonNodeToValue,
} from "@wirescope/tool-server/internal/json";
import { applyEdits, createScanner, type Edit } from "jsonc-parser";
import { asObject, memberOf, parseJsonc } from "./parse-jsonc.js";

// The edits are computed here and not by jsonc-parser's `modify`: it deletes comments next to a removed member, moves the comment of
// the previous member behind an inserted one, and reformats the lines around both.

/**
 * Sets the member at a path of keys and creates missing objects on the way. Every other character stays: comments, order, indentation,
 * line breaks. Blank text counts as an empty object. Throws a JsoncError.
 */
export function setJsoncMember(text: string, path: readonly string[], value: unknown): string {
  const before = isBlank(text) ? `${text.startsWith("\ufeff") ? "\ufeff" : ""}{}\n` : text;
  const { root } = parseJsonc(before);
  let node = root;
  for (const [depth, key] of path.entries()) {
    const object = objectAt(node, path.slice(0, depth));
    const member = memberOf(object, key);
    const rest = path.slice(depth + 1);
    if (member === undefined) {
      const added = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
      return applyVerified(before, insertMember(before, root, object, key, added), path, value);
    }
    node = member.value;
    if (rest.length > 0) continue;
    if (isDeepStrictEqual(jsonNodeToValue(node), asJson(value))) return text;
    const indent = lineIndent(before, member.keyAt.start);
    const content = isOneLine(before, root) ? JSON.stringify(value) : render(value, indent, before, root);
    return applyVerified(before, [replace(node.start, node.end, content)], path, value);
  }
  return text;
}

/** Removes the member at a path, if it exists. Every other character stays. Throws a JsoncError. */
export function removeJsoncMember(text: string, path: readonly string[]): string {
  if (isBlank(text)) return text;
  let node = parseJsonc(text).root;
  for (const [depth, key] of path.entries()) {
    const object = objectAt(node, path.slice(0, depth));
    const member = memberOf(object, key);
    if (member === undefined) return text;
    if (depth === path.length - 1) return applyVerified(text, removeMember(text, object, member), path, undefined);
    node = member.value;
  }
  return text;
}

/** The value at a path, or undefined if it does not exist. Throws a JsoncError. */
export function readJsoncMember(text: string, path: readonly string[]): unknown {
  if (isBlank(text)) return undefined;
  let node = parseJsonc(text).root;
  for (const [depth, key] of path.entries()) {
    const member = memberOf(objectAt(node, path.slice(0, depth)), key);
    if (member === undefined) return undefined;
    node = member.value;
  }
  return jsonNodeToValue(node);
}

function objectAt(node: JsonNode, path: readonly string[]): JsonObjectNode {
  return asObject(node, path.length === 0 ? "The file" : path.map((key) => JSON.stringify(key)).join("."));
}

function insertMember(text: string, root: JsonNode, object: JsonObjectNode, key: string, value: unknown): Edit[] {
  const last = object.members.at(-1);
  if (last === undefined) return insertFirstMember(text, root, object, key, value);
  const comma = commaAfter(text, last);
  const end = comma === undefined ? last.value.end : comma + 1;
  if (!isFirstOnLine(text, last.keyAt.start)) {
    const space = /\s/.test(text.slice(last.keyAt.end, last.value.start)) ? " " : "";
    const member = `${JSON.stringify(key)}:${space}${JSON.stringify(value)}`;
    return [insert(end, comma === undefined ? `,${space}${member}` : `${space}${member},`)];
  }
  const indent = lineIndent(text, last.keyAt.start);
  const member = `${lineBreakOf(text)}${indent}${JSON.stringify(key)}: ${render(value, indent, text, root)}`;
  const lineEnd = endOfTrailingComments(text, end);
  if (comma !== undefined) return [insert(lineEnd, `${member},`)];
  return lineEnd === end ? [insert(end, `,${member}`)] : [insert(end, ","), insert(lineEnd, member)];
}

function insertFirstMember(text: string, root: JsonNode, object: JsonObjectNode, key: string, value: unknown): Edit[] {
  const lineBreak = lineBreakOf(text);
  const [from, to] = [object.start + 1, object.end - 1];
  const inner = text.slice(from, to);
  if (isOneLine(text, root)) {
    const kept = inner.trim() === "" ? "" : inner;
    return [replace(from, to, `${kept}${JSON.stringify(key)}: ${JSON.stringify(value)}`)];
  }
  const base = lineIndent(text, object.start);
  const indent = base + indentUnit(text, root);
  const member = `${lineBreak}${indent}${JSON.stringify(key)}: ${render(value, indent, text, root)}`;
  if (inner.trim() === "") return [replace(from, to, `${member}${lineBreak}${base}`)];
  const at = from + inner.trimEnd().length;
  return [insert(at, /[\r\n]/.test(text.slice(at, to)) ? member : `${member}${lineBreak}${base}`)];
}

function removeMember(text: string, object: JsonObjectNode, member: JsonMember): Edit[] {
  const index = object.members.indexOf(member);
  const before = object.members[index - 1];
  const isLast = index === object.members.length - 1;
  const comma = commaAfter(text, member);
  const { start } = member.keyAt;
  const end = comma === undefined ? member.value.end : comma + 1;
  if (before === undefined && isLast) {
    const [from, to] = [object.start + 1, object.end - 1];
    if ((text.slice(from, start) + text.slice(end, to)).trim() === "") return [replace(from, to, "")];
  }
  // Without the last member, the comma before it would be a trailing comma.
  const extraComma = isLast && comma === undefined && before !== undefined ? commaAfter(text, before) : undefined;
  const edits = extraComma === undefined ? [] : [replace(extraComma, extraComma + 1, "")];
  const commentsEnd = endOfTrailingComments(text, end);
  const rest = /[ \t]*(?:\r\n|\n|\r)/y;
  rest.lastIndex = commentsEnd;
  const lineBreak = rest.exec(text)?.[0];
  if (isFirstOnLine(text, start) && lineBreak !== undefined) {
    return [...edits, replace(lineStart(text, start), commentsEnd + lineBreak.length, "")];
  }
  if (isLast) return [...edits, replace(start - (/[ \t]*$/.exec(text.slice(0, start))?.[0].length ?? 0), end, "")];
  return [...edits, replace(start, end + (/^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0), "")];
}

function insert(offset: number, content: string): Edit {
  return { offset, length: 0, content };
}

function replace(start: number, end: number, content: string): Edit {
  return { offset: start, length: end - start, content };
}

/** Applies edits, and throws if the result does not have exactly the intended value. */
function applyVerified(text: string, edits: Edit[], path: readonly string[], value: unknown): string {
  const result = applyEdits(text, edits);
  const expected = changedValue(jsonNodeToValue(parseJsonc(text).root), path, value);
  if (!isDeepStrictEqual(jsonNodeToValue(parseJsonc(result).root), expected)) {
    throw new Error("The edit would change other parts of the file. The file was not changed.");
  }
  return result;
}

function changedValue(from: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return asJson(value);
  const members = new Map(Object.entries(from ?? {}));
  if (rest.length === 0 && value === undefined) members.delete(key);
  else members.set(key, changedValue(members.get(key), rest, value));
  return Object.fromEntries(members);
}

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function commaAfter(text: string, { value }: JsonMember): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(value.end);
  scanner.scan();
  const offset = scanner.getTokenOffset();
  return text.charAt(offset) === "," ? offset : undefined;
}

function render(value: unknown, indent: string, text: string, root: JsonNode): string {
  return JSON.stringify(value, null, indentUnit(text, root)).replaceAll("\n", `${lineBreakOf(text)}${indent}`);
}

function isBlank(text: string): boolean {
  return text.replace("\ufeff", "").trim() === "";
}

function lineBreakOf(text: string): string {
  return /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
}

/** Whether the file is a non-empty object on one line. */
function isOneLine(text: string, root: JsonNode): boolean {
  const isFilled = root.kind === "object" && root.members.length > 0;
  return isFilled && !/[\r\n]/.test(text.slice(root.start, root.end));
}

/** The indentation of the top-level members. */
function indentUnit(text: string, root: JsonNode): string {
  const first = root.kind === "object" ? root.members[0]?.keyAt.start : undefined;
  const indent = first !== undefined && isFirstOnLine(text, first) ? lineIndent(text, first) : "";
  return indent === "" ? "  " : indent;
}

function lineStart(text: string, at: number): number {
  const start = Math.max(text.lastIndexOf("\n", at - 1), text.lastIndexOf("\r", at - 1)) + 1;
  return start === 0 && text.startsWith("\ufeff") ? 1 : start;
}

function lineIndent(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? "";
}

function isFirstOnLine(text: string, at: number): boolean {
  const start = lineStart(text, at);
  return start > 1 && /^[ \t]*$/.test(text.slice(start, at));
}

/** The end of the comments that follow on the same line. */
function endOfTrailingComments(text: string, at: number): number {
  const comments = /(?:[ \t]*\/\*(?:(?!\*\/)[^\r\n])*\*\/)*(?:[ \t]*\/\/[^\r\n]*)?/y;
  comments.lastIndex = at;
  return at + (comments.exec(text)?.[0].length ?? 0);
}
