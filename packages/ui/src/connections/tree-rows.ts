import type { FoldedGraph, ShownNode } from "./fold.js";
import { groupBy } from "./group-by.js";

/** A row of the tree, with its position for screen readers. */
export interface TreeRow {
  readonly node: ShownNode;
  /** From 1. */
  readonly level: number;
  readonly position: number;
  readonly siblings: number;
  /** Undefined if nothing is below it. */
  readonly isExpanded: boolean | undefined;
}

/** The rows of the tree, without those below a collapsed node. Groups are expanded by opening them. */
export function treeRows({ nodes }: FoldedGraph, collapsed: ReadonlySet<string>): TreeRow[] {
  const children = groupBy(nodes.values(), ({ parent }) => parent);
  const rows: TreeRow[] = [];
  const add = (siblings: readonly ShownNode[], level: number): void => {
    for (const [index, node] of siblings.entries()) {
      const below = children.get(node.id) ?? [];
      const isExpanded = node.isGroup ? node.isOpen : below.length === 0 ? undefined : !collapsed.has(node.id);
      rows.push({ node, level, position: index + 1, siblings: siblings.length, isExpanded });
      if (below.length > 0 && !collapsed.has(node.id)) add(below, level + 1);
    }
  };
  add(children.get(undefined) ?? [], 1);
  return rows;
}

/** The effect of a key in a tree, as in the ARIA Authoring Practices. */
export type TreeMove =
  | { readonly kind: "focus"; readonly index: number }
  | { readonly kind: "toggle"; readonly index: number }
  | { readonly kind: "open"; readonly index: number };

export function treeMove(rows: readonly TreeRow[], index: number, key: string): TreeMove | undefined {
  const row = rows[index];
  if (row === undefined) return undefined;
  const focus = (next: number): TreeMove | undefined =>
    rows[next] === undefined ? undefined : { kind: "focus", index: next };
  switch (key) {
    case "ArrowDown":
      return focus(index + 1);
    case "ArrowUp":
      return focus(index - 1);
    case "Home":
      return focus(0);
    case "End":
      return focus(rows.length - 1);
    case "ArrowRight":
      if (row.isExpanded === undefined) return undefined;
      return row.isExpanded ? focus(index + 1) : { kind: "toggle", index };
    case "ArrowLeft":
      if (row.isExpanded) return { kind: "toggle", index };
      return focus(rows.findLastIndex(({ level }, before) => before < index && level < row.level));
    case "Enter":
    case " ":
      return { kind: "open", index };
    default:
      return /^\p{L}$/u.test(key) ? focus(startingWith(rows, index, key)) : undefined;
  }
}

/** The next row whose title starts with a letter. */
function startingWith(rows: readonly TreeRow[], index: number, letter: string): number {
  for (let step = 1; step <= rows.length; step += 1) {
    const next = (index + step) % rows.length;
    if (rows[next]?.node.title.toLowerCase().startsWith(letter.toLowerCase())) return next;
  }
  return -1;
}
