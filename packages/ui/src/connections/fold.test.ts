import type { SnapshotObject } from "@wirescope/channelz/timeline";
import { expect, test } from "vitest";
import { channel, server, snapshotOf, socket, subchannel } from "../object-model/snapshot.test.helper.js";
import { type FoldedGraph, type FoldOptions, foldGraph } from "./fold.js";
import { buildGraph } from "./graph.js";

function fold(objects: Iterable<SnapshotObject>, options: Partial<FoldOptions> = {}): FoldedGraph {
  const graph = buildGraph({ snapshot: snapshotOf(objects), ratesOf: () => undefined, processTitle: () => "process" });
  return foldGraph(graph, { open: new Set(), ...options });
}

const titles = ({ nodes }: FoldedGraph) =>
  [...nodes.values()].map(({ title, state }) => `${title} ${state.word}`.trim());

function manyChannels(count: number, more: readonly SnapshotObject[] = []): SnapshotObject[] {
  return [...Array.from({ length: count }, (_, index) => channel(index + 100, { name: `c${index}` })), ...more];
}

test("shows 40 siblings, and folds 41 of the same state into one group with their number", () => {
  expect(fold(manyChannels(40)).nodes.size).toBe(41);
  expect(titles(fold(manyChannels(41)))).toEqual(["process", "41 channels ready"]);
});

test("keeps siblings of another state out of the group", () => {
  const folded = fold(
    manyChannels(50, [
      channel(1, { name: "slow", state: "CONNECTING" }),
      channel(2, { name: "down", state: "TRANSIENT_FAILURE" }),
    ]),
  );
  expect(titles(folded).sort()).toEqual(["50 channels ready", "down transient failure", "process", "slow connecting"]);
});

test("never hides a problem below a healthy sibling in a group", () => {
  const troubled = channel(1, { name: "troubled", children: ["subchannel 2"] });
  const folded = fold(manyChannels(50, [troubled, subchannel(2, { name: "down", state: "TRANSIENT_FAILURE" })]));
  expect(titles(folded)).toEqual(
    expect.arrayContaining(["50 channels ready", "troubled ready", "down transient failure"]),
  );
});

test("folds many problems into a group that is marked as one", () => {
  const failing = Array.from({ length: 60 }, (_, index) => channel(index + 1, { state: "TRANSIENT_FAILURE" }));
  const [, group] = [...fold(failing).nodes.values()];
  expect(group).toMatchObject({
    title: "60 channels",
    state: { word: "transient failure", isProblem: true, tone: "failing" },
  });
});

test("hides nodes that only one member of a group refers to, and shows nodes that several refer to below the group", () => {
  const ids = Array.from({ length: 50 }, (_, index) => index + 10);
  const objects = [
    channel(1, { children: ids.map((id) => `socket ${id}`) }),
    // All but one connect to the same address.
    ...ids.map((id) => socket(id, 40_000 + id, id === 10 ? 9999 : 443)),
  ];
  const folded = fold(objects);
  expect(titles(folded)).toEqual(["process", "channel 1 ready", "50 sockets open", "127.0.0.1:443"]);
  const group = [...folded.groups][0]!;
  expect(folded.edges).toContainEqual({ parent: group, child: "address|127.0.0.1:443", traffic: 0, isFailing: false });
  expect(folded.edges).toHaveLength(3);
  expect(folded.groupOf.get("|socket|10")).toBe(group);
  expect(folded.groupOf.get("address|127.0.0.1:9999")).toBe(group);
});

test("hides the shared nodes of a group if they are many", () => {
  const ids = Array.from({ length: 60 }, (_, index) => index + 10);
  const objects = [
    channel(1, { children: ids.map((id) => `socket ${id}`) }),
    // Two sockets for each of 30 addresses.
    ...ids.map((id) => socket(id, 40_000 + id, 1000 + (id % 30))),
  ];
  expect(titles(fold(objects))).toEqual(["process", "channel 1 ready", "60 sockets open"]);
});

test("shows the members below a group that is open", () => {
  const closed = fold(manyChannels(41));
  const open = fold(manyChannels(41), { open: closed.groups });
  expect(open.nodes.size).toBe(43);
  expect(open.edges).toHaveLength(41);
});

test("keeps a group until it is clearly too small, so that a single connection does not toggle it", () => {
  const previous = fold(manyChannels(41)).groups;
  expect(fold(manyChannels(31), { previous }).nodes.size).toBe(2);
  expect(fold(manyChannels(30), { previous }).nodes.size).toBe(31);
});

test("calls accepted connections clients", () => {
  const ids = Array.from({ length: 45 }, (_, index) => index + 10);
  const objects = [
    server(1, { children: ["socket 2", ...ids.map((id) => `socket ${id}`)] }),
    socket(2, 4690, 0),
    ...ids.map((id) => socket(id, 4690, 50_000 + id)),
  ];
  expect(titles(fold(objects))).toContain("45 clients open");
});
