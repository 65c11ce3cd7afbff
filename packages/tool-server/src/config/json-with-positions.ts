/** Where something stands in a text: both count from 1, columns in UTF-16 units as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A value of JSON, and where it starts. */
export type JsonNode = Position &
  (
    | { readonly kind: "object"; readonly members: readonly JsonMember[] }
    | { readonly kind: "array"; readonly items: readonly JsonNode[] }
    | { readonly kind: "string"; readonly value: string }
    | { readonly kind: "number"; readonly value: number }
    | { readonly kind: "boolean"; readonly value: boolean }
    | { readonly kind: "null" }
  );

/** A member of an object: its key, where the key starts, and its value. */
export interface JsonMember {
  readonly key: string;
  readonly keyAt: Position;
  readonly value: JsonNode;
}

/** What is wrong with a text as JSON. Texts never quote more of the input than one character or a key. */
export interface JsonProblem extends Position {
  readonly kind: "syntax" | "duplicate-key" | "too-deep" | "too-large";
  readonly message: string;
  readonly fix: string;
}

/** What came of a text: the value, unless the text could not be read to its end, and every problem, in order. */
export interface ParsedJson {
  readonly root: JsonNode | undefined;
  readonly problems: readonly JsonProblem[];
}

/** The bounds of a text; what exceeds them is a problem, not a crash. */
export interface JsonBounds {
  /** How many characters it may have; default 1,048,576. */
  readonly maxLength?: number;
  /** How many objects and arrays may stand in each other; default 64. */
  readonly maxDepth?: number;
}

/**
 * Reads strict JSON (RFC 8259) and remembers where each key and value stands. A byte-order mark is passed over. Of two
 * equal keys the last counts, as in `JSON.parse`, and the repetition is a problem. Comments and trailing commas are
 * problems that do not end the reading; everything else that is no JSON does.
 */
export function parseJsonWithPositions(text: string, bounds: JsonBounds = {}): ParsedJson {
  const { maxLength = 1_048_576, maxDepth = 64 } = bounds;
  if (text.length > maxLength) {
    const message = `The text has ${text.length} characters, and ${maxLength} are the most.`;
    return {
      root: undefined,
      problems: [{ kind: "too-large", line: 1, column: 1, message, fix: "Make it smaller." }],
    };
  }
  const scanner = new Scanner(text, maxDepth);
  try {
    const root = scanner.document();
    return { root, problems: scanner.problems };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { root: undefined, problems: [...scanner.problems, error.problem] };
  }
}

/** The plain value of a node, as `JSON.parse` gives it. */
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

class Unreadable extends Error {
  readonly problem: JsonProblem;

  constructor(problem: JsonProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

const simpleEscapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

class Scanner {
  readonly problems: JsonProblem[] = [];
  readonly #text: string;
  readonly #maxDepth: number;
  #at: number;
  #line = 1;
  #lineStart: number;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#at = text.startsWith("\ufeff") ? 1 : 0;
    this.#lineStart = this.#at;
  }

  document(): JsonNode {
    this.#space();
    if (this.#peek() === "") this.#fail("The text is empty.", 'Write an object, such as {"mcpServers": {}}.');
    const root = this.#value(0);
    this.#space();
    if (this.#peek() !== "") {
      this.#fail(`After the value comes ${this.#seen()}, where the text should end.`, "Take away what follows.");
    }
    return root;
  }

  #value(depth: number): JsonNode {
    const position = this.#position();
    const next = this.#peek();
    if (next === "{" || next === "[") {
      if (depth >= this.#maxDepth) {
        throw new Unreadable({
          kind: "too-deep",
          ...position,
          message: `Objects and arrays stand in each other more than ${this.#maxDepth} deep.`,
          fix: "Make it flatter.",
        });
      }
      return next === "{" ? this.#object(position, depth) : this.#array(position, depth);
    }
    if (next === '"') return { kind: "string", value: this.#string(), ...position };
    if (next === "-" || isDigit(next)) return { kind: "number", value: this.#number(), ...position };
    if (this.#word("true")) return { kind: "boolean", value: true, ...position };
    if (this.#word("false")) return { kind: "boolean", value: false, ...position };
    if (this.#word("null")) return { kind: "null", ...position };
    if (next === "'") this.#fail("A string starts with a single quote.", 'Use double quotes: "…".');
    return this.#fail(
      `A value is missing: here is ${this.#seen()}.`,
      'Write a value, such as "text" in double quotes.',
    );
  }

  #object(position: Position, depth: number): JsonNode {
    const members = new Map<string, JsonMember>();
    this.#at += 1;
    this.#space();
    while (this.#peek() !== "}") {
      const keyAt = this.#position();
      if (this.#peek() !== '"') {
        this.#fail(
          `A key in double quotes, or }, is missing: here is ${this.#seen()}.`,
          'Write keys in double quotes: "name": value.',
        );
      }
      const key = this.#string();
      this.#space();
      if (this.#peek() !== ":") this.#fail(`After a key comes ${this.#seen()}.`, "Write a colon after the key.");
      this.#at += 1;
      this.#space();
      const member = { key, keyAt, value: this.#value(depth + 1) };
      const earlier = members.get(key);
      if (earlier !== undefined) {
        this.#report(
          "duplicate-key",
          keyAt,
          `The key ${JSON.stringify(key)} stands here again; the first is in line ${earlier.keyAt.line}.`,
          "Keep one of the two.",
        );
        members.delete(key);
      }
      members.set(key, member);
      this.#separator("}");
    }
    this.#at += 1;
    return { kind: "object", members: [...members.values()], ...position };
  }

  #array(position: Position, depth: number): JsonNode {
    const items: JsonNode[] = [];
    this.#at += 1;
    this.#space();
    while (this.#peek() !== "]") {
      items.push(this.#value(depth + 1));
      this.#separator("]");
    }
    this.#at += 1;
    return { kind: "array", items, ...position };
  }

  /** Passes a comma, and leaves the scanner at what comes next or at the end of the list. */
  #separator(end: string): void {
    this.#space();
    const position = this.#position();
    if (this.#peek() === end) return;
    if (this.#peek() !== ",") {
      this.#fail(
        `A comma, or ${end}, is missing: here is ${this.#seen()}.`,
        `Write a comma between two, and ${end} at the end.`,
      );
    }
    this.#at += 1;
    this.#space();
    if (this.#peek() === end) {
      this.#report(
        "syntax",
        position,
        `A comma stands before ${end}.`,
        "Take the comma away: JSON has none after the last.",
      );
    }
  }

  #string(): string {
    const start = this.#position();
    this.#at += 1;
    let value = "";
    let from = this.#at;
    for (;;) {
      const unit = this.#peek();
      if (unit === "" || unit === "\n" || unit === "\r") {
        throw this.#unreadable(
          start,
          "The string that starts here has no end on its line.",
          'Close it with ", and write \\n for a line break.',
        );
      }
      if (unit === '"') break;
      if (unit < " ") this.#fail(`A string holds ${this.#seen()}.`, "Write it as an escape, such as \\t.");
      if (unit !== "\\") {
        this.#at += 1;
        continue;
      }
      value += this.#text.slice(from, this.#at) + this.#escape();
      from = this.#at;
    }
    value += this.#text.slice(from, this.#at);
    this.#at += 1;
    return value;
  }

  #escape(): string {
    const letter = this.#text.charAt(this.#at + 1);
    const simple = Object.hasOwn(simpleEscapes, letter) ? simpleEscapes[letter] : undefined;
    if (simple !== undefined) {
      this.#at += 2;
      return simple;
    }
    const digits = this.#text.slice(this.#at + 2, this.#at + 6);
    if (letter !== "u" || !/^[0-9A-Fa-f]{4}$/.test(digits)) {
      this.#fail(
        "A backslash starts no escape of JSON.",
        "Write \\\\ for a backslash, or \\u and four hexadecimal digits.",
      );
    }
    this.#at += 6;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #number(): number {
    const form = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
    form.lastIndex = this.#at;
    const digits = form.exec(this.#text)?.[0];
    const after = this.#text.charAt(this.#at + (digits?.length ?? 0));
    if (digits === undefined || isDigit(after) || after === ".") {
      this.#fail(
        "This is no number of JSON.",
        "Write digits without a leading zero or point, or a string in double quotes.",
      );
    }
    this.#at += digits.length;
    return Number(digits);
  }

  #word(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at) || /\w/.test(this.#text.charAt(this.#at + word.length))) return false;
    this.#at += word.length;
    return true;
  }

  #space(): void {
    for (;;) {
      const unit = this.#peek();
      if (unit === "\n" || unit === "\r") this.#lineBreak();
      else if (unit === " " || unit === "\t") this.#at += 1;
      else if (unit === "/" && /[/*]/.test(this.#text.charAt(this.#at + 1))) this.#comment();
      else return;
    }
  }

  #lineBreak(): void {
    this.#at += this.#text.startsWith("\r\n", this.#at) ? 2 : 1;
    this.#line += 1;
    this.#lineStart = this.#at;
  }

  #comment(): void {
    const start = this.#position();
    this.#report("syntax", start, "JSON has no comments.", "Take the comment away.");
    const isBlock = this.#text.charAt(this.#at + 1) === "*";
    this.#at += 2;
    while (!(isBlock && this.#text.startsWith("*/", this.#at))) {
      const unit = this.#peek();
      if (unit === "") {
        if (!isBlock) return;
        throw this.#unreadable(start, "The comment that starts here has no end.", "Take the comment away.");
      }
      if (unit !== "\n" && unit !== "\r") this.#at += 1;
      else if (isBlock) this.#lineBreak();
      else return;
    }
    this.#at += 2;
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #position(): Position {
    return { line: this.#line, column: this.#at - this.#lineStart + 1 };
  }

  /** What stands here, in words that are safe to print and tell no more than one character. */
  #seen(): string {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) return "the end of the text";
    const character = String.fromCodePoint(code);
    if (/^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character)) return character;
    return `the character U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  }

  #report(kind: JsonProblem["kind"], position: Position, message: string, fix: string): void {
    this.problems.push({ kind, ...position, message, fix });
  }

  #unreadable(position: Position, message: string, fix: string): Unreadable {
    return new Unreadable({ kind: "syntax", ...position, message, fix });
  }

  #fail(message: string, fix: string): never {
    throw this.#unreadable(this.#position(), message, fix);
  }
}

function isDigit(unit: string): boolean {
  return unit >= "0" && unit <= "9";
}
