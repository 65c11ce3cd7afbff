import { isPaletteOpen } from "./palette/palette-state.js";
import { navigate, openPanel } from "./routing/index.js";
import { availableViews } from "./side-bar.js";
import { changes, chooseTime, chosenTime, timeRange } from "./store/index.js";
import { neighbourChange } from "./time-ticks.js";

const sequenceMs = 1200;

/**
 * The keys of the whole page: Ctrl/⌘K and "/" open the palette, "g" and a letter open a view, "[" and "]" show the change before and
 * after, "n" returns to now, Escape closes the panel.
 */
export function listenForShortcuts(): void {
  let goneAtMs = Number.NEGATIVE_INFINITY;
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      isPaletteOpen.value = !isPaletteOpen.peek();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
    if (event.key === "/") {
      event.preventDefault();
      isPaletteOpen.value = true;
    } else if (event.key === "n") {
      chooseTime(undefined);
    } else if (event.key === "[" || event.key === "]") {
      goToChange(event.key === "[" ? -1 : 1);
    } else if (event.key === "Escape") {
      openPanel(undefined);
    } else if (event.key === "g") {
      goneAtMs = event.timeStamp;
    } else if (event.timeStamp - goneAtMs < sequenceMs) {
      goneAtMs = Number.NEGATIVE_INFINITY;
      const view = availableViews().find(({ key }) => key === event.key);
      if (view !== undefined) navigate(view.patterns[0] ?? "/");
    }
  });
}

/** Shows the moment of the change before or after the one that is shown. After the last change comes now. */
function goToChange(step: -1 | 1): void {
  const timeMs = chosenTime.peek() ?? timeRange.peek()?.lastMs;
  if (timeMs === undefined) return;
  const found = neighbourChange(changes.peek(), timeMs, step);
  if (found !== undefined) chooseTime(found);
  else if (step === 1) chooseTime(undefined);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.closest("input:not([type=range]), textarea, select, dialog, [contenteditable]") !== null;
}
