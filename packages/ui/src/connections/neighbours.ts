import type { ShownNode } from "./fold.js";
import type { GraphEdge } from "./graph.js";
import type { Layout } from "./layout.js";

/** A direction in which the arrow keys move. */
export type Direction = "left" | "right" | "up" | "down";

/** The node that an arrow key moves to: the nearest one that is connected, or the next one in the column. */
export function neighbourOf(
  id: string,
  direction: Direction,
  nodes: ReadonlyMap<string, ShownNode>,
  edges: readonly GraphEdge[],
  layout: Layout,
): string | undefined {
  const node = nodes.get(id);
  if (node === undefined) return undefined;
  const row = layout.get(id) ?? 0;
  const isThere = (other: ShownNode): boolean => {
    const otherRow = layout.get(other.id) ?? 0;
    switch (direction) {
      case "left":
        return other.column < node.column;
      case "right":
        return other.column > node.column;
      case "up":
        return other.column === node.column && otherRow < row;
      case "down":
        return other.column === node.column && otherRow > row;
    }
  };
  const isSideways = direction === "left" || direction === "right";
  const candidates = isSideways
    ? edges.flatMap(({ parent, child }) => (parent === id ? [child] : child === id ? [parent] : []))
    : nodes.keys();
  let nearest: string | undefined;
  let nearestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const other = nodes.get(candidate);
    if (other === undefined || !isThere(other)) continue;
    const distance = Math.abs((layout.get(candidate) ?? 0) - row);
    if (distance < nearestDistance) [nearest, nearestDistance] = [candidate, distance];
  }
  return nearest;
}

/** The edges on all paths from a node to its processes and to everything below it. */
export function edgesThrough(id: string, edges: readonly GraphEdge[]): GraphEdge[] {
  const found = new Set<GraphEdge>();
  const follow = (from: "parent" | "child", to: "parent" | "child"): void => {
    const seen = new Set([id]);
    // Edges are in the order of the graph, so a few passes reach everything; most graphs need two.
    for (let grown = true; grown; ) {
      grown = false;
      for (const edge of edges) {
        if (!seen.has(edge[from]) || found.has(edge)) continue;
        found.add(edge);
        seen.add(edge[to]);
        grown = true;
      }
    }
  };
  follow("parent", "child");
  follow("child", "parent");
  return [...found];
}
