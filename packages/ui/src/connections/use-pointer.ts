import { useEffect } from "preact/hooks";
import { panBy, type Viewport, zoomAt } from "./viewport.js";

type Update = (change: (view: Viewport | undefined) => Viewport | undefined) => void;

/** A pointer that moved less than this, in px, has clicked. */
const clickDistance = 4;

/** Moves the graph with the pointer and the wheel, zooms with Ctrl and the wheel, and with two fingers. */
export function usePointer(frame: { readonly current: HTMLElement | null }, setView: Update): void {
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const ended = new AbortController();
    const { signal } = ended;
    const pointers = new Map<number, { x: number; y: number }>();
    let moved = 0;

    const at = (event: MouseEvent): { x: number; y: number } => {
      const { left, top } = element.getBoundingClientRect();
      return { x: event.clientX - left, y: event.clientY - top };
    };
    element.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const { x, y } = at(event);
        // Browsers report pinching on a touchpad as a wheel with Ctrl.
        const step = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 24 : 1;
        if (event.ctrlKey || event.metaKey)
          setView((view) => view && zoomAt(view, Math.exp(-event.deltaY * step * 0.004), x, y));
        else if (event.shiftKey && event.deltaX === 0) setView((view) => view && panBy(view, -event.deltaY * step, 0));
        else setView((view) => view && panBy(view, -event.deltaX * step, -event.deltaY * step));
      },
      { passive: false, signal },
    );
    element.addEventListener(
      "pointerdown",
      (event) => {
        if (event.button !== 0 || (event.target as Element).closest(".graph-controls") !== null) return;
        pointers.set(event.pointerId, at(event));
        moved = 0;
      },
      { signal },
    );
    element.addEventListener(
      "pointermove",
      (event) => {
        const before = pointers.get(event.pointerId);
        if (before === undefined) return;
        const now = at(event);
        const [dx, dy] = [now.x - before.x, now.y - before.y];
        moved += Math.hypot(dx, dy);
        if (moved < clickDistance) return;
        // Captured only now: an earlier capture would take the click from the node below.
        if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
        const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
        pointers.set(event.pointerId, now);
        if (other === undefined) setView((view) => view && panBy(view, dx, dy));
        else {
          const factor =
            Math.hypot(now.x - other.x, now.y - other.y) /
            Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
          setView((view) => view && panBy(zoomAt(view, factor, other.x, other.y), dx / 2, dy / 2));
        }
      },
      { signal },
    );
    const end = (event: PointerEvent): void => {
      pointers.delete(event.pointerId);
    };
    element.addEventListener("pointerup", end, { signal });
    element.addEventListener("pointercancel", end, { signal });
    element.addEventListener(
      "click",
      (event) => {
        // The end of a drag is not a click.
        if (moved >= clickDistance && event.detail > 0) {
          event.preventDefault();
          event.stopPropagation();
        }
        moved = 0;
      },
      { capture: true, signal },
    );
    element.addEventListener("dragstart", (event) => event.preventDefault(), { signal });
    return () => ended.abort();
  }, []);
}
