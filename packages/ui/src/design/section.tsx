import "./section.css";
import type { ComponentChildren, VNode } from "preact";
import { useId } from "preact/hooks";
import { visibleText } from "./visible-text.js";

export interface SectionProps {
  readonly title: string;
  /** Buttons and filters at the right of the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  /** Whether the content has no padding, as for tables. */
  readonly isFlush?: boolean | undefined;
}

/** A titled part of a view. */
export function Section({ title, actions, children, isFlush }: SectionProps): VNode {
  const id = useId();
  return (
    <section class="section" aria-labelledby={id}>
      <header class="section-header">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div class="section-actions">{actions}</div>}
      </header>
      <div class={isFlush ? "section-flush" : "section-body"}>{children}</div>
    </section>
  );
}

/** Names and values in two columns. Rows without a value are omitted. Hidden characters of strings are shown as escapes. */
export function PropertyList({
  rows,
}: {
  readonly rows: readonly (readonly [name: string, value: ComponentChildren])[];
}): VNode {
  const present = rows.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== "");
  return (
    <dl class="property-list">
      {present.map(([name, value]) => (
        <div key={name} class="property">
          <dt>{name}</dt>
          <dd>{typeof value === "string" ? visibleText(value) : value}</dd>
        </div>
      ))}
    </dl>
  );
}
