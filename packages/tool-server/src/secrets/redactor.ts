import { createSecretIndex, foldCase, maxSecretLength, type SecretIndex, type Span } from "./secret-index.js";

/**
 * Redacts a string. One of kind `own` is ours, and what it quotes is redacted already: in it, secrets of 4 to 7 letters stay, because they
 * may be words of the sentence or names. In a `result` of a call, for the user who made it, values stay that only may be secrets.
 */
export type Redact = (text: string, kind?: "own" | "result") => string;

/** Stores the values of secrets, and redacts them in text that leaves the process. */
export interface SecretRegistry {
  /**
   * Registers a value as a secret. A value of fewer than 4 characters is ignored; one of 4 to 7 is replaced only as a whole
   * word. Only the first 16,384 characters of a longer value are kept. `isCertain`: whether it certainly is a secret; default true.
   */
  add(value: string, isCertain?: boolean): void;
  /**
   * Registers values that are replaced regularly: only the last `keep` of them stay registered, default 16, so that a long-running process
   * does not accumulate them.
   */
  rotating(keep?: number): Pick<SecretRegistry, "add">;
  /**
   * A registry for the secrets of one server or file. Its `redact` replaces its own values and those of this registry; this registry does not
   * replace the values of the scope. So no server can decide what is redacted elsewhere.
   */
  scope(): SecretRegistry;
  /**
   * The text with `[redacted]` in place of every secret, in upper or lower case, plain or encoded: percent-encoding, JSON and
   * JavaScript escapes, HTML entities, base64 and hex, and any two of these on top of each other.
   */
  readonly redact: Redact;
  /** The number of values registered here. */
  readonly size: number;
}

interface Indexes {
  readonly certain: SecretIndex;
  readonly possible: SecretIndex;
}

const replacement = "[redacted]";
const maxEncodings = 2;

/** An empty registry of secrets. */
export function createSecretRegistry(): SecretRegistry {
  return createRegistry([]);
}

/**
 * The beginning of a string of any length, redacted. Redacting a MiB blocks for about half a second, so beyond `maxLength` only as much
 * is redacted as a secret that starts before it may need.
 */
export function redactStart(text: string, maxLength: number, redact: (text: string) => string): string {
  const start = redact(text.slice(0, maxLength + maxSecretLength));
  const isWhole = start.length <= maxLength && text.length <= maxLength + maxSecretLength;
  return isWhole ? start : `${start.slice(0, maxLength)}…`;
}

function createRegistry(outer: readonly Indexes[]): SecretRegistry {
  const [index, possible] = [createSecretIndex(), createSecretIndex()];
  const all = [...outer, { certain: index, possible }];
  const register = (value: string, isCertain = true): void => {
    const secret = value.trim();
    // Not a value that a program built from a variable that is not set: the error that names it would be unreadable.
    if (secret === "undefined" || secret === "null") return;
    // A part of the replacement itself cannot be replaced.
    if (!replacement.includes(foldCase(secret))) (isCertain ? index : possible).add(secret);
  };

  return {
    get size() {
      return index.size + possible.size;
    },
    add: register,
    rotating(keep = 16) {
      const known = new Set<string>();
      return {
        add(value) {
          // A value that is used again becomes the newest.
          const isKnown = known.delete(value);
          known.add(value);
          if (isKnown) return;
          register(value);
          const [oldest] = known;
          if (known.size <= keep || oldest === undefined) return;
          known.delete(oldest);
          index.delete(oldest.trim());
        },
      };
    },
    scope: () => createRegistry(all),
    redact(text, kind) {
      const indexes = all.flatMap(({ certain, possible: also }) => (kind === "result" ? [certain] : [certain, also]));
      const used = indexes.filter(({ size }) => size > 0);
      if (used.length === 0) return text;
      const spans: Span[] = [];
      collectSpans(plainView(text), { indexes: used, isOwn: kind === "own", spans }, 0);
      return spans.length === 0 ? text : replaceSpans(text, spans);
    },
  };
}

interface Search {
  readonly indexes: readonly SecretIndex[];
  readonly isOwn: boolean;
  /** The ranges that were found so far. */
  readonly spans: Span[];
}

function collectSpans(view: TextView, search: Search, encodings: number): void {
  const { indexes, isOwn, spans } = search;
  const folded = foldCase(view.text);
  for (const index of indexes) {
    for (const [start, end] of index.find(view.text, folded, isOwn)) spans.push(view.toOriginal(start, end));
  }
  if (encodings === maxEncodings) return;
  const shortest = Math.min(...indexes.map((index) => index.shortest));
  for (const decoded of decodedViews(view, shortest)) collectSpans(decoded, search, encodings + 1);
}

/** Replaces the spans. Those that overlap or touch are replaced together, so that no part of either remains. */
function replaceSpans(text: string, spans: Span[]): string {
  let result = "";
  let from = 0;
  let isOpen = false;
  for (const [start, end] of spans.sort(([a], [b]) => a - b)) {
    if (!isOpen || start > from) result += text.slice(from, start) + replacement;
    isOpen = true;
    from = Math.max(from, end);
  }
  return result + text.slice(from);
}

/** A decoded string, with a mapping of positions back to the encoded one. */
export interface TextView {
  readonly text: string;
  /** The range of the original string that a range of the view was decoded from. */
  toOriginal(start: number, end: number): Span;
}

/** The string itself. */
function plainView(text: string): TextView {
  return { text, toOriginal: (start, end) => [start, end] };
}

/**
 * The views of a string after decoding one encoding: percent-encoding, JSON and JavaScript escapes, HTML entities, base64 in both alphabets, and
 * hex. Each byte becomes one character. Runs that are too short for `minLength` bytes are skipped.
 */
export function* decodedViews(view: TextView, minLength: number): Generator<TextView> {
  for (const [pattern, decode] of escapes) {
    const decoded = unescapedView(view, pattern, decode);
    if (decoded !== undefined) yield decoded;
  }
  yield* packedViews(view, base64, minLength);
  yield* packedViews(view, hex, minLength);
}

type Decode = (sequence: string) => string;

const named: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "\\b": "\b",
  "\\f": "\f",
  "\\n": "\n",
  "\\r": "\r",
  "\\t": "\t",
};

const escapes: readonly (readonly [pattern: RegExp, decode: Decode])[] = [
  [/%[0-9a-f]{2}/gi, (sequence) => characterOf(sequence.slice(1), 16)],
  [
    /\\(?:u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|x[0-9a-fA-F]{2}|[bfnrt"'`\\/])/g,
    (sequence) =>
      sequence.length === 2
        ? (named[sequence] ?? sequence.charAt(1))
        : characterOf(sequence.replace(/[\\ux{}]/g, ""), 16),
  ],
  [
    /&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|amp|lt|gt|quot|apos);/gi,
    (sequence) =>
      named[sequence.toLowerCase()] ?? characterOf(sequence.replace(/[&#x;]/gi, ""), /x/i.test(sequence) ? 16 : 10),
  ],
];

function characterOf(digits: string, radix: number): string {
  const code = Number.parseInt(digits, radix);
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}

function unescapedView(view: TextView, pattern: RegExp, decode: Decode): TextView | undefined {
  let text = "";
  let from = 0;
  // For each escape: its position in this string, its position in the original, and the accumulated difference in length.
  const starts: number[] = [];
  const origins: number[] = [];
  const shifts: number[] = [];
  for (const { 0: sequence, index } of view.text.matchAll(pattern)) {
    text += view.text.slice(from, index);
    starts.push(text.length);
    origins.push(index);
    text += decode(sequence);
    from = index + sequence.length;
    shifts.push(from - text.length);
  }
  if (starts.length === 0) return undefined;
  text += view.text.slice(from);
  const originOf = (at: number): number => {
    const last = lastNotAfter(starts, at);
    return starts[last] === at ? (origins[last] ?? 0) : at + (shifts[last] ?? 0);
  };
  return { text, toOriginal: (start, end) => view.toOriginal(originOf(start), originOf(end)) };
}

/** The index of the last of ascending numbers that is not greater; -1 if there is none. */
function lastNotAfter(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** An encoding that writes bytes as letters and digits. */
interface Packing {
  readonly name: "base64" | "hex";
  /** The characters it writes, as in a regular expression. */
  readonly alphabet: string;
  readonly charactersPerByte: number;
  /** At how many offsets of a run its content may start: other letters may precede it. */
  readonly alignments: number;
}

const base64: Packing = { name: "base64", alphabet: "A-Za-z0-9+/_-", charactersPerByte: 4 / 3, alignments: 4 };
const hex: Packing = { name: "hex", alphabet: "0-9a-fA-F", charactersPerByte: 2, alignments: 2 };

function* packedViews(view: TextView, packing: Packing, minLength: number): Generator<TextView> {
  const { name, alphabet, charactersPerByte, alignments } = packing;
  // A run that is too short is matched again from each of its characters, so the minimum must be small.
  const minRun = Math.ceil(Math.min(minLength, 8) * charactersPerByte);
  const run = new RegExp(`[${alphabet}]{${minRun},}`, "g");
  for (const { 0: found, index } of view.text.matchAll(run)) {
    const padding = /^={0,2}/.exec(view.text.slice(index + found.length, index + found.length + 2))?.[0].length ?? 0;
    for (let skipped = 0; skipped < alignments; skipped += 1) {
      const base = index + skipped;
      const last = index + found.length;
      yield {
        text: Buffer.from(found.slice(skipped), name).toString("latin1"),
        toOriginal(start, end) {
          const to = base + Math.ceil(end * charactersPerByte);
          return view.toOriginal(base + Math.floor(start * charactersPerByte), to >= last ? last + padding : to);
        },
      };
    }
  }
}
