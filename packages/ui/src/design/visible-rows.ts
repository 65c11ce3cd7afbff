import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** The height of a row in px, as `--row` in tokens.css. */
const rowHeight = 32;
/** Up to this number of rows, the whole table is in the document. */
const maxWhole = 150;
const overscan = 12;

export interface VisibleRows {
  readonly first: number;
  readonly last: number;
  /** The height in px of the rows before and after. */
  readonly before: number;
  readonly after: number;
  readonly onScroll: () => void;
}

/** Which rows of a long table are visible. */
export function useVisibleRows(scroller: RefObject<HTMLElement | null>, count: number): VisibleRows {
  const [view, setView] = useState({ top: 0, height: 800 });
  const measure = (): void => {
    const element = scroller.current;
    if (element === null || count <= maxWhole) return;
    const top = Math.floor(element.scrollTop / rowHeight) * rowHeight;
    const height = element.clientHeight;
    setView((now) => (now.top === top && now.height === height ? now : { top, height }));
  };
  useLayoutEffect(measure, [count]);
  if (count <= maxWhole) return { first: 0, last: count, before: 0, after: 0, onScroll: measure };
  const first = Math.min(Math.max(0, Math.floor(view.top / rowHeight) - overscan), Math.max(0, count - 1));
  const last = Math.min(count, first + Math.ceil(view.height / rowHeight) + 2 * overscan);
  return { first, last, before: first * rowHeight, after: (count - last) * rowHeight, onScroll: measure };
}
