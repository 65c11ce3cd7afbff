import { useCallback, useMemo, useRef, useState } from "preact/hooks";

export interface Hold {
  /** The id of the newest shown call; undefined if the list is not held. */
  readonly heldAt: string | undefined;
  /** Shows the new calls. */
  readonly release: () => void;
  /** For the element around the list. */
  readonly handlers: {
    readonly onPointerEnter: (event: PointerEvent) => void;
    readonly onPointerLeave: () => void;
    readonly onFocusIn: () => void;
    readonly onFocusOut: () => void;
    readonly onScrollCapture: (event: Event) => void;
  };
}

/** Keeps a list in place while it is paused, the pointer or the focus is in it, or it is scrolled down. */
export function useHold(newest: string | undefined, isPaused: boolean, isOff: boolean): Hold {
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const [isScrolled, setScrolled] = useState(false);
  const [, setCount] = useState(0);
  const held = useRef<string | undefined>(undefined);
  const scroller = useRef<Element | undefined>(undefined);
  const isHeld = !isOff && (isPaused || isPointed || isFocused || isScrolled);
  if (!isHeld) held.current = undefined;
  else held.current ??= newest;
  const latest = useRef(newest);
  latest.current = newest;
  const release = useCallback((): void => {
    held.current = latest.current;
    scroller.current?.scrollTo({ top: 0 });
    setCount((count) => count + 1);
  }, []);
  const handlers = useMemo(
    () => ({
      // A touch enters and never leaves.
      onPointerEnter: (event: PointerEvent) => setPointed(event.pointerType === "mouse"),
      onPointerLeave: () => setPointed(false),
      onFocusIn: () => setFocused(true),
      onFocusOut: () => setFocused(false),
      onScrollCapture(event: Event) {
        if (!(event.target instanceof Element)) return;
        scroller.current = event.target;
        setScrolled(event.target.scrollTop > 0);
      },
    }),
    [],
  );
  return { heldAt: held.current, release, handlers };
}
