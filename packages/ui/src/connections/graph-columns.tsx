import type { VNode } from "preact";
import type { ShownNode } from "./fold.js";
import type { Column } from "./geometry.js";
import type { Viewport } from "./viewport.js";

export interface GraphColumnsProps {
  readonly columns: ReadonlyMap<number, Column>;
  readonly nodes: ReadonlyMap<string, ShownNode>;
  readonly view: Viewport;
}

/** The titles of the columns. They stay at the top, above their columns. */
export function GraphColumns({ columns, nodes, view }: GraphColumnsProps): VNode {
  const used = new Set([...nodes.values()].map(({ column }) => column));
  return (
    <div class="graph-columns" aria-hidden="true">
      {[...columns]
        // When zoomed out, there is no space for titles.
        .filter(([number, { width }]) => used.has(number) && width * view.scale > 60)
        .map(([number, { title, x, width }]) => (
          <span
            key={number}
            style={{
              transform: `translateX(${view.x + x * view.scale}px)`,
              width: `${(width + 40) * view.scale}px`,
            }}
          >
            {title}
          </span>
        ))}
    </div>
  );
}
