import { wrap } from "./wrap.js";

/** A term and what it means. */
export type Meaning = readonly [term: string, text: string];

const least = 28;

/**
 * The lines of a list of terms with their meanings, aligned. In a `width` the meanings are broken at spaces; where that leaves them
 * little room, each stands below its term.
 */
export function twoColumns(rows: readonly Meaning[], width?: number): string[] {
  const left = Math.max(0, ...rows.map(([term]) => term.length));
  const indent = left + 4;
  if (width === undefined || width - indent >= least) {
    return rows.flatMap(([term, text]) => {
      const [first = "", ...more] = wrap(text, width, " ".repeat(indent));
      return [`  ${term.padEnd(left)}  ${first.slice(indent)}`.trimEnd(), ...more];
    });
  }
  return rows.flatMap(([term, text]) => [...wrap(term, width, "  "), ...wrap(text, width, "      ")]);
}
