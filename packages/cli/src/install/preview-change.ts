import { applyEdits, type Edit, visit } from "jsonc-parser";

/** A line of a diff: added, removed, or context. */
export interface PreviewLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}

/** A change as a diff. */
export interface Preview {
  /** The first line, counted from 1. */
  readonly line: number;
  readonly lines: readonly PreviewLine[];
}

const contextLines = 3;
const maxLineLength = 200;
/** The fields of an entry that contain no secret. */
const shown: ReadonlySet<string> = new Set(["type", "command", "args", "url", "httpUrl", "serverUrl"]);

/**
 * The lines that differ, with a few lines of context. Comments are masked, and so are strings, except those of `entry` that contain no
 * secret: other entries of the file may contain tokens, and the output may end up in a log.
 */
export function previewChange(before: string, after: string, entry: readonly string[]): Preview {
  const [old, next] = [linesOf(before), linesOf(after)];
  const [oldMasked, nextMasked] = [linesOf(masked(before, entry)), linesOf(masked(after, entry))];
  const shorter = Math.min(old.length, next.length);
  let head = 0;
  while (head < shorter && old[head] === next[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old[old.length - 1 - tail] === next[next.length - 1 - tail]) tail += 1;
  const from = Math.max(0, head - contextLines);
  const line = (sign: PreviewLine["sign"], text: string): PreviewLine => ({ sign, text: cut(text) });
  return {
    line: from + 1,
    lines: [
      ...nextMasked.slice(from, head).map((text) => line(" ", text)),
      ...oldMasked.slice(head, old.length - tail).map((text) => line("-", text)),
      ...nextMasked.slice(head, next.length - tail).map((text) => line("+", text)),
      ...nextMasked.slice(next.length - tail, next.length - tail + contextLines).map((text) => line(" ", text)),
    ],
  };
}

function linesOf(text: string): string[] {
  const lines = text.replace("\ufeff", "").split(/\r\n|\n|\r/);
  // The empty string after the last line break is not a line.
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function cut(text: string): string {
  return text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text;
}

function masked(text: string, entry: readonly string[]): string {
  if (text.replace("\ufeff", "").trim() === "") return text;
  // Not the members of parsed objects: a value that a duplicate key overrides may contain a token as well.
  const edits: Edit[] = [];
  visit(text, {
    onLiteralValue(value, offset, length, _line, _character, pathOfValue) {
      const path = pathOfValue().filter((step) => typeof step === "string");
      if (typeof value === "string" && !isShown(path, entry)) edits.push({ offset, length, content: '"…"' });
    },
    onComment(offset, length) {
      edits.push({ offset, length, content: maskedComment(text.slice(offset, offset + length)) });
    },
  });
  return applyEdits(text, edits);
}

function isShown(path: readonly string[], entry: readonly string[]): boolean {
  return path.length === entry.length + 1 && entry.every((key, at) => path[at] === key) && shown.has(path.at(-1) ?? "");
}

/** The masked comment has the same number of lines. */
function maskedComment(comment: string): string {
  if (comment.startsWith("//")) return "// …";
  return /[\r\n]/.test(comment) ? comment.replace(/[^\r\n]+/g, "…") : "/* … */";
}
