import type { GraphShape } from "./graph.js";
import type { Layout } from "./layout.js";

/** The height of a row and of the box in it, in px. */
export const rowHeight = 50;
export const nodeHeight = 38;
const columnGap = 52;

/** A column of the graph. `x` is in px from the process. */
export interface Column {
  readonly title: string;
  readonly x: number;
  readonly width: number;
}

/** A rectangle in the graph, in px. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** All columns that a graph may have, by their number. */
export function columnsOf({ channelColumns, subchannelColumns }: GraphShape): ReadonlyMap<number, Column> {
  const kinds: (readonly [title: string, width: number])[] = [
    ...Array.from(
      { length: channelColumns },
      (_, index) => [index === 0 ? "Channels" : "Nested channels", 168] as const,
    ),
    ...Array.from({ length: subchannelColumns }, () => ["Subchannels", 156] as const),
    ["Sockets", 140],
    ["Addresses", 140],
  ];
  const left: readonly (readonly [string, number])[] = [
    ["Servers", 128],
    ["Listeners", 140],
    ["Clients", 140],
  ];
  const columns = new Map<number, Column>();
  const middle = { title: "Process", x: 0, width: 140 };
  columns.set(0, middle);
  let x = middle.width;
  for (const [index, [title, width]] of kinds.entries()) {
    columns.set(index + 1, { title, x: x + columnGap, width });
    x += columnGap + width;
  }
  x = 0;
  for (const [index, [title, width]] of left.entries()) {
    x -= columnGap + width;
    columns.set(-index - 1, { title, x, width });
  }
  return columns;
}

/** The box of a node. */
export function boxOf(
  node: { readonly id: string; readonly column: number },
  layout: Layout,
  columns: ReadonlyMap<number, Column>,
): Box {
  // References from a hostile peer can nest deeper than any column.
  const { x, width } = columns.get(node.column) ?? columns.get(0)!;
  return { x, y: (layout.get(node.id) ?? 0) * rowHeight, width, height: nodeHeight };
}

/** The box around all boxes; undefined if there are none. */
export function boundsOf(boxes: Iterable<Box>): Box | undefined {
  let [left, top, right, bottom] = [
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ];
  for (const { x, y, width, height } of boxes) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x + width);
    bottom = Math.max(bottom, y + height);
  }
  return left > right ? undefined : { x: left, y: top, width: right - left, height: bottom - top };
}
