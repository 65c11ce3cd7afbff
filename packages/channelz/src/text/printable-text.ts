// Controls, formats (including bidirectional overrides), line and paragraph separators, lone surrogates.
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
 * Makes text of a peer safe to show: escapes characters that could control a terminal, reorder a line or be invisible, and truncates
 * after `maxLength` characters with `…`. Default: no limit.
 */
export function printableText(text: string, maxLength: number = Number.POSITIVE_INFINITY): string {
  // Truncated before escaping as well: a peer may send megabytes, of which a line is shown.
  const bounded = text.length > maxLength ? text.slice(0, maxLength) : text;
  const escaped = bounded.replace(unprintable, escapeCharacter);
  if (escaped.length <= maxLength && bounded === text) return escaped;
  return `${escaped.slice(0, Math.max(0, maxLength - 1))}…`;
}
