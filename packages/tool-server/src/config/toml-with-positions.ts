import { parse, TomlError } from "smol-toml";
import {
  type JsonPath,
  jsonNodeOf,
  type Located,
  type ParsedJson,
  problemOfLength,
  type SourceRange,
} from "./json-with-positions.js";

const maxLength = 1_048_576;
const maxDepth = 64;

/**
 * Parses TOML into the same nodes as JSON. The library reports only the positions of errors, so those of keys are searched in the text:
 * a key with unusual formatting has the position of its table. Dates become strings.
 */
export function parseTomlWithPositions(text: string): ParsedJson {
  const comments = commentsOf(text);
  const tooLarge = problemOfLength(text, maxLength);
  if (tooLarge !== undefined) return { root: undefined, problems: [tooLarge], comments };
  try {
    const value = parse(text.replace(/^\ufeff/, ""), { maxDepth });
    const positions = positionsOf(text);
    return { root: jsonNodeOf(value, (path) => positionAt(path, positions)), problems: [], comments };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column } = error;
    // The first line of the message only: the others quote the file, which may contain secrets.
    const [first = "it is not valid"] = error.message.replace(/^Invalid TOML document:\s*/, "").split("\n");
    const message = `Invalid TOML: ${first}.`;
    const problem = { kind: "syntax", line, column, message, fix: "Correct the line.", path: [] } as const;
    return { root: undefined, problems: [problem], comments };
  }
}

const start: Located = { line: 1, column: 1, start: 0, end: 0 };

type Positions = ReadonlyMap<string, Located>;

/** The position of a path, or of the innermost table around it that was found. */
function positionAt(path: JsonPath, positions: Positions): Located {
  for (let length = path.length; length > 0; length -= 1) {
    const found = positions.get(JSON.stringify(path.slice(0, length)));
    if (found !== undefined) return found;
  }
  return start;
}

/** The positions of tables and keys that are at the start of a line. */
function positionsOf(text: string): Positions {
  const positions = new Map<string, Located>();
  let table: string[] = [];
  let offset = 0;
  text.split("\n").forEach((content, index) => {
    const [, header] = /^\s*\[\[?([^\]]+)\]\]?\s*(?:#.*)?$/.exec(content) ?? [];
    const [, key] = /^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=/.exec(content) ?? [];
    const written = header ?? key;
    if (written !== undefined) {
      const column = content.search(/\S/) + 1;
      const names = [...written.matchAll(/[\w-]+|"[^"]*"|'[^']*'/g)].map(([name]) => name.replace(/^["']|["']$/g, ""));
      const path = header === undefined ? [...table, ...names] : names;
      if (header !== undefined) table = names;
      const at = { line: index + 1, column, start: offset, end: offset + content.length };
      path.forEach((_, end) => {
        const prefix = JSON.stringify(path.slice(0, end + 1));
        if (!positions.has(prefix)) positions.set(prefix, at);
      });
    }
    offset += content.length + 1;
  });
  return positions;
}

/** Comments of whole lines, and those after a value without a quote in them. */
function commentsOf(text: string): SourceRange[] {
  return [...text.matchAll(/(?:^|[ \t])#[^\n"']*$/gm)].map(({ index, 0: whole }) => ({
    start: index,
    end: index + whole.length,
  }));
}
