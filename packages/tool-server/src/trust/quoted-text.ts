const maxCharacters = 2_000;
const headCharacters = 1_400;
const tailCharacters = 400;

/**
 * Quotes an untrusted string for a user who decides based on it. Everything except ASCII is escaped, so that nothing can control the terminal, be
 * invisible, run backwards, or look like another letter. A long run of spaces is shown as a count, so that nothing is pushed out of sight. Of more
 * than 2,000 characters, the middle is replaced by a notice.
 */
export function quoteText(text: string): string {
  if (text.length <= maxCharacters) return `"${escapeText(text)}"`;
  const left = text.length - headCharacters - tailCharacters;
  const head = text.slice(0, headCharacters);
  return `"${escapeText(head)}" [${left} characters not shown] "${escapeText(text.slice(-tailCharacters))}"`;
}

/** A name without quotes if it is plain, otherwise quoted and escaped. */
export function quoteUnlessPlain(name: string): string {
  return name.length <= 128 && /^[\w./$@:[\]{}-]+$/.test(name) ? name : quoteText(name);
}

function escapeText(text: string): string {
  return text
    .replace(/["\\]/g, "\\$&")
    .replace(/[^\x20-\x7e]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
    .replace(/ {3,}/g, (run) => `\\u{20}*${run.length}`);
}
