/** A range of a string: from `start` up to, not including, `end`. */
export type Span = readonly [start: number, end: number];

/** Values to look for in a string. One pass finds them all: its cost depends on the text, not on how many values there are. */
export interface SecretIndex {
  /** How many values are registered. */
  readonly size: number;
  /** The length of the shortest value ever registered; infinite if there is none. */
  readonly shortest: number;
  /** Registers a value. A value that is added twice has to be deleted twice. */
  add(value: string): void;
  delete(value: string): void;
  /** Finds the values in a string. `folded` is the same string after `foldCase`; `skipsWords` skips values of 4 to 7 letters. */
  find(text: string, folded: string, skipsWords: boolean): Span[];
}

/** Shorter values are not registered: they occur everywhere. */
const minLength = 4;
/** Shorter values match only as whole words with the same case. */
const minLengthAnywhere = 8;
/** Longer values are truncated. */
export const maxSecretLength = 16_384;
/** This much of a value must match; the rest is replaced as far as it matches, so that a truncated value is found as well. */
const headLength = 256;
const keyLength = 4;
const filterSize = 4096;

interface Needle {
  /** In its own case if it is a word, else folded. */
  readonly text: string;
  readonly head: string;
  readonly key: string;
  readonly isWord: boolean;
  readonly isLetters: boolean;
  readonly isCut: boolean;
}

export function createSecretIndex(): SecretIndex {
  const values = new Map<string, { count: number; readonly needles: readonly Needle[] }>();
  const needlesByKey = new Map<string, Needle[]>();
  // The number of needles that start with two characters of this hash: most positions of a string are skipped with one lookup.
  const filter = new Uint16Array(filterSize);
  let shortest = Number.POSITIVE_INFINITY;

  return {
    get size() {
      return values.size;
    },
    get shortest() {
      return shortest;
    },
    add(value) {
      if (value.length < minLength) return;
      const known = values.get(value);
      if (known !== undefined) {
        known.count += 1;
        return;
      }
      const needles = needlesOf(value);
      values.set(value, { count: 1, needles });
      shortest = Math.min(shortest, value.length);
      for (const needle of needles) {
        const sameKey = needlesByKey.get(needle.key);
        if (sameKey === undefined) needlesByKey.set(needle.key, [needle]);
        else sameKey.push(needle);
        const slot = slotOf(needle.key, 0);
        filter[slot] = (filter[slot] ?? 0) + 1;
      }
    },
    delete(value) {
      const known = values.get(value);
      if (known === undefined) return;
      known.count -= 1;
      if (known.count > 0) return;
      values.delete(value);
      for (const needle of known.needles) {
        const others = (needlesByKey.get(needle.key) ?? []).filter((other) => other !== needle);
        if (others.length === 0) needlesByKey.delete(needle.key);
        else needlesByKey.set(needle.key, others);
        const slot = slotOf(needle.key, 0);
        filter[slot] = (filter[slot] ?? 1) - 1;
      }
    },
    find(text, folded, skipsWords) {
      const found: Span[] = [];
      // Where the last match of a long value ended, so that a string that repeats its start is not compared with all of it at each position.
      const ends = new Map<Needle, number>();
      const last = values.size === 0 ? -1 : folded.length - keyLength;
      for (let start = 0; start <= last; start += 1) {
        if (filter[slotOf(folded, start)] === 0) continue;
        for (const needle of needlesByKey.get(folded.slice(start, start + keyLength)) ?? []) {
          if (skipsWords && needle.isLetters) continue;
          const end = endOfMatch(needle, text, folded, start, ends);
          if (end !== undefined) found.push([start, end]);
        }
      }
      return found;
    },
  };
}

/** The string in lower case with the same length: the lower case of two letters has another length, or depends on their neighbours. */
export function foldCase(text: string): string {
  return text.replace(/[\u0130\u03a3]/g, (letter) => (letter === "\u0130" ? "i" : "\u03c3")).toLowerCase();
}

function needlesOf(value: string): Needle[] {
  const isCut = value.length > maxSecretLength;
  const kept = isCut ? value.slice(0, maxSecretLength) : value;
  // Percent-encoding, base64 and hex decode to bytes, and a form writes "+" for a space.
  const bytes = Buffer.from(kept, "utf8").toString("latin1");
  const isWord = kept.length < minLengthAnywhere;
  const isLetters = isWord && /^\p{L}+$/u.test(kept);
  return [...new Set([kept, bytes, bytes.replaceAll(" ", "+")])].map((variant) => {
    const folded = foldCase(variant);
    const text = isWord ? variant : folded;
    return { text, head: text.slice(0, headLength), key: folded.slice(0, keyLength), isWord, isLetters, isCut };
  });
}

function slotOf(text: string, at: number): number {
  return (text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) % filterSize;
}

function endOfMatch(
  needle: Needle,
  text: string,
  folded: string,
  start: number,
  ends: Map<Needle, number>,
): number | undefined {
  const { head, isWord } = needle;
  let end = start + head.length;
  if (isWord) return text.startsWith(head, start) && isBoundary(text, start) && isBoundary(text, end) ? end : undefined;
  if (end <= (ends.get(needle) ?? 0) || !folded.startsWith(head, start)) return undefined;
  if (needle.text.length === head.length) return end;
  const whole = start + needle.text.length;
  while (end < whole && folded.charCodeAt(end) === needle.text.charCodeAt(end - start)) end += 1;
  if (needle.isCut && end === whole) end += /^[^\s"'<>]*/.exec(text.slice(end))?.[0].length ?? 0;
  ends.set(needle, end);
  return end;
}

function isBoundary(text: string, index: number): boolean {
  return !/\w/.test(text.charAt(index - 1)) || !/\w/.test(text.charAt(index));
}
