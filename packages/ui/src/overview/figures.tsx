import "./overview.css";
import type { ComponentChildren, VNode } from "preact";

export interface FigureProps {
  readonly name: string;
  readonly value: ComponentChildren;
  /** In small letters after the value. */
  readonly unit?: string | undefined;
}

/** Large numbers in a row. */
export function Figures({ figures }: { readonly figures: readonly FigureProps[] }): VNode {
  return (
    <dl class="figures">
      {figures.map(({ name, value, unit }) => (
        <div key={name} class="figure">
          <dd class="figure-value">
            {value}
            {unit !== undefined && <small>{unit}</small>}
          </dd>
          <dt class="figure-name">{name}</dt>
        </div>
      ))}
    </dl>
  );
}
