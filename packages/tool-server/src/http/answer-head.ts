import { malformed } from "./answer-defect.js";
import type { AnswerHeaders } from "./http-client.js";

/** How the end of a body is told: by its length, by chunks, or by the end of the connection. */
export type Framing =
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" | "until-close" };

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const fields = /^(?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*)*$/;
const folds = /\r\n[\t ]+/g;
/** A fold after the line of the status, or in a field that says where the answer ends. */
const wrongFold = /^[^\r]*\r\n[\t ]|\r\n(?:content-length|transfer-encoding):[^\r]*\r\n[\t ]/i;
const decimal = /^\d{1,15}$/;

/** The fields that say how to go on, each with its values joined by commas. */
interface Directions {
  length: string | undefined;
  encoding: string | undefined;
  connection: string | undefined;
  keepAlive: string | undefined;
  type: string | undefined;
}

/** The names of those fields are told apart by their lengths first. */
const directions: Readonly<Record<number, readonly (readonly [name: string, key: keyof Directions])[]>> = {
  10: [
    ["connection", "connection"],
    ["keep-alive", "keepAlive"],
  ],
  12: [["content-type", "type"]],
  14: [["content-length", "length"]],
  // An old name for the same, of proxies.
  16: [["proxy-connection", "connection"]],
  17: [["transfer-encoding", "encoding"]],
};

/** The head of an answer: the line of its status, and its fields. */
export class AnswerHead {
  readonly status: number;
  /** The field `content-type`; empty where there is none. */
  readonly contentType: string;
  readonly framing: Framing;
  /** Whether the server takes another request on the connection, once it has answered this one. */
  readonly isKeptAlive: boolean;
  /** How long the server keeps it meanwhile, in milliseconds, where it says so. */
  readonly keptMs: number | undefined;
  readonly #text: string;
  #headers: AnswerHeaders | undefined;

  /** Of all that stands before the empty line. Throws an AnswerDefect where that is no head of HTTP/1.1. */
  constructor(raw: string) {
    const text = raw.includes("\r\n ") || raw.includes("\r\n\t") ? unfolded(raw) : raw;
    const end = text.indexOf("\r\n");
    const line = statusLine.exec(end === -1 ? text : text.slice(0, end));
    if (line === null) throw malformed("The line of the status is not one of HTTP/1.1.");
    this.#text = end === -1 ? "" : text.slice(end);
    if (!fields.test(this.#text)) throw malformed("A header is not of the form that headers have.");
    this.status = Number(line[2]);
    const found = directionsIn(this.#text);
    const isOld = line[1] === "0";
    this.contentType = found.type ?? "";
    this.framing = framingOf(this.status, found, isOld);
    const wishes = found.connection?.toLowerCase() ?? "";
    this.isKeptAlive =
      this.framing.kind !== "until-close" && (isOld ? hasToken(wishes, "keep-alive") : !hasToken(wishes, "close"));
    const kept =
      found.keepAlive === undefined ? null : /(?:^|[,\s])timeout=(\d{1,6})(?:$|[,\s])/i.exec(found.keepAlive);
    this.keptMs = kept === null ? undefined : Number(kept[1]) * 1000;
  }

  // Most answers are asked for their type alone.
  get headers(): AnswerHeaders {
    this.#headers ??= parseFields(this.#text);
    return this.#headers;
  }
}

/** A value that goes on in the next line is an old form, which is to be read, but not where others may read something else. */
function unfolded(raw: string): string {
  if (wrongFold.test(raw)) throw malformed("A line of the head goes on in the next, where none may.");
  return raw.replace(folds, " ");
}

function directionsIn(text: string): Directions {
  const found: Directions = {
    length: undefined,
    encoding: undefined,
    connection: undefined,
    keepAlive: undefined,
    type: undefined,
  };
  for (let at = 0; at < text.length; ) {
    const start = at + 2;
    const colon = text.indexOf(":", start);
    const next = text.indexOf("\r\n", colon);
    at = next === -1 ? text.length : next;
    const candidates = directions[colon - start];
    if (candidates === undefined) continue;
    const name = text.slice(start, colon).toLowerCase();
    for (const [wanted, key] of candidates) {
      if (name !== wanted) continue;
      const raw = text.slice(colon + 1, at);
      // A tab is space, but not to all who read it; then they see another end of the answer.
      if ((key === "length" || key === "encoding") && raw.includes("\t"))
        throw malformed("There is a tab in what tells the length of the answer.");
      const value = withoutSpace(raw);
      found[key] = found[key] === undefined ? value : `${found[key]}, ${value}`;
    }
  }
  return found;
}

function framingOf(status: number, { length, encoding }: Directions, isOld: boolean): Framing {
  if (encoding !== undefined) {
    // What tells both lengths may be two answers to one who reads the other.
    if (length !== undefined) throw malformed("The answer tells its length in two ways.");
    if (isOld || encoding.toLowerCase() !== "chunked")
      throw malformed("The answer has an encoding that was not asked for.");
  }
  if (length !== undefined && !decimal.test(length)) throw malformed("The length of the answer is not one number.");
  if (status < 200 || status === 204 || status === 304) return { kind: "length", bytes: 0 };
  if (encoding !== undefined) return { kind: "chunked" };
  return length === undefined ? { kind: "until-close" } : { kind: "length", bytes: Number(length) };
}

function hasToken(list: string, token: string): boolean {
  return list !== "" && list.split(",").some((each) => withoutSpace(each) === token);
}

function parseFields(text: string): AnswerHeaders {
  const headers: Record<string, string> = Object.create(null);
  for (const line of text.split("\r\n").slice(1)) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = withoutSpace(line.slice(colon + 1));
    const earlier = headers[name];
    headers[name] = earlier === undefined || name === "set-cookie" ? value : `${earlier}, ${value}`;
  }
  return headers;
}

/** A value without the blanks and tabs around it; nothing else is space here. */
function withoutSpace(value: string): string {
  let [start, end] = [0, value.length];
  // No expression does this in a time that does not grow with the square of the blanks within.
  while (start < end && isBlank(value.charCodeAt(start))) start += 1;
  while (end > start && isBlank(value.charCodeAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
