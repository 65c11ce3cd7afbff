import "./empty.css";
import type { ComponentChildren, VNode } from "preact";

export interface EmptyProps {
  /** What is missing, in one sentence. */
  readonly title: string;
  /** What to do about it. */
  readonly children?: ComponentChildren;
}

/** What is shown if a list or a view has nothing to show. */
export function Empty({ title, children }: EmptyProps): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="empty-advice">{children}</div>}
    </div>
  );
}

/** What is shown until the first data arrive. */
export function Loading({ what }: { readonly what: string }): VNode {
  return (
    <div class="loading" role="status">
      <span class="loading-bar" aria-hidden="true" />
      Loading {what}…
    </div>
  );
}
