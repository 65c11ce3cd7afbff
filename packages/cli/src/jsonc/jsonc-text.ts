/** A value in a text of JSON with comments, and where it stands: from `start` up to `end`, as offsets. */
export type JsoncNode = { readonly start: number; readonly end: number } & (
  | { readonly kind: "object"; readonly members: readonly JsoncMember[] }
  | { readonly kind: "array"; readonly items: readonly JsoncNode[] }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "literal"; readonly value: number | boolean | null }
);

export type JsoncObject = Extract<JsoncNode, { readonly kind: "object" }>;

/** A member of an object. */
export interface JsoncMember {
  readonly key: string;
  /** Where the key starts. */
  readonly start: number;
  readonly keyEnd: number;
  readonly value: JsoncNode;
  /** Where the comma behind it stands; undefined where there is none. */
  readonly comma: number | undefined;
}

/** A text, read. */
export interface JsoncText {
  readonly root: JsoncNode;
  readonly comments: readonly { readonly start: number; readonly end: number }[];
}

/** A text is no JSON, or not of the shape that is needed. The message begins with line and column, and quotes no value. */
export class JsoncError extends Error {
  override readonly name = "JsoncError";

  constructor(text: string, at: number, problem: string) {
    const lines = text.slice(0, at).split(/\r\n|\n|\r/);
    const column = (lines.at(-1) ?? "").replace(/^\ufeff/, "").length + 1;
    super(`${lines.length}:${column}: ${problem}`);
  }
}

const mostDeep = 256;
const numberForm = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])/y;
const wordForm = /(?:true|false|null)(?!\w)/y;

/** Reads JSON with comments and commas behind the last, as editors do. A byte-order mark is passed over. Throws a JsoncError. */
export function parseJsonc(text: string): JsoncText {
  const comments: { start: number; end: number }[] = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;

  const fail = (problem: string, where = at): never => {
    throw new JsoncError(text, where, problem);
  };
  const match = (form: RegExp): string | undefined => {
    form.lastIndex = at;
    const found = form.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const skip = (): void => {
    for (;;) {
      match(/[ \t\r\n]*/y);
      const start = at;
      const comment = match(/\/\/[^\r\n]*|\/\*.*?\*\//sy);
      if (comment === undefined) return;
      comments.push({ start, end: at });
    }
  };
  const string = (): string => {
    const start = at;
    for (at += 1; at < text.length && text[at] !== '"' && text[at] !== "\n"; at += 1) if (text[at] === "\\") at += 1;
    at += 1;
    try {
      return JSON.parse(text.slice(start, at));
    } catch {
      return fail("The string that starts here is none of JSON.", start);
    }
  };
  /** Passes the comma behind an item, and gives its place. */
  const separator = (end: string): number | undefined => {
    skip();
    if (text[at] === end) return undefined;
    if (text[at] !== ",") fail(`A comma, or ${end}, is missing here.`);
    at += 1;
    const comma = at - 1;
    skip();
    return comma;
  };

  const object = (start: number, depth: number): JsoncNode => {
    const members: JsoncMember[] = [];
    at += 1;
    skip();
    while (text[at] !== "}") {
      const keyStart = at;
      if (text[at] !== '"') fail("A key in double quotes, or }, is missing here.");
      const key = string();
      const keyEnd = at;
      skip();
      if (text[at] !== ":") fail("A colon is missing here.");
      at += 1;
      skip();
      const item = value(depth + 1);
      members.push({ key, start: keyStart, keyEnd, value: item, comma: separator("}") });
    }
    at += 1;
    return { kind: "object", members, start, end: at };
  };

  const array = (start: number, depth: number): JsoncNode => {
    const items: JsoncNode[] = [];
    at += 1;
    skip();
    while (text[at] !== "]") {
      items.push(value(depth + 1));
      separator("]");
    }
    at += 1;
    return { kind: "array", items, start, end: at };
  };

  const value = (depth: number): JsoncNode => {
    const start = at;
    if (depth > mostDeep) fail(`Objects and arrays stand in each other more than ${mostDeep} deep.`);
    if (text[at] === "{") return object(start, depth);
    if (text[at] === "[") return array(start, depth);
    if (text[at] === '"') return { kind: "string", value: string(), start, end: at };
    const literal = match(wordForm) ?? match(numberForm);
    if (literal === undefined) return fail("A value is missing here, or is none of JSON.");
    return { kind: "literal", value: JSON.parse(literal), start, end: at };
  };

  skip();
  const root = value(0);
  skip();
  if (at < text.length) fail("The text should end here, and goes on.");
  return { root, comments };
}

/** The plain value of a node. Objects have no prototype, so that every key is only a key. Of two equal keys the last counts. */
export function jsoncToValue(node: JsoncNode): unknown {
  if (node.kind === "array") return node.items.map(jsoncToValue);
  if (node.kind !== "object") return node.value;
  const result: Record<string, unknown> = Object.create(null);
  for (const { key, value } of node.members) result[key] = jsoncToValue(value);
  return result;
}

/** The member of this key. Throws a JsoncError where the key stands twice: nobody can say which is meant. */
export function memberOf(text: string, object: JsoncObject, key: string): JsoncMember | undefined {
  const [first, second] = object.members.filter((member) => member.key === key);
  if (second !== undefined) throw new JsoncError(text, second.start, `The key ${JSON.stringify(key)} stands twice.`);
  return first;
}
