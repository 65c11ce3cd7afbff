const combining = /^[\p{M}\p{Cf}]$/u;
const wide = /^\p{Emoji_Presentation}$/u;

// East Asian wide and full-width characters (UAX 11), in the large blocks.
const wideBlocks: readonly (readonly [first: number, last: number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1f64f],
  [0x1f900, 0x1f9ff],
  [0x20000, 0x3fffd],
];

function widthOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (combining.test(character)) return 0;
  if (wideBlocks.some(([first, last]) => code >= first && code <= last) || wide.test(character)) return 2;
  return 1;
}

/** How many terminal columns a string takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** The text, truncated to `width` columns with `…` at the end. */
export function truncateToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width <= 0) return "";
  let kept = "";
  let used = 0;
  for (const character of text) {
    const next = widthOf(character);
    if (used + next > width - 1) break;
    kept += character;
    used += next;
  }
  return `${kept}…`;
}

/** The text in lines of at most `width` columns, broken at spaces, each after `indent`; without a width, one line. */
export function wrap(text: string, width: number | undefined, indent: string): string[] {
  if (width === undefined) return [indent + text];
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && displayWidth(indent) + displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].map((each) => indent + each);
}

const minWrapWidth = 20;

/**
 * The text in lines of at most `width` columns, broken at spaces, and inside words that are longer than a line. One line without a
 * width, or if it is too small to be readable.
 */
export function wrapHard(text: string, width: number | undefined): string[] {
  if (width === undefined || width < minWrapWidth || displayWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((each) => piecesOf(each, width))) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

function piecesOf(word: string, width: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  let used = 0;
  for (const character of word) {
    const next = widthOf(character);
    if (used + next > width) {
      pieces.push(piece);
      piece = "";
      used = 0;
    }
    piece += character;
    used += next;
  }
  return [...pieces, piece];
}

/** A term and what it means. */
export type Meaning = readonly [term: string, text: string];

const minMeaningWidth = 28;

/**
 * The lines of a list of terms with their meanings, aligned. With a `width` the meanings are wrapped; if there is too little room, each
 * meaning is below its term.
 */
export function twoColumns(rows: readonly Meaning[], width?: number): string[] {
  const left = Math.max(0, ...rows.map(([term]) => term.length));
  const indent = left + 4;
  if (width === undefined || width - indent >= minMeaningWidth) {
    return rows.flatMap(([term, text]) => {
      const [first = "", ...more] = wrap(text, width, " ".repeat(indent));
      return [`  ${term.padEnd(left)}  ${first.slice(indent)}`.trimEnd(), ...more];
    });
  }
  return rows.flatMap(([term, text]) => [...wrap(term, width, "  "), ...wrap(text, width, "      ")]);
}
