/** Knows secrets by their values, and takes them out of whatever leaves the process in words. */
export interface SecretRegistry {
  /**
   * Makes a value known as a secret. A value of fewer than 4 characters is not kept, for text cannot do without its
   * letters; one of 4 to 7 is replaced only where it stands as a word of its own.
   */
  add(value: string): void;
  /**
   * For what is renewed again and again: of the values that are made known here, the last `keep` stay known, so that a
   * process which runs for months does not know more and more. Default 16: what was said of older ones has been said.
   */
  rotating(keep?: number): Pick<SecretRegistry, "add">;
  /**
   * The text with a mark in place of every known secret, also where it is percent-encoded, base64 or JSON-escaped, and in
   * upper or lower case: names of hosts and types of content are written anew in theirs.
   */
  redact(text: string): string;
  /** How many secrets are known. */
  readonly size: number;
}

interface Needle {
  readonly text: string;
  /** Whether it is so short that it counts only as a whole word. */
  readonly isWord: boolean;
}

const leastLength = 4;
const leastLengthAnywhere = 8;

// The first of these that no secret can touch is the mark, so that no secret comes about from a mark and its neighbours.
const marks = ["[redacted]", "<redacted>", "***", "\u2588\u2588\u2588"];

/** An empty registry of secrets. */
export function createSecretRegistry(): SecretRegistry {
  // How often each was made known: who lets one go does not let go of another's.
  const secrets = new Map<string, number>();
  const needles = new Map<string, Needle>();
  let mark = marks[0] ?? "";

  const chooseMark = (): void => {
    mark = marks.find((candidate) => isApart(candidate, needles.keys())) ?? "";
  };
  const add = (value: string): void => {
    for (const secret of new Set([value, value.trim()])) {
      if (secret.length < leastLength) continue;
      const count = secrets.get(secret) ?? 0;
      secrets.set(secret, count + 1);
      if (count > 0) continue;
      for (const text of formsOf(secret)) needles.set(text, { text, isWord: text.length < leastLengthAnywhere });
    }
    chooseMark();
  };
  const forget = (value: string): void => {
    for (const secret of new Set([value, value.trim()])) {
      const count = secrets.get(secret);
      if (count === undefined) continue;
      if (count > 1) secrets.set(secret, count - 1);
      else secrets.delete(secret);
    }
    // Forms may be shared, so those that are left are made anew.
    needles.clear();
    for (const secret of secrets.keys()) {
      for (const text of formsOf(secret)) needles.set(text, { text, isWord: text.length < leastLengthAnywhere });
    }
    chooseMark();
  };

  return {
    get size() {
      return secrets.size;
    },
    add,
    rotating(keep = 16) {
      const known = new Set<string>();
      return {
        add(value) {
          // The one that is used again is the newest.
          if (known.delete(value)) {
            known.add(value);
            return;
          }
          known.add(value);
          add(value);
          const [oldest] = known;
          if (known.size <= keep || oldest === undefined) return;
          known.delete(oldest);
          forget(oldest);
        },
      };
    },
    redact(text) {
      let result = text;
      let spans = spansOf(text, needles.values());
      while (spans.length > 0) {
        result = replaceSpans(result, spans, mark);
        // Without a mark the neighbours of a secret meet, and may be one together.
        spans = mark === "" ? spansOf(result, needles.values()) : [];
      }
      return result;
    },
  };
}

/** The forms in which a secret may stand in a text. */
function formsOf(secret: string): Set<string> {
  const forms = new Set<string>();
  for (const form of [secret, ...percentEncoded(secret), ...jsonEscaped(secret)]) forms.add(form);
  for (const form of base64Encoded(secret)) forms.add(form);
  return forms;
}

function percentEncoded(secret: string): string[] {
  // A lone surrogate has no percent-encoded form of its own; it goes out as the replacement character.
  const wellFormed = secret.toWellFormed();
  const component = encodeURIComponent(wellFormed);
  const strict = component.replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams([["", wellFormed]]).toString().slice(1);
  const path = encodeURI(wellFormed);
  return [component, strict, form, path].flatMap((text) => [
    text,
    text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  ]);
}

function jsonEscaped(secret: string): string[] {
  const once = JSON.stringify(secret).slice(1, -1);
  const ascii = once.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const slashes = once.replaceAll("/", "\\/");
  return [once, ascii, slashes, JSON.stringify(once).slice(1, -1), JSON.stringify(ascii).slice(1, -1)];
}

/**
 * The base64 of a secret alone, and what is sure of it at each of the three alignments when more stands before and after
 * it, as in the credentials of Basic; in both alphabets.
 */
function base64Encoded(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const inside = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + bytes.length) * 8) / 6);
    return text.slice(first, last);
  });
  const alone = bytes.toString("base64");
  return [alone, alone.replace(/=+$/, ""), ...inside.filter((text) => text.length >= leastLengthAnywhere)].flatMap(
    (text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")],
  );
}

type Span = [start: number, end: number];

/** Where the needles stand, overlaps joined: of two secrets that share letters, neither leaves a rest. */
function spansOf(text: string, needles: Iterable<Needle>): Span[] {
  const found: Span[] = [];
  const lower = text.toLowerCase();
  // Where a letter has another length in lower case, places would be others.
  const hasSamePlaces = lower.length === text.length;
  for (const { text: needle, isWord } of needles) {
    for (const start of placesOf(needle, text)) {
      const end = start + needle.length;
      if (!isWord || (isBoundary(text, start) && isBoundary(text, end))) found.push([start, end]);
    }
    const lowerNeedle = needle.toLowerCase();
    if (isWord || !hasSamePlaces || lowerNeedle.length !== needle.length) continue;
    for (const start of placesOf(lowerNeedle, lower)) found.push([start, start + needle.length]);
  }
  found.sort(([a], [b]) => a - b);
  const joined: Span[] = [];
  for (const span of found) {
    const last = joined.at(-1);
    if (last !== undefined && span[0] <= last[1]) last[1] = Math.max(last[1], span[1]);
    else joined.push(span);
  }
  return joined;
}

function* placesOf(needle: string, text: string): Generator<number> {
  for (let start = text.indexOf(needle); start !== -1; start = text.indexOf(needle, start + 1)) yield start;
}

function isBoundary(text: string, index: number): boolean {
  return !/\w/.test(text.charAt(index - 1)) || !/\w/.test(text.charAt(index));
}

function replaceSpans(text: string, spans: readonly Span[], mark: string): string {
  let result = "";
  let from = 0;
  for (const [start, end] of spans) {
    result += text.slice(from, start) + mark;
    from = end;
  }
  return result + text.slice(from);
}

function isApart(mark: string, needles: Iterable<string>): boolean {
  const first = mark.charAt(0);
  const last = mark.charAt(mark.length - 1);
  for (const needle of needles) {
    if (needle.includes(first) || needle.includes(last) || mark.includes(needle.toLowerCase())) return false;
  }
  return true;
}
