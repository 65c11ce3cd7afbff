import { type ParseErrorCode, printParseErrorCode, visit } from "jsonc-parser";

/** A position in a file. Both numbers start at 1; columns count UTF-16 code units, as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A range of a file, in UTF-16 code units: from `start` up to, not including, `end`. */
export interface SourceRange {
  readonly start: number;
  readonly end: number;
}

/** The position of a key or value, and the range of its text. */
export type Located = Position & SourceRange;

/** A JSON value with its position. */
export type JsonNode = Located &
  (
    | {
        readonly kind: "object";
        /** Each key once: of several members with the same key, the last. */
        readonly members: readonly JsonMember[];
      }
    | { readonly kind: "array"; readonly items: readonly JsonNode[] }
    | { readonly kind: "string"; readonly value: string }
    | { readonly kind: "number"; readonly value: number }
    | { readonly kind: "boolean"; readonly value: boolean }
    | { readonly kind: "null" }
  );

/** An object whose members can be read. */
export type JsonObjectNode = Extract<JsonNode, { readonly kind: "object" }>;

/** A member of an object. */
export interface JsonMember {
  readonly key: string;
  readonly keyAt: Located;
  readonly value: JsonNode;
  /** Whether an earlier member of the object had the same key. Default false. */
  readonly isRepeated?: boolean;
}

/** The keys and indices that identify a value. */
export type JsonPath = readonly (string | number)[];

/** Why a file is not valid JSON. The message quotes at most one character or a key, because the file may contain secrets. */
export interface JsonProblem extends Position {
  readonly kind: "syntax" | "duplicate-key" | "too-deep" | "too-large";
  readonly message: string;
  readonly fix: string;
  /** The path of a repeated key; empty for other problems. */
  readonly path: JsonPath;
}

/** The result of parsing: the value, unless the file has a syntax error or exceeds a limit, and every problem in order. */
export interface ParsedJson {
  readonly root: JsonNode | undefined;
  readonly problems: readonly JsonProblem[];
  readonly comments: readonly SourceRange[];
}

export interface ParseJsonOptions {
  /** Whether to accept comments and trailing commas; default false. */
  readonly allowComments?: boolean;
  /** The maximum number of characters; default 1,048,576. */
  readonly maxLength?: number;
  /** The maximum nesting of objects and arrays; default 64. */
  readonly maxDepth?: number;
}

/** The maximum number of problems that are reported. */
export const maxProblems = 100;

/**
 * Parses JSON (RFC 8259) and records the position of each key and value. Skips a byte-order mark. If a key is repeated, the last one
 * wins, as in `JSON.parse`, and the repetition is a problem. Comments and trailing commas that are not allowed are problems too, but
 * parsing continues after them. It stops at any other syntax error, and at the limits. Reports at most 100 problems.
 */
export function parseJsonWithPositions(source: string, options: ParseJsonOptions = {}): ParsedJson {
  const { allowComments = false, maxLength = 1_048_576, maxDepth = 64 } = options;
  const comments: SourceRange[] = [];
  const tooLarge = problemOfLength(source, maxLength);
  if (tooLarge !== undefined) return { root: undefined, problems: [tooLarge], comments };
  const problems: JsonProblem[] = [];
  const skipped = source.startsWith("\ufeff") ? 1 : 0;
  const text = source.slice(skipped);
  /** The objects and arrays that are not closed yet. */
  const containers: Container[] = [];
  let root: JsonNode | undefined;
  /** The comma that was just read, if nothing but comments followed it. */
  let lastComma: Position | undefined;

  const locate = (offset: number, length: number, line: number, character: number): Located => {
    const start = offset + skipped;
    return { line: line + 1, column: character + 1, start, end: start + length };
  };
  const stop = (kind: JsonProblem["kind"], at: Position, [message, fix]: ProblemText): never => {
    problems.push({ kind, line: at.line, column: at.column, message, fix, path: [] });
    throw stopped;
  };
  const report = (kind: JsonProblem["kind"], at: Position, [message, fix]: ProblemText, path: JsonPath = []): void => {
    if (problems.length < maxProblems) problems.push({ kind, line: at.line, column: at.column, message, fix, path });
  };
  const add = (node: JsonNode): void => {
    lastComma = undefined;
    const parent = containers.at(-1);
    if (parent === undefined) root = node;
    else if (parent.key === undefined) parent.items.push(node);
    else parent.members.set(parent.key.key, { ...parent.key, value: node });
  };
  const open = (...token: Token): void => {
    lastComma = undefined;
    const at = locate(...token);
    // jsonc-parser recurses for each level without a limit, and would exhaust the stack.
    if (containers.length >= maxDepth) {
      stop("too-deep", at, [`Nesting is deeper than ${maxDepth} levels.`, "Reduce the nesting."]);
    }
    containers.push({ at, items: [], members: new Map(), key: undefined });
  };
  const close =
    (kind: "object" | "array") =>
    (...token: Token): void => {
      const container = containers.pop();
      if (container === undefined) return;
      if (lastComma !== undefined && !allowComments) {
        report("syntax", lastComma, ["Trailing commas are not allowed in this file.", "Remove the comma."]);
      }
      const { items, members } = container;
      const at = { ...container.at, end: locate(...token).end };
      add(kind === "array" ? { kind, items, ...at } : { kind, members: [...members.values()], ...at });
    };

  try {
    visit(
      text,
      {
        onObjectBegin: open,
        onArrayBegin: open,
        onObjectEnd: close("object"),
        onArrayEnd: close("array"),
        onObjectProperty(key, offset, length, line, character, pathOfObject) {
          const object = containers.at(-1);
          if (object === undefined) return;
          const keyAt = locate(offset, length, line, character);
          const earlier = object.members.get(key);
          object.key = { key, keyAt, ...(earlier && { isRepeated: true }) };
          if (earlier === undefined) return;
          const shown = JSON.stringify(key.length > 64 ? `${key.slice(0, 63)}…` : key);
          const message = `Duplicate key ${shown}; the first is on line ${earlier.keyAt.line}.`;
          report("duplicate-key", keyAt, [message, "Keep one of the two."], [...pathOfObject(), key]);
          // The members stay in the order of the file.
          object.members.delete(key);
        },
        onLiteralValue(value, offset, length, line, character) {
          add(jsonNodeAt(value, locate(offset, length, line, character)));
        },
        onSeparator(separator, ...token) {
          if (separator === ",") lastComma = locate(...token);
        },
        onComment(...token) {
          const at = locate(...token);
          comments.push({ start: at.start, end: at.end });
          if (!allowComments) report("syntax", at, ["Comments are not allowed in this file.", "Remove the comment."]);
        },
        onError(code, offset, ...token) {
          stop("syntax", locate(offset, ...token), explain(code, text, offset));
        },
      },
      // Reported above if they are not allowed, so that parsing continues and finds the other problems.
      { disallowComments: false, allowTrailingComma: true },
    );
    return { root, problems, comments };
  } catch (error) {
    if (error !== stopped) throw error;
    return { root: undefined, problems, comments };
  }
}

/** The problem of a file with more than `maxLength` characters. */
export function problemOfLength({ length }: string, maxLength: number): JsonProblem | undefined {
  if (length <= maxLength) return undefined;
  const message = `The file has ${length} characters; the maximum is ${maxLength}.`;
  return { kind: "too-large", line: 1, column: 1, message, fix: "Make it smaller.", path: [] };
}

/** A value as a node at the position of another one, which it replaces. */
export function jsonNodeAt(value: unknown, { line, column, start, end }: Located): JsonNode {
  const at = { line, column, start, end };
  return jsonNodeOf(value, () => at);
}

/** A value as a node. `locate` returns the position of the key and of the value at a path. */
export function jsonNodeOf(value: unknown, locate: (path: JsonPath) => Located, path: JsonPath = []): JsonNode {
  const at = locate(path);
  if (Array.isArray(value)) {
    return { kind: "array", items: value.map((item, index) => jsonNodeOf(item, locate, [...path, index])), ...at };
  }
  if (typeof value === "string") return { kind: "string", value, ...at };
  if (typeof value === "number") return { kind: "number", value, ...at };
  if (typeof value === "boolean") return { kind: "boolean", value, ...at };
  if (value === null || value === undefined) return { kind: "null", ...at };
  if (value instanceof Date) return { kind: "string", value: value.toISOString(), ...at };
  const members = Object.entries(value).map(([key, inner]) => {
    const inside = [...path, key];
    return { key, keyAt: locate(inside), value: jsonNodeOf(inner, locate, inside) };
  });
  return { kind: "object", members, ...at };
}

/** The plain value of a node, equal to the result of `JSON.parse`. */
export function jsonNodeToValue(node: JsonNode): unknown {
  switch (node.kind) {
    case "object":
      // Unlike an assignment, this does not change the prototype if a key is __proto__.
      return Object.fromEntries(node.members.map(({ key, value }) => [key, jsonNodeToValue(value)]));
    case "array":
      return node.items.map(jsonNodeToValue);
    case "null":
      return null;
    default:
      return node.value;
  }
}

/** The value of a member; undefined if the node is not an object, or has no such member. */
export function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  return node?.kind === "object" ? node.members.find(({ key }) => key === name)?.value : undefined;
}

type ProblemText = readonly [message: string, fix: string];

type Token = [offset: number, length: number, line: number, character: number];

/** An object or array that is not closed yet. */
interface Container {
  readonly at: Located;
  readonly items: JsonNode[];
  readonly members: Map<string, JsonMember>;
  /** In an object, the key whose value comes next. */
  key: Omit<JsonMember, "value"> | undefined;
}

/** Thrown to end the parsing, which cannot be stopped in another way. */
const stopped = new Error("The file cannot be parsed.");

/** The message for an error of jsonc-parser. */
function explain(code: ParseErrorCode, text: string, offset: number): ProblemText {
  const seen = describeCharacter(text, offset);
  switch (printParseErrorCode(code)) {
    case "InvalidSymbol":
      return text.charAt(offset) === "'"
        ? ["Strings and keys must be in double quotes, not in single quotes.", 'Write "…".']
        : [`Unexpected ${seen}.`, "Put keys and string values in double quotes."];
    case "InvalidNumberFormat":
    case "UnexpectedEndOfNumber":
      return ["This is not a valid number.", "Write digits, or put the value in double quotes."];
    case "PropertyNameExpected":
      return [`Expected a key in double quotes, but found ${seen}.`, 'Write "name": value.'];
    case "ColonExpected":
      return [`Expected a colon after the key, but found ${seen}.`, 'Write "name": value.'];
    case "CommaExpected":
      return /^\d\d$/.test(text.slice(offset - 1, offset + 1))
        ? ["Numbers must not start with 0.", "Remove the leading zero, or put the value in double quotes."]
        : [`Expected a comma, but found ${seen}.`, "Separate members and items with commas."];
    case "CloseBraceExpected":
      return ["The file ends inside an object.", "Close it with }."];
    case "CloseBracketExpected":
      return ["The file ends inside an array.", "Close it with ]."];
    case "EndOfFileExpected":
      return [`Unexpected ${seen} after the end of the value.`, "Remove everything after the value."];
    case "UnexpectedEndOfComment":
      return ["This comment is not closed.", "Close it with */."];
    case "UnexpectedEndOfString":
      return ["This string is not closed on its line.", 'Close it with ", and write \\n for a line break.'];
    case "InvalidUnicode":
    case "InvalidEscapeCharacter":
      return ["This string contains an invalid escape.", "Write \\\\ for a backslash, or \\u and four hex digits."];
    case "InvalidCharacter":
      return ["This string contains a control character.", "Write it as an escape, such as \\t."];
    default:
      return text.trim() === ""
        ? ["The file is empty.", "Write a JSON object."]
        : [`Expected a value, but found ${seen}.`, 'Write a value, such as "text" in double quotes.'];
  }
}

/** The character at an offset, safe to print. Never more than one: what follows may be a secret. */
function describeCharacter(text: string, offset: number): string {
  const code = text.codePointAt(offset);
  if (code === undefined) return "the end of the file";
  const character = String.fromCodePoint(code);
  if (/^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character)) return character;
  return `the character U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
