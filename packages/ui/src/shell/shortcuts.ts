import { isPaletteOpen } from "./palette/palette-state.js";
import { navigate, openPanel } from "./routing/index.js";
import { availableViews } from "./side-bar.js";
import { chooseTime, chosenTime, distinctChanges, timeRange } from "./store/index.js";
import { neighbourChange } from "./time-ticks.js";

const sequenceMs = 1200;

/**
 * The page's keyboard shortcuts: Ctrl/⌘K and "/" open the palette, "g" and a letter open a view, "[" and "]" show the previous and
 * the next change, "n" returns to now, Escape closes the panel.
 */
export function listenForShortcuts(): void {
  let prefixAtMs = Number.NEGATIVE_INFINITY;
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
      prefixAtMs = event.timeStamp;
    } else if (event.timeStamp - prefixAtMs < sequenceMs) {
      prefixAtMs = Number.NEGATIVE_INFINITY;
      const view = availableViews().find(({ key }) => key === event.key);
      if (view !== undefined) navigate(view.patterns[0] ?? "/");
    }
  });
}

/** Shows the moment of the previous or next change. After the last change, shows now. */
function goToChange(step: -1 | 1): void {
  const timeMs = chosenTime.peek() ?? timeRange.peek()?.lastMs;
  if (timeMs === undefined) return;
  const found = neighbourChange(distinctChanges.peek(), timeMs, step);
  if (found !== undefined) chooseTime(found);
  else if (step === 1) chooseTime(undefined);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.closest("input:not([type=range]), textarea, select, dialog, [contenteditable]") !== null;
}
