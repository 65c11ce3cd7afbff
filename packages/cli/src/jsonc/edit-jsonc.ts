import { isDeepStrictEqual } from "node:util";
import {
  JsoncError,
  type JsoncMember,
  type JsoncNode,
  type JsoncObject,
  jsoncToValue,
  memberOf,
  parseJsonc,
} from "./jsonc-text.js";

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Sets the member at a path of keys, makes the objects that are missing on the way, and leaves every other character as it is: comments,
 * order, indentation, line ends. A blank text counts as an empty object. Throws a JsoncError.
 */
export function setJsoncMember(text: string, path: readonly string[], value: unknown): string {
  const before = text.replace("\ufeff", "").trim() === "" ? `${text.startsWith("\ufeff") ? "\ufeff" : ""}{}\n` : text;
  const { root } = parseJsonc(before);
  let node = root;
  for (const [depth, key] of path.entries()) {
    const object = asObject(before, node, path.slice(0, depth));
    const member = memberOf(before, object, key);
    const rest = path.slice(depth + 1);
    if (member === undefined) {
      const added = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
      return proven(before, insertionOf(before, root, object, key, added), path, value);
    }
    node = member.value;
    if (rest.length > 0) continue;
    if (isDeepStrictEqual(jsoncToValue(node), withoutPrototypes(value))) return text;
    const indent = lineIndent(before, member.start);
    const rendered = isOneLine(before, root) ? JSON.stringify(value) : render(value, indent, before, root);
    return proven(before, [{ start: node.start, end: node.end, text: rendered }], path, value);
  }
  return text;
}

/** Takes the member at a path away, and leaves every other character as it is. Nothing happens where there is none. Throws a JsoncError. */
export function removeJsoncMember(text: string, path: readonly string[]): string {
  if (text.trim() === "") return text;
  let node = parseJsonc(text).root;
  for (const [depth, key] of path.entries()) {
    const object = asObject(text, node, path.slice(0, depth));
    const member = memberOf(text, object, key);
    if (member === undefined) return text;
    if (depth === path.length - 1) return proven(text, removalOf(text, object, member), path, undefined);
    node = member.value;
  }
  return text;
}

/** What stands at a path; undefined where nothing does. Throws a JsoncError. */
export function readJsoncMember(text: string, path: readonly string[]): unknown {
  if (text.replace("\ufeff", "").trim() === "") return undefined;
  let node = parseJsonc(text).root;
  for (const [depth, key] of path.entries()) {
    const member = memberOf(text, asObject(text, node, path.slice(0, depth)), key);
    if (member === undefined) return undefined;
    node = member.value;
  }
  return jsoncToValue(node);
}

function asObject(text: string, node: JsoncNode, path: readonly string[]): JsoncObject {
  if (node.kind === "object") return node;
  const name = path.length === 0 ? "The file" : path.map((key) => JSON.stringify(key)).join(".");
  throw new JsoncError(text, node.start, `${name} is no object.`);
}

function insertionOf(text: string, root: JsoncNode, object: JsoncObject, key: string, value: unknown): Edit[] {
  const eol = lineEndOf(text);
  const last = object.members.at(-1);
  if (last === undefined) return fillEmpty(text, root, object, key, value);
  const hasComma = last.comma !== undefined;
  const end = last.comma === undefined ? last.value.end : last.comma + 1;
  if (!isFirstOnLine(text, last.start)) {
    const space = /\s/.test(text.slice(last.keyEnd, last.value.start)) ? " " : "";
    const member = `${JSON.stringify(key)}:${space}${JSON.stringify(value)}`;
    return [{ start: end, end, text: hasComma ? `${space}${member},` : `,${space}${member}` }];
  }
  const indent = lineIndent(text, last.start);
  const member = `${eol}${indent}${JSON.stringify(key)}: ${render(value, indent, text, root)}`;
  const place = endOfRemarks(text, end);
  if (hasComma) return [{ start: place, end: place, text: `${member},` }];
  if (place === end) return [{ start: end, end, text: `,${member}` }];
  return [
    { start: end, end, text: "," },
    { start: place, end: place, text: member },
  ];
}

function fillEmpty(text: string, root: JsoncNode, object: JsoncObject, key: string, value: unknown): Edit[] {
  const eol = lineEndOf(text);
  const [from, to] = [object.start + 1, object.end - 1];
  const inner = text.slice(from, to);
  if (isOneLine(text, root)) {
    const kept = inner.trim() === "" ? "" : inner;
    return [{ start: from, end: to, text: `${kept}${JSON.stringify(key)}: ${JSON.stringify(value)}` }];
  }
  const base = lineIndent(text, object.start);
  const indent = base + unitOf(text, root);
  const member = `${eol}${indent}${JSON.stringify(key)}: ${render(value, indent, text, root)}`;
  if (inner.trim() === "") return [{ start: from, end: to, text: `${member}${eol}${base}` }];
  const place = from + inner.trimEnd().length;
  const hasEnd = /[\r\n]/.test(text.slice(place, to));
  return [{ start: place, end: place, text: hasEnd ? member : `${member}${eol}${base}` }];
}

function removalOf(text: string, object: JsoncObject, member: JsoncMember): Edit[] {
  const index = object.members.indexOf(member);
  const before = object.members[index - 1];
  const after = object.members[index + 1];
  const end = member.comma === undefined ? member.value.end : member.comma + 1;
  const cut = (start: number, to: number): Edit => ({ start, end: to, text: "" });
  if (before === undefined && after === undefined) {
    const [from, to] = [object.start + 1, object.end - 1];
    const others = text.slice(from, member.start) + text.slice(end, to);
    if (others.trim() === "") return [cut(from, to)];
  }
  // A comma before the last would be left over.
  const comma = after === undefined && member.comma === undefined ? before?.comma : undefined;
  const commaCut = comma === undefined ? [] : [cut(comma, comma + 1)];
  const remarks = endOfRemarks(text, end);
  const rest = /[ \t]*(?:\r\n|\n|\r)/y;
  rest.lastIndex = remarks;
  const lineEnd = rest.exec(text)?.[0];
  if (isFirstOnLine(text, member.start) && lineEnd !== undefined) {
    return [...commaCut, cut(lineStart(text, member.start), remarks + lineEnd.length)];
  }
  const space = /[ \t]*/y;
  space.lastIndex = end;
  const spaces = after === undefined ? "" : (space.exec(text)?.[0] ?? "");
  const start = after === undefined ? member.start - trailingSpaces(text.slice(0, member.start)) : member.start;
  return [...commaCut, cut(start, end + spaces.length)];
}

/** The text with the edits, held against what they should have done. */
function proven(text: string, edits: readonly Edit[], path: readonly string[], value: unknown): string {
  let result = text;
  for (const { start, end, text: put } of edits.toSorted((a, b) => b.start - a.start)) {
    result = result.slice(0, start) + put + result.slice(end);
  }
  const expected = changedValue(jsoncToValue(parseJsonc(text).root), path, value);
  if (!isDeepStrictEqual(jsoncToValue(parseJsonc(result).root), expected)) {
    throw new Error("The file would not become what it should, and is left alone.");
  }
  return result;
}

function changedValue(from: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return withoutPrototypes(value);
  const result: Record<string, unknown> = Object.assign(Object.create(null), from);
  if (rest.length === 0 && value === undefined) delete result[key];
  else result[key] = changedValue(result[key] ?? Object.create(null), rest, value);
  return result;
}

function withoutPrototypes(value: unknown): unknown {
  return jsoncToValue(parseJsonc(JSON.stringify(value)).root);
}

function render(value: unknown, indent: string, text: string, root: JsoncNode): string {
  return JSON.stringify(value, null, unitOf(text, root)).replaceAll("\n", `${lineEndOf(text)}${indent}`);
}

function lineEndOf(text: string): string {
  return /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
}

/** Whether the whole value stands on one line, with something in it. */
function isOneLine(text: string, root: JsoncNode): boolean {
  const isFilled = root.kind === "object" && root.members.length > 0;
  return isFilled && !/[\r\n]/.test(text.slice(root.start, root.end));
}

/** By how much the members of the file are indented. */
function unitOf(text: string, root: JsoncNode): string {
  const first = root.kind === "object" ? root.members[0] : undefined;
  const indent = first !== undefined && isFirstOnLine(text, first.start) ? lineIndent(text, first.start) : "";
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

/** Where the comments end that stand behind something on its line. */
function endOfRemarks(text: string, at: number): number {
  const remarks = /(?:[ \t]*\/\*(?:(?!\*\/)[^\r\n])*\*\/)*(?:[ \t]*\/\/[^\r\n]*)?/y;
  remarks.lastIndex = at;
  return at + (remarks.exec(text)?.[0].length ?? 0);
}

function trailingSpaces(text: string): number {
  return /[ \t]*$/.exec(text)?.[0].length ?? 0;
}
