// Control and format characters (which include bidirectional overrides), line and paragraph separators, lone surrogates.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Quotes text from others for a message, so that it is not mistaken for ours, and escapes it as `printableText` does. */
export function quotedText(text: string, maxLength: number): string {
  return `"${printableText(text, maxLength)}"`;
}

/** Makes text from others safe to show on one line: escapes control characters, and truncates it to `maxLength`. */
export function printableText(text: string, maxLength: number): string {
  const bounded = text.length > maxLength ? `${text.slice(0, Math.max(0, maxLength - 1))}…` : text;
  return bounded.replace(unprintable, (character) => {
    if (character === "\t") return " ";
    const code = character.codePointAt(0) ?? 0;
    return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}
