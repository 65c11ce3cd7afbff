import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Something that the command palette offers. */
export interface Command {
  readonly id: string;
  readonly title: string;
  /** What it belongs to: "Server", "Tool", "View". */
  readonly group: string;
  /** A second line, also searched: an address, a state. */
  readonly detail?: string | undefined;
  /** The key that does the same. */
  readonly key?: string | undefined;
  readonly run: () => void;
}

/** Lists commands when the palette opens. It may be slow for a few milliseconds: it runs only then. */
export type CommandSource = () => readonly Command[];

const sources = signal<readonly CommandSource[]>([]);

export const commandSources: ReadonlySignal<readonly CommandSource[]> = computed(() => sources.value);

/** Adds commands to the palette. Returns a function that removes them. */
export function addCommands(source: CommandSource): () => void {
  sources.value = [...sources.peek(), source];
  return () => {
    sources.value = sources.peek().filter((each) => each !== source);
  };
}

/** Offers commands while a view is shown. */
export function useCommands(source: CommandSource): void {
  useEffect(() => addCommands(source), [source]);
}
