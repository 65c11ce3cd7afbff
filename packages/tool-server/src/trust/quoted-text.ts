const mostCharacters = 2_000;
const headCharacters = 1_400;
const tailCharacters = 400;

/**
 * Text of others in double quotes, for a person who decides by what it says. Whatever is not ASCII is an escape, so that
 * nothing drives the terminal, is invisible, runs backwards, or looks like another letter. A long run of spaces is told by
 * its number, so that nothing is pushed out of sight. Of more than 2,000 characters the middle is left out, and it says so.
 */
export function quoteText(text: string): string {
  if (text.length <= mostCharacters) return `"${escapeText(text)}"`;
  const left = text.length - headCharacters - tailCharacters;
  const head = text.slice(0, headCharacters);
  return `"${escapeText(head)}" [${left} characters are not shown here] "${escapeText(text.slice(-tailCharacters))}"`;
}

/** A name that is printed as it is where it is plain, and in quotes where it is not. */
export function quoteUnlessPlain(name: string): string {
  return name.length <= 128 && /^[\w./$@:[\]{}-]+$/.test(name) ? name : quoteText(name);
}

function escapeText(text: string): string {
  return text
    .replace(/["\\]/g, "\\$&")
    .replace(/[^\x20-\x7e]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
    .replace(/ {3,}/g, (run) => `\\u{20}*${run.length}`);
}
