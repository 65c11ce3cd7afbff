import { hierarchy, tree } from "d3-hierarchy";

/** The part of a node that the layout needs. Nodes come after their parents. */
export interface LayoutNode {
  readonly id: string;
  readonly column: number;
  readonly parent?: string | undefined;
}

/** The vertical position of each node, in rows. */
export type Layout = ReadonlyMap<string, number>;

/** The distance between unrelated neighbours, in rows. */
const cousinDistance = 1.35;

interface Branch {
  /** Undefined for a column that a branch only crosses. */
  readonly id: string | undefined;
  readonly children: Branch[];
}

/**
 * Arranges nodes as tidy trees: those left of a process and those right of it, one process below the other. A parent is in the
 * middle of its children.
 */
export function arrange(nodes: Iterable<LayoutNode>): Layout {
  const layout = new Map<string, number>();
  let bottom = 0;
  for (const { left, right } of plant(nodes)) {
    const rows = new Map([...rowsOf(left), ...rowsOf(right)]);
    let top = 0;
    let end = 0;
    for (const row of rows.values()) {
      top = Math.min(top, row);
      end = Math.max(end, row);
    }
    for (const [id, row] of rows) layout.set(id, bottom + row - top);
    bottom += end - top + 2;
  }
  return layout;
}

/**
 * Keeps the positions of existing nodes, and gives new ones the free position that is nearest to their siblings, or else their
 * parent, so that nothing moves because something else appeared. A node that was `seen` before returns to its position if that is free.
 */
export function place(nodes: Iterable<LayoutNode>, previous: Layout, seen?: Layout): Layout {
  const all = [...nodes];
  const layout = new Map<string, number>();
  const columns = new Map<number, number[]>();
  const lastChild = new Map<string, number>();
  const set = ({ id, column, parent }: LayoutNode, row: number): void => {
    layout.set(id, row);
    const rows = columns.get(column) ?? [];
    rows.splice(firstAtLeast(rows, row), 0, row);
    columns.set(column, rows);
    if (parent !== undefined) lastChild.set(parent, Math.max(row, lastChild.get(parent) ?? row));
  };
  for (const node of all) {
    const row = previous.get(node.id);
    if (row !== undefined) set(node, row);
  }
  const bottom = Math.max(-2, ...[...columns.values()].map((rows) => rows.at(-1) ?? -2));
  for (const node of all) {
    if (layout.has(node.id)) continue;
    const sibling = node.parent === undefined ? undefined : lastChild.get(node.parent);
    const parent = node.parent === undefined ? undefined : layout.get(node.parent);
    // A new process is placed below everything.
    const near = seen?.get(node.id) ?? (sibling === undefined ? (parent ?? bottom + 2) : sibling + 1);
    set(node, nearestFree(columns.get(node.column) ?? [], near));
  }
  return layout;
}

/** The row nearest to `near` that is at least 1 away from all taken rows, which are sorted. */
function nearestFree(taken: readonly number[], near: number): number {
  const start = firstAtLeast(taken, near);
  let below = near;
  for (let index = Math.max(0, start - 1); index < taken.length && taken[index]! - below < 1; index += 1) {
    below = Math.max(below, taken[index]! + 1);
  }
  let above = near;
  for (let index = Math.min(start, taken.length - 1); index >= 0 && above - taken[index]! < 1; index -= 1) {
    above = Math.min(above, taken[index]! - 1);
  }
  return near - above < below - near ? above : below;
}

function firstAtLeast(rows: readonly number[], row: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]! < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The two trees of each process. */
function plant(nodes: Iterable<LayoutNode>): { readonly left: Branch; readonly right: Branch }[] {
  const roots: { left: Branch; right: Branch }[] = [];
  const branches = new Map<string, { readonly node: LayoutNode; readonly left: Branch; readonly right: Branch }>();
  for (const node of nodes) {
    const branch: Branch = { id: node.id, children: [] };
    const parent = node.parent === undefined ? undefined : branches.get(node.parent);
    if (parent === undefined) {
      const root = { node, left: branch, right: { id: node.id, children: [] } };
      roots.push(root);
      branches.set(node.id, root);
      continue;
    }
    branches.set(node.id, { node, left: branch, right: branch });
    const side = node.column < 0 ? parent.left : parent.right;
    // The library keeps nodes of the same depth apart, so columns that an edge crosses count as nodes.
    const crossed = Math.abs(node.column - parent.node.column) - 1;
    side.children.push(crossing(branch, crossed));
  }
  return roots;
}

function crossing(branch: Branch, columns: number): Branch {
  let outer = branch;
  for (let count = 0; count < columns; count += 1) outer = { id: undefined, children: [outer] };
  return outer;
}

function rowsOf(root: Branch): Map<string, number> {
  const place = tree<Branch>()
    .nodeSize([1, 1])
    .separation((a, b) => (a.parent === b.parent ? 1 : cousinDistance));
  const rows = new Map<string, number>();
  place(hierarchy(root)).each(({ data, x }) => {
    if (data.id !== undefined) rows.set(data.id, x);
  });
  return rows;
}
