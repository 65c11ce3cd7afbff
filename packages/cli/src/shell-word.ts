/** A word as a shell takes it: in quotes where it must be. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./\u2026-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
