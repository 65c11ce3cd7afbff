import { type Signal, signal } from "@preact/signals";

/** Whether the command palette is shown. */
export const isPaletteOpen: Signal<boolean> = signal(false);
