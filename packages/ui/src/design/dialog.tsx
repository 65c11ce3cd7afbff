import "./dialog.css";
import type { ComponentChildren, VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.js";
import { Icon } from "./icon.js";
import { visibleLine } from "./visible-text.js";

export interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Buttons at the bottom. */
  readonly actions?: ComponentChildren;
  readonly isWide?: boolean | undefined;
  /** Called when the user closes it: with the button, Escape, or a click outside. */
  readonly onClose: () => void;
}

/** A modal dialog. The browser keeps the focus inside, and returns it afterwards. */
export function Dialog({ title, children, actions, isWide, onClose }: DialogProps): VNode {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? "dialog dialog-wide" : "dialog"}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={onClose}
      onMouseDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <header class="dialog-header">
        <h2 id={titleId}>{visibleLine(title)}</h2>
        <Button kind="quiet" label="Close" onClick={onClose}>
          <Icon name="close" />
        </Button>
      </header>
      {/* Long text must scroll by keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the focus. */}
      <div class="dialog-body" tabIndex={0}>
        {children}
      </div>
      {actions !== undefined && <footer class="dialog-actions">{actions}</footer>}
    </dialog>
  );
}
