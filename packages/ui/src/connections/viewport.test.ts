import { expect, test } from "vitest";
import { fit, overlaps, reveal, visibleBox, zoomAt } from "./viewport.js";

const size = { width: 1000, height: 600 };

test("zooms around the point under the pointer, within limits", () => {
  const view = zoomAt({ x: 10, y: 20, scale: 1 }, 2, 300, 200);
  expect(view).toEqual({ scale: 2, x: -280, y: -160 });
  expect(zoomAt(view, 100, 0, 0).scale).toBe(2.5);
  expect(zoomAt(view, 0.0001, 0, 0).scale).toBe(0.02);
});

test("fits a small graph without enlarging it, and shows the middle of one that would be unreadable", () => {
  const process = { x: 0, y: 1000, width: 140, height: 40 };
  expect(fit({ x: -400, y: 0, width: 800, height: 200 }, size, process)).toMatchObject({ scale: 1, x: 500 });
  const tall = { x: 0, y: 0, width: 800, height: 20_000 };
  const view = fit(tall, size, process);
  expect(view.scale).toBe(0.72);
  expect(view.y + 1020 * view.scale).toBeCloseTo(314);
  expect(fit(tall, size, process, true).scale).toBeCloseTo(0.0254);
});

test("moves only as far as needed to show a box", () => {
  const view = { x: 0, y: 0, scale: 1 };
  expect(reveal(view, { x: 100, y: 100, width: 100, height: 40 }, size)).toBe(view);
  expect(reveal(view, { x: 950, y: 100, width: 100, height: 40 }, size)).toEqual({ x: -82, y: 0, scale: 1 });
  expect(reveal(view, { x: 100, y: -500, width: 100, height: 40 }, size).y).toBe(544);
});

test("returns the visible part of the graph", () => {
  const seen = visibleBox({ x: -1000, y: 0, scale: 2 }, size);
  expect(overlaps(seen, { x: 600, y: 100, width: 10, height: 10 })).toBe(true);
  expect(overlaps(seen, { x: 100, y: 100, width: 10, height: 10 })).toBe(false);
});
