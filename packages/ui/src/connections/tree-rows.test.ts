import { expect, test } from "vitest";
import { channel, server, snapshotOf, socket, subchannel } from "../object-model/snapshot.test.helper.js";
import { foldGraph } from "./fold.js";
import { buildGraph } from "./graph.js";
import { treeMove, treeRows } from "./tree-rows.js";

const snapshot = snapshotOf([
  server(1, { name: "gateway", children: ["socket 2"] }),
  socket(2, 4690, 0),
  channel(3, { name: "clock", children: ["subchannel 4"] }),
  subchannel(4),
  channel(5, { name: "notes" }),
]);
const folded = foldGraph(buildGraph({ snapshot, ratesOf: () => undefined, processTitle: () => "process" }), {
  open: new Set(),
});
const text = (collapsed: ReadonlySet<string> = new Set()) =>
  treeRows(folded, collapsed).map(({ node, level, position, siblings, isExpanded }) =>
    [level, `${position}/${siblings}`, node.title, isExpanded ?? "leaf"].join(" "),
  );

test("lists everything below its process, with level and position", () => {
  expect(text()).toEqual([
    "1 1/1 process true",
    "2 1/3 gateway true",
    "3 1/1 127.0.0.1:4690 leaf",
    "2 2/3 clock true",
    "3 1/1 subchannel 4 leaf",
    "2 3/3 notes leaf",
  ]);
  expect(text(new Set(["|channel|3"]))).toEqual(expect.arrayContaining(["2 2/3 clock false"]));
  expect(text(new Set(["process|"]))).toEqual(["1 1/1 process false"]);
});

test("moves, expands and collapses by the usual keys of a tree", () => {
  const rows = treeRows(folded, new Set());
  expect(treeMove(rows, 0, "ArrowDown")).toEqual({ kind: "focus", index: 1 });
  expect(treeMove(rows, 0, "ArrowUp")).toBeUndefined();
  expect(treeMove(rows, 0, "End")).toEqual({ kind: "focus", index: 5 });
  expect(treeMove(rows, 3, "ArrowRight")).toEqual({ kind: "focus", index: 4 });
  expect(treeMove(rows, 4, "ArrowLeft")).toEqual({ kind: "focus", index: 3 });
  expect(treeMove(rows, 3, "ArrowLeft")).toEqual({ kind: "toggle", index: 3 });
  expect(treeMove(rows, 4, "ArrowRight")).toBeUndefined();
  expect(treeMove(rows, 5, "Enter")).toEqual({ kind: "open", index: 5 });
  expect(treeMove(rows, 0, "n")).toEqual({ kind: "focus", index: 5 });
  expect(treeMove(rows, 0, "x")).toBeUndefined();
});
