import type { GraphEdge } from "./graph.js";

/** Where a line starts and ends. */
export interface Span {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** Lines that look the same, as one path, so that hundreds of lines need only a few elements. */
export interface EdgePath {
  readonly style: EdgeStyle;
  readonly width: number;
  readonly d: string;
}

/** An idle line is dashed, a failing one is broken in the middle. */
export type EdgeStyle = "active" | "idle" | "failing";

const maxWidth = 10;

export function edgeStyle({ traffic, isFailing }: GraphEdge): EdgeStyle {
  if (isFailing) return "failing";
  return traffic > 0 ? "active" : "idle";
}

/** The width of a line in pixels: 1.5 without traffic, 2 more for each tenfold, in steps of a half so that few widths occur. */
export function edgeWidth(perSecond: number): number {
  if (!(perSecond > 0)) return 1.5;
  const width = 2 + 2 * Math.log10(1 + perSecond);
  return Math.min(maxWidth, Math.round(width * 2) / 2);
}

/** The paths of lines, one for each style and width. */
export function edgePaths(edges: Iterable<readonly [GraphEdge, Span]>): EdgePath[] {
  const paths = new Map<string, { style: EdgeStyle; width: number; parts: string[] }>();
  for (const [edge, span] of edges) {
    const style = edgeStyle(edge);
    // The gap of a broken line must be visible, and a thick line would hide it.
    const width = style === "failing" ? 2 : edgeWidth(edge.traffic);
    const id = `${style} ${width}`;
    const path = paths.get(id) ?? { style, width, parts: [] };
    paths.set(id, path);
    path.parts.push(style === "failing" ? brokenCurve(span) : curve(span));
  }
  // Thin lines on top of thick ones, problems on top of all.
  const order: readonly EdgeStyle[] = ["active", "idle", "failing"];
  return [...paths.values()]
    .sort((a, b) => order.indexOf(a.style) - order.indexOf(b.style) || b.width - a.width)
    .map(({ style, width, parts }) => ({ style, width, d: parts.join("") }));
}

type Point = readonly [x: number, y: number];

/** A horizontal S from one side to the other. */
function controlPoints({ x1, y1, x2, y2 }: Span): readonly [Point, Point, Point, Point] {
  const middle = (x1 + x2) / 2;
  return [
    [x1, y1],
    [middle, y1],
    [middle, y2],
    [x2, y2],
  ];
}

function curve(span: Span): string {
  const [a, b, c, d] = controlPoints(span);
  return `M${text(a)}C${text(b)} ${text(c)} ${text(d)}`;
}

/** The curve without its middle, and a cross in the gap. */
function brokenCurve(span: Span): string {
  const gap = Math.min(0.35, 9 / Math.max(1, Math.hypot(span.x2 - span.x1, span.y2 - span.y1)));
  const points = controlPoints(span);
  const [first] = split(points, 0.5 - gap);
  const [, second] = split(points, 0.5 + gap);
  const [x, y] = split(points, 0.5)[0][3];
  const cross = `M${text([x - 3, y - 3])}L${text([x + 3, y + 3])}M${text([x + 3, y - 3])}L${text([x - 3, y + 3])}`;
  return [first, second].map(([a, b, c, d]) => `M${text(a)}C${text(b)} ${text(c)} ${text(d)}`).join("") + cross;
}

type Cubic = readonly [Point, Point, Point, Point];

/** De Casteljau: the two parts of a curve before and after `t`. */
function split([a, b, c, d]: Cubic, t: number): readonly [Cubic, Cubic] {
  const ab = between(a, b, t);
  const bc = between(b, c, t);
  const cd = between(c, d, t);
  const abc = between(ab, bc, t);
  const bcd = between(bc, cd, t);
  const middle = between(abc, bcd, t);
  return [
    [a, ab, abc, middle],
    [middle, bcd, cd, d],
  ];
}

function between([x1, y1]: Point, [x2, y2]: Point, t: number): Point {
  return [x1 + (x2 - x1) * t, y1 + (y2 - y1) * t];
}

function text([x, y]: Point): string {
  return `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
}
