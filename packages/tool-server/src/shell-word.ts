/** A word as a shell takes it: in quotes if it must be. Users paste the commands of messages, and paths may come from a hostile folder. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
