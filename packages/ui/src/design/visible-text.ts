// Controls, formats (with the bidirectional overrides and tags), line and paragraph separators, lone surrogates.
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Ordinary text characters: newline, tab, and the joiners of emoji and of many scripts. */
const usual: ReadonlySet<string> = new Set(["\n", "\t", "\u200c", "\u200d"]);

/** Text from a server, with every character made visible that could hide, reorder or overwrite other text. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(invisible, (character) => {
    if (usual.has(character)) return character;
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
  });
}

/** The same on one line, of at most `maxLength` characters. */
export function visibleLine(text: string, maxLength = 200): string {
  const cut = text.slice(0, maxLength);
  return visibleText(cut.replace(/\s+/g, " ").trim()) + (cut.length < text.length ? "…" : "");
}
