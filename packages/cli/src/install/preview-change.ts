import type { JsonNode } from "@wirescope/tool-server/internal/json";
import { parseJsonc } from "../jsonc/parse-jsonc.js";

/** A line of a diff: added, removed, or context. */
export interface PreviewLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}

/** What a change does, in lines. */
export interface Preview {
  /** The line of the file at which it begins, from 1. */
  readonly line: number;
  readonly lines: readonly PreviewLine[];
}

const context = 3;
const widest = 200;
/** The fields of an entry that hold no secret. */
const shown: ReadonlySet<string> = new Set(["type", "command", "args", "url", "httpUrl", "serverUrl"]);

/**
 * The lines that differ, with a few lines of context. Of a string only what belongs to `entry` and holds no secret is shown, and of a comment
 * nothing: other entries of such a file hold tokens, and this may end up in a log.
 */
export function previewChange(before: string, after: string, entry: readonly string[]): Preview {
  const [old, next] = [linesOf(before), linesOf(after)];
  const [oldMasked, nextMasked] = [linesOf(masked(before, entry)), linesOf(masked(after, entry))];
  const least = Math.min(old.length, next.length);
  let head = 0;
  while (head < least && old[head] === next[head]) head += 1;
  let tail = 0;
  while (tail < least - head && old[old.length - 1 - tail] === next[next.length - 1 - tail]) tail += 1;
  const from = Math.max(0, head - context);
  const line = (sign: PreviewLine["sign"], text: string): PreviewLine => ({ sign, text: cut(text) });
  return {
    line: from + 1,
    lines: [
      ...nextMasked.slice(from, head).map((text) => line(" ", text)),
      ...oldMasked.slice(head, old.length - tail).map((text) => line("-", text)),
      ...nextMasked.slice(head, next.length - tail).map((text) => line("+", text)),
      ...nextMasked.slice(next.length - tail, next.length - tail + context).map((text) => line(" ", text)),
    ],
  };
}

function linesOf(text: string): string[] {
  const lines = text.replace("\ufeff", "").split(/\r\n|\n|\r/);
  // What follows the last line end is no line.
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function cut(text: string): string {
  return text.length > widest ? `${text.slice(0, widest)}…` : text;
}

function masked(text: string, entry: readonly string[]): string {
  if (text.replace("\ufeff", "").trim() === "") return text;
  const { root, comments } = parseJsonc(text);
  const hidden = [...comments.map((range) => ({ ...range, put: maskedComment(text, range) }))];
  const visit = (node: JsonNode, path: readonly string[]): void => {
    if (node.kind === "object") {
      // A value that a later key replaces may hold a token as well.
      for (const { key, value } of [...node.members, ...node.replaced]) visit(value, [...path, key]);
    } else if (node.kind === "array") for (const item of node.items) visit(item, path);
    else if (node.kind === "string" && !isShown(path, entry)) {
      hidden.push({ start: node.start, end: node.end, put: '"…"' });
    }
  };
  visit(root, []);
  let result = text;
  for (const { start, end, put } of hidden.toSorted((a, b) => b.start - a.start)) {
    result = result.slice(0, start) + put + result.slice(end);
  }
  return result;
}

function isShown(path: readonly string[], entry: readonly string[]): boolean {
  return path.length === entry.length + 1 && entry.every((key, at) => path[at] === key) && shown.has(path.at(-1) ?? "");
}

/** With as many lines as it has. */
function maskedComment(text: string, { start, end }: { readonly start: number; readonly end: number }): string {
  const comment = text.slice(start, end);
  if (comment.startsWith("//")) return "// …";
  return /[\r\n]/.test(comment) ? comment.replace(/[^\r\n]+/g, "…") : "/* … */";
}
