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

/** A JSON value with its position. */
export type JsonNode = Position &
  SourceRange &
  (
    | {
        readonly kind: "object";
        /** Each key once: of several members with the same key, the last. */
        readonly members: readonly JsonMember[];
        /** The members that a later member with the same key replaces. */
        readonly replaced: readonly JsonMember[];
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
  readonly keyAt: Position & SourceRange;
  readonly value: JsonNode;
  /** Whether an earlier member of the object had the same key. */
  readonly isRepeated: boolean;
}

/** Why a file is not valid JSON. The message quotes at most one character or a key, because the file may contain secrets. */
export interface JsonProblem extends Position {
  readonly kind: "syntax" | "duplicate-key" | "too-deep" | "too-large";
  readonly message: string;
  readonly fix: string;
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
  const problems: JsonProblem[] = [];
  const comments: SourceRange[] = [];
  if (source.length > maxLength) {
    const message = `The file has ${source.length} characters; the maximum is ${maxLength}.`;
    problems.push({ kind: "too-large", line: 1, column: 1, message, fix: "Make it smaller." });
    return { root: undefined, problems, comments };
  }
  const skipped = source.startsWith("\ufeff") ? 1 : 0;
  const text = source.slice(skipped);
  const containers: Container[] = [];
  let root: JsonNode | undefined;
  /** The comma that was just read, if nothing but comments followed it. */
  let lastComma: Position | undefined;

  const stop = (kind: JsonProblem["kind"], at: Position, [message, fix]: ProblemText): never => {
    throw new Unreadable({ kind, ...at, message, fix });
  };
  const report = (kind: JsonProblem["kind"], { line, column }: Position, [message, fix]: ProblemText): void => {
    if (problems.length < maxProblems) problems.push({ kind, line, column, message, fix });
  };
  const add = (node: JsonNode): void => {
    lastComma = undefined;
    const parent = containers.at(-1);
    if (parent === undefined) root = node;
    else if (parent.kind === "array") parent.items.push(node);
    else addMember(parent, node, report);
  };
  const rangeOf = (offset: number, length: number): SourceRange => ({
    start: offset + skipped,
    end: offset + length + skipped,
  });
  const open =
    (kind: Container["kind"]) =>
    (offset: number, length: number, line: number, character: number): void => {
      lastComma = undefined;
      const at = { line: line + 1, column: character + 1 };
      // jsonc-parser recurses for each level without a limit, and would exhaust the stack.
      if (containers.length >= maxDepth) {
        stop("too-deep", at, [`Nesting is deeper than ${maxDepth} levels.`, "Reduce the nesting."]);
      }
      const node = { ...at, ...rangeOf(offset, length) };
      containers.push(
        kind === "array"
          ? { ...node, kind, items: [] }
          : { ...node, kind, members: new Map(), replaced: [], key: undefined },
      );
    };
  const close = (offset: number, length: number): void => {
    const container = containers.pop();
    if (container === undefined) return;
    if (lastComma !== undefined && !allowComments) {
      report("syntax", lastComma, ["Trailing commas are not allowed in this file.", "Remove the comma."]);
    }
    const { kind, line, column, start } = container;
    const end = offset + length + skipped;
    if (kind === "array") add({ kind, items: container.items, line, column, start, end });
    else {
      const { members, replaced } = container;
      add({ kind, members: [...members.values()], replaced, line, column, start, end });
    }
  };

  try {
    visit(
      text,
      {
        onObjectBegin: open("object"),
        onArrayBegin: open("array"),
        onObjectEnd: close,
        onArrayEnd: close,
        onObjectProperty(key, offset, length, line, character) {
          const object = containers.at(-1);
          if (object?.kind !== "object") return;
          object.key = { key, keyAt: { line: line + 1, column: character + 1, ...rangeOf(offset, length) } };
        },
        onLiteralValue(value, offset, length, line, character) {
          add(jsonNodeAt(value, { line: line + 1, column: character + 1, ...rangeOf(offset, length) }));
        },
        onSeparator(separator, _offset, _length, line, character) {
          if (separator === ",") lastComma = { line: line + 1, column: character + 1 };
        },
        onComment(offset, length, line, character) {
          comments.push(rangeOf(offset, length));
          if (allowComments) return;
          const at = { line: line + 1, column: character + 1 };
          report("syntax", at, ["Comments are not allowed in this file.", "Remove the comment."]);
        },
        onError(code, offset, _length, line, character) {
          stop("syntax", { line: line + 1, column: character + 1 }, explain(code, text, offset));
        },
      },
      // Reported above if they are not allowed, so that parsing continues and finds the other problems.
      { disallowComments: false, allowTrailingComma: true },
    );
    return { root, problems, comments };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { root: undefined, problems: [...problems, error.problem], comments };
  }
}

/** A value as a node at the position of another one, which it replaces. */
export function jsonNodeAt(value: unknown, { line, column, start, end }: Position & SourceRange): JsonNode {
  const at = { line, column, start, end };
  if (Array.isArray(value)) return { kind: "array", items: value.map((item) => jsonNodeAt(item, at)), ...at };
  if (typeof value === "string") return { kind: "string", value, ...at };
  if (typeof value === "number") return { kind: "number", value, ...at };
  if (typeof value === "boolean") return { kind: "boolean", value, ...at };
  if (value === null || value === undefined) return { kind: "null", ...at };
  const members = Object.entries(value).map(([key, inner]) => ({
    key,
    keyAt: at,
    value: jsonNodeAt(inner, at),
    isRepeated: false,
  }));
  return { kind: "object", members, replaced: [], ...at };
}

/** The plain value of a node, equal to the result of `JSON.parse`. */
export function jsonNodeToValue(node: JsonNode): unknown {
  switch (node.kind) {
    case "object": {
      const result: Record<string, unknown> = {};
      for (const { key, value } of node.members) {
        // An assignment to __proto__ would change the prototype.
        Object.defineProperty(result, key, {
          value: jsonNodeToValue(value),
          enumerable: true,
          configurable: true,
          writable: true,
        });
      }
      return result;
    }
    case "array":
      return node.items.map(jsonNodeToValue);
    case "null":
      return null;
    default:
      return node.value;
  }
}

type ProblemText = readonly [message: string, fix: string];

/** An object or array that is not closed yet. */
type Container = Position &
  SourceRange &
  (
    | { readonly kind: "array"; readonly items: JsonNode[] }
    | {
        readonly kind: "object";
        readonly members: Map<string, JsonMember>;
        readonly replaced: JsonMember[];
        /** The key whose value comes next. */
        key: Pick<JsonMember, "key" | "keyAt"> | undefined;
      }
  );

class Unreadable extends Error {
  readonly problem: JsonProblem;

  constructor(problem: JsonProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

function addMember(
  object: Extract<Container, { readonly kind: "object" }>,
  value: JsonNode,
  report: (kind: JsonProblem["kind"], at: Position, explanation: ProblemText) => void,
): void {
  if (object.key === undefined) return;
  const { key, keyAt } = object.key;
  const earlier = object.members.get(key);
  if (earlier !== undefined) {
    const shown = JSON.stringify(key.length > 64 ? `${key.slice(0, 63)}…` : key);
    const message = `Duplicate key ${shown}; the first is on line ${earlier.keyAt.line}.`;
    report("duplicate-key", keyAt, [message, "Keep one of the two."]);
    object.members.delete(key);
    object.replaced.push(earlier);
  }
  object.members.set(key, { key, keyAt, value, isRepeated: earlier !== undefined });
}

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
