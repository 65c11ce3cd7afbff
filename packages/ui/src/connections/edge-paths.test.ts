import { expect, test } from "vitest";
import { edgePaths, edgeStyle, edgeWidth } from "./edge-paths.js";

const edge = (traffic: number, isFailing = false) => ({ parent: "a", child: "b", traffic, isFailing });
const span = { x1: 0, y1: 0, x2: 100, y2: 40 };

test("draws more traffic wider, up to a limit, and the least traffic wider than none", () => {
  const widths = [0, 0.01, 1, 10, 100, 1e9].map(edgeWidth);
  expect(widths).toEqual([...widths].sort((a, b) => a - b));
  expect(widths[0]).toBeLessThan(widths[1]!);
  expect(widths.at(-1)).toBe(10);
});

test("draws a failing line as failing whether or not it has traffic", () => {
  expect([edge(0), edge(3), edge(3, true), edge(0, true)].map(edgeStyle)).toEqual([
    "idle",
    "active",
    "failing",
    "failing",
  ]);
});

test("draws lines that look the same as one path, and failing ones last", () => {
  const paths = edgePaths([
    [edge(0, true), span],
    [edge(0), span],
    [edge(0), span],
    [edge(50), span],
  ]);
  expect(paths.map(({ style }) => style)).toEqual(["active", "idle", "failing"]);
  expect(paths[1]?.d.match(/M/g)).toHaveLength(2);
  // Two pieces and a cross.
  expect(paths[2]?.d.match(/M/g)).toHaveLength(4);
});
