import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { Tone } from "../design/index.js";
import type { ShownNode } from "./fold.js";
import type { Box } from "./geometry.js";

/** Below this scale text cannot be read, and nodes are drawn as rectangles. */
export const farScale = 0.4;

export interface FarNodesProps {
  readonly nodes: ReadonlyMap<string, ShownNode>;
  readonly boxes: ReadonlyMap<string, Box>;
}

/** All nodes of a zoomed-out graph: one path for each colour, so that thousands cost no more than a few. */
export function FarNodes({ nodes, boxes }: FarNodesProps): VNode {
  const paths = useMemo(() => {
    const byTone = new Map<Tone, string[]>();
    for (const { id, state } of nodes.values()) {
      const box = boxes.get(id);
      if (box === undefined) continue;
      const parts = byTone.get(state.tone) ?? [];
      byTone.set(state.tone, parts);
      parts.push(`M${box.x} ${box.y}h${box.width}v${box.height}h${-box.width}z`);
    }
    return [...byTone].map(([tone, parts]) => ({ tone, d: parts.join("") }));
  }, [nodes, boxes]);
  return (
    <svg class="graph-far" width="1" height="1" aria-hidden="true">
      {paths.map(({ tone, d }) => (
        <path key={tone} class={`tone-${tone}`} d={d} />
      ))}
    </svg>
  );
}
