import { expect, test } from "vitest";
import { channel, server, snapshotOf, socket, subchannel } from "../object-model/snapshot.test.helper.js";
import { foldGraph } from "./fold.js";
import { buildGraph } from "./graph.js";
import { arrange } from "./layout.js";
import { edgesThrough, neighbourOf } from "./neighbours.js";

const snapshot = snapshotOf([
  server(1, { children: ["socket 2"] }),
  socket(2, 4690, 0),
  channel(3, { children: ["subchannel 5"] }),
  channel(4, { children: ["subchannel 6"] }),
  subchannel(5),
  subchannel(6),
]);
const { nodes, edges } = foldGraph(buildGraph({ snapshot, ratesOf: () => undefined, processTitle: () => "" }), {
  open: new Set(),
});
const layout = arrange(nodes.values());
const move = (id: string, direction: Parameters<typeof neighbourOf>[1]) =>
  neighbourOf(id, direction, nodes, edges, layout);

test("moves along the edges to both sides, and up and down within a column", () => {
  expect(move("process|", "left")).toBe("|server|1");
  expect(move("|server|1", "left")).toBe("|socket|2");
  expect(move("|socket|2", "right")).toBe("|server|1");
  expect(move("|channel|3", "right")).toBe("|subchannel|5");
  expect(move("|channel|3", "down")).toBe("|channel|4");
  expect(move("|channel|4", "up")).toBe("|channel|3");
  expect(move("|channel|3", "up")).toBeUndefined();
  expect(move("gone", "up")).toBeUndefined();
});

test("finds the edges from a node to its process and to everything below it, and no others", () => {
  const ways = edgesThrough("|channel|3", edges).map(({ parent, child }) => `${parent} > ${child}`);
  expect(ways.sort()).toEqual(["process| > |channel|3", "|channel|3 > |subchannel|5"]);
});
