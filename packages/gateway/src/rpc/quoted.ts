const longest = 200;

/** A text of a client in quotes, for words of ours: its beginning, where it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > longest ? `${text.slice(0, longest)}…` : text);
}
