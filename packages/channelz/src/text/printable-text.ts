// Controls, formats (which hold the bidirectional overrides), line and paragraph separators, lone surrogates.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escapeCharacter(character: string): string {
  const short = named[character];
  if (short !== undefined) return short;
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  if (hex.length <= 2) return `\\x${hex.padStart(2, "0")}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
}

/**
 * Text of a peer, made safe to show: what could drive a terminal, reorder a line or hide is escaped, and beyond `maxLength`
 * characters it ends in `…`. Unbounded by default.
 */
export function printableText(text: string, maxLength: number = Number.POSITIVE_INFINITY): string {
  // Cut before escaping as well: a peer may send megabytes, of which a line is shown.
  const bounded = text.length > maxLength ? text.slice(0, maxLength) : text;
  const escaped = bounded.replace(unprintable, escapeCharacter);
  if (escaped.length <= maxLength && bounded === text) return escaped;
  return `${escaped.slice(0, Math.max(0, maxLength - 1))}…`;
}
