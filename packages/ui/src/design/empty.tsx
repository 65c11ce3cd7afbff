import "./empty.css";
import type { ComponentChildren, VNode } from "preact";
import { visibleLine } from "./visible-text.js";

export interface EmptyProps {
  /** What is missing, in one sentence. */
  readonly title: string;
  /** What to do about it. */
  readonly children?: ComponentChildren;
}

/** Shown if a list or a view is empty. */
export function Empty({ title, children }: EmptyProps): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{visibleLine(title)}</p>
      {children !== undefined && <div class="empty-advice">{children}</div>}
    </div>
  );
}

/** Shown until the first data arrives. */
export function Loading({ what }: { readonly what: string }): VNode {
  return (
    <div class="loading" role="status">
      <span class="loading-bar" aria-hidden="true" />
      Loading {what}…
    </div>
  );
}
