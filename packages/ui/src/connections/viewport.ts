import type { Box } from "./geometry.js";

/** The visible part of the graph: a point at (gx, gy) is on the screen at (x + gx * scale, y + gy * scale). */
export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/** The size of the element that shows the graph. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

const minScale = 0.02;
const maxScale = 2.5;
/** The minimum scale at which text is readable. */
const readableScale = 0.72;
const margin = 32;
/** The height of the column titles. */
const titleHeight = 28;

/** Zooms by a factor; the point of the screen at (x, y) stays where it is. */
export function zoomAt(view: Viewport, factor: number, x: number, y: number): Viewport {
  const scale = Math.min(maxScale, Math.max(minScale, view.scale * factor));
  const ratio = scale / view.scale;
  return { scale, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio };
}

export function panBy(view: Viewport, dx: number, dy: number): Viewport {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

/**
 * Shows everything if text stays readable; otherwise what is around the centre. `isWhole` shows everything in any case.
 */
export function fit(bounds: Box, { width, height }: Size, centre: Box, isWhole = false): Viewport {
  const across = (width - 2 * margin) / Math.max(1, bounds.width);
  const down = (height - 2 * margin - titleHeight) / Math.max(1, bounds.height);
  const least = isWhole ? minScale : readableScale;
  const scale = Math.min(1, Math.max(least, Math.min(across, down)));
  const free = width - bounds.width * scale;
  const below = height - titleHeight - bounds.height * scale;
  const x = free >= 0 ? free / 2 - bounds.x * scale : width / 2 - (centre.x + centre.width / 2) * scale;
  const y =
    below >= 0
      ? Math.max(margin / 2, Math.min(below / 2, height / 6)) - bounds.y * scale
      : (height - titleHeight) / 2 - (centre.y + centre.height / 2) * scale;
  return { scale, x, y: titleHeight + y };
}

/** Moves as little as possible to make a box visible. */
export function reveal(view: Viewport, box: Box, { width, height }: Size): Viewport {
  const left = view.x + box.x * view.scale;
  const top = view.y + box.y * view.scale;
  const right = left + box.width * view.scale;
  const bottom = top + box.height * view.scale;
  const dx =
    left < margin ? margin - left : right > width - margin ? Math.max(margin - left, width - margin - right) : 0;
  const first = titleHeight + margin / 2;
  const dy = top < first ? first - top : bottom > height - margin ? Math.max(first - top, height - margin - bottom) : 0;
  return dx === 0 && dy === 0 ? view : panBy(view, dx, dy);
}

/** The visible part of the graph, with a margin. */
export function visibleBox(view: Viewport, { width, height }: Size): Box {
  const around = 120;
  return {
    x: (-view.x - around) / view.scale,
    y: (-view.y - around) / view.scale,
    width: (width + 2 * around) / view.scale,
    height: (height + 2 * around) / view.scale,
  };
}

export function overlaps(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
