import type { Command } from "../store/index.js";

const maxShown = 60;

/** The commands that match a query, the best first: the start of the title, then of a word, then anywhere, then the detail. */
export function rankCommands(commands: readonly Command[], query: string): readonly Command[] {
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return commands.slice(0, maxShown);
  const ranked = commands.flatMap((command) => {
    const ranks = words.map((word) => rankOf(command, word));
    return ranks.includes(undefined)
      ? []
      : [{ command, rank: ranks.reduce<number>((sum, each) => sum + (each ?? 0), 0) }];
  });
  return ranked
    .sort((a, b) => a.rank - b.rank)
    .slice(0, maxShown)
    .map(({ command }) => command);
}

function rankOf({ title, group, detail = "" }: Command, word: string): number | undefined {
  const name = title.toLowerCase();
  if (name.startsWith(word)) return 0;
  if (name.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(word))) return 1;
  if (name.includes(word)) return 2;
  return `${group} ${detail}`.toLowerCase().includes(word) ? 3 : undefined;
}
