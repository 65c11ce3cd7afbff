import "./detail-panel.css";
import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button, Icon } from "../design/index.js";
import { address, Link, openPanel } from "./routing/index.js";
import { ViewHost } from "./view-host.js";
import { findView } from "./views.js";

/** The details of the selection, next to the view. On phones it covers the view. */
export function DetailPanel(): VNode | null {
  const { panel } = address.value;
  const element = useRef<HTMLElement>(null);
  const before = useRef<Element | null>(null);
  const isOpen = panel !== undefined;
  // In the same turn as the key or the click, so that the next key reaches the right element.
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    before.current = document.activeElement;
    return () => {
      // The focus returns to the element that opened the panel, unless it has moved elsewhere.
      if (document.activeElement === document.body && before.current instanceof HTMLElement) before.current.focus();
    };
  }, [isOpen]);
  if (panel === undefined) return null;
  const title = findView(panel)?.view.title ?? "Detail";
  return (
    <aside
      class="detail-panel"
      aria-label={title}
      ref={element}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) openPanel(undefined);
      }}
    >
      <div class="detail-panel-bar">
        <span class="soft">{title}</span>
        <Link to={panel} class="button button-quiet button-icon">
          <Icon name="expand" />
          <span class="visually-hidden">Open full width</span>
        </Link>
        <Button kind="quiet" label="Close panel" onClick={() => openPanel(undefined)}>
          <Icon name="close" />
        </Button>
      </div>
      <div class="detail-panel-body">
        <ViewHost url={panel} isPanel />
      </div>
    </aside>
  );
}
