import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** A command in the palette. */
export interface Command {
  readonly id: string;
  readonly title: string;
  /** Its group: "Server", "Tool", "View". */
  readonly group: string;
  /** A second line, also searched: an address, a state. */
  readonly detail?: string | undefined;
  /** Its shortcut. */
  readonly key?: string | undefined;
  readonly run: () => void;
}

/** Lists commands when the palette opens. It may take a few milliseconds, because it runs only then. */
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
