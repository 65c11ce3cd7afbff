import { expect, test } from "vitest";
import { channel, snapshotOf, socket, subchannel } from "../object-model/snapshot.test.helper.js";
import { filterGraph, statesOf } from "./filter.js";
import { buildGraph } from "./graph.js";

const graph = buildGraph({
  snapshot: snapshotOf([
    channel(1, { name: "clock", children: ["subchannel 2"] }),
    subchannel(2, { children: ["socket 3"] }),
    socket(3, 50_000, 8080),
    channel(4, { name: "notes", state: "TRANSIENT_FAILURE", children: ["subchannel 5"] }),
    subchannel(5, { state: "SHUTDOWN" }),
  ]),
  ratesOf: () => undefined,
  processTitle: () => "gateway",
});
const shown = (text: string, state = "") => [...filterGraph(graph, { text, state }).nodes.keys()];

test("keeps the matches of a search, everything below them, and the path to their process", () => {
  expect(shown("clock")).toEqual(["process|", "|channel|1", "|subchannel|2", "|socket|3", "address|127.0.0.1:8080"]);
  expect(shown("SOCKET 3")).toEqual(["process|", "|channel|1", "|subchannel|2", "|socket|3", "address|127.0.0.1:8080"]);
  expect(shown(":8080 socket")).toContain("|socket|3");
  expect(shown("nothing like this")).toEqual([]);
});

test("keeps the objects in a state and the path to their process, and reports which of them match", () => {
  expect(shown("", "shutdown")).toEqual(["process|", "|channel|4", "|subchannel|5"]);
  expect(filterGraph(graph, { text: "", state: "shutdown" }).matches).toEqual(new Set(["|subchannel|5"]));
  expect(shown("", "problem")).toEqual(["process|", "|channel|4"]);
});

test("leaves the graph as it is without a filter", () => {
  expect(filterGraph(graph, { text: " ", state: "" })).toMatchObject({ matches: undefined, nodes: graph.nodes });
});

test("counts the objects of each state, problems first", () => {
  expect(statesOf(graph)).toEqual([
    { state: "problem", count: 1 },
    { state: "idle", count: 1 },
    { state: "ready", count: 2 },
    { state: "shutdown", count: 1 },
    { state: "transient failure", count: 1 },
  ]);
});
