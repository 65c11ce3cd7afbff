import type { ComponentChildren, VNode } from "preact";
import { formatAddress } from "./address.js";
import { address, navigate, openPanel } from "./router.js";

export interface LinkProps {
  /** An address of this page. */
  readonly to: string;
  readonly children: ComponentChildren;
  /** Whether it opens in the detail panel. Default: it replaces the view. */
  readonly inPanel?: boolean | undefined;
  readonly class?: string | undefined;
  readonly isCurrent?: boolean | undefined;
}

/** A link within the page. With a modifier key, the browser opens it in a new tab as usual. */
export function Link({ to, children, inPanel, class: className, isCurrent }: LinkProps): VNode {
  const open = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (inPanel) openPanel(to);
    else navigate(to);
  };
  const href = inPanel ? formatAddress({ ...address.value, panel: to }) : to;
  return (
    <a href={href} class={className} aria-current={isCurrent ? "page" : undefined} onClick={open}>
      {children}
    </a>
  );
}
