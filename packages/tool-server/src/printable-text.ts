// Controls, formats (which hold the bidirectional overrides), line and paragraph separators, lone surrogates.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Text of others as a message has it: in quotes, so that nobody takes it for ours, and as `printableText` makes it. */
export function quotedWords(text: string, maxLength: number): string {
  return `"${printableText(text, maxLength)}"`;
}

/** Text of others, made safe to show on one line: what could drive a terminal is escaped, and beyond `maxLength` it is cut. */
export function printableText(text: string, maxLength: number): string {
  const bounded = text.length > maxLength ? `${text.slice(0, Math.max(0, maxLength - 1))}…` : text;
  return bounded.replace(unprintable, (character) => {
    if (character === "\t") return " ";
    const code = character.codePointAt(0) ?? 0;
    return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}
