import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { edgePaths, type Span } from "./edge-paths.js";
import type { Box } from "./geometry.js";
import type { GraphEdge } from "./graph.js";

export interface EdgeLayerProps {
  readonly edges: readonly GraphEdge[];
  readonly boxes: ReadonlyMap<string, Box>;
  /** Lines of the hovered, focused or selected node. */
  readonly highlighted: readonly GraphEdge[];
}

/** All lines of the graph, below its nodes. */
export function EdgeLayer({ edges, boxes, highlighted }: EdgeLayerProps): VNode {
  const paths = useMemo(() => edgePaths(spans(edges, boxes)), [edges, boxes]);
  const marked = useMemo(() => edgePaths(spans(highlighted, boxes)), [highlighted, boxes]);
  return (
    <svg class="graph-edges" width="1" height="1" aria-hidden="true">
      {paths.map(({ style, width, d }) => (
        <path key={`${style} ${width}`} class={`edge edge-${style}`} stroke-width={width} d={d} />
      ))}
      {marked.map(({ style, width, d }) => (
        <path key={`${style} ${width}`} class={`edge edge-${style} edge-highlighted`} stroke-width={width} d={d} />
      ))}
    </svg>
  );
}

function* spans(edges: readonly GraphEdge[], boxes: ReadonlyMap<string, Box>): Generator<readonly [GraphEdge, Span]> {
  for (const edge of edges) {
    const parent = boxes.get(edge.parent);
    const child = boxes.get(edge.child);
    if (parent === undefined || child === undefined) continue;
    const [left, right] = parent.x <= child.x ? [parent, child] : [child, parent];
    yield [
      edge,
      { x1: left.x + left.width, y1: left.y + left.height / 2, x2: right.x, y2: right.y + right.height / 2 },
    ];
  }
}
