import { noCounters, type SnapshotObject } from "@wirescope/channelz/timeline";
import { expect, test } from "vitest";
import { channel, server, snapshotOf, socket, subchannel } from "../object-model/snapshot.test.helper.js";
import { buildGraph, type Graph, type GraphInput } from "./graph.js";

function graphOf(objects: Iterable<SnapshotObject>, more: Partial<GraphInput> = {}): Graph {
  return buildGraph({
    snapshot: snapshotOf(objects),
    ratesOf: () => undefined,
    processTitle: () => "gateway",
    ...more,
  });
}

const columns = (graph: Graph) => Object.fromEntries([...graph.nodes.values()].map(({ id, column }) => [id, column]));
const lines = (graph: Graph) => graph.edges.map(({ parent, child }) => `${parent} > ${child}`);

const gateway = [
  server(1, { name: "wirescope", children: ["socket 2", "socket 3"] }),
  socket(2, 4690, 0),
  socket(3, 4690, 50_000),
  channel(4, { name: "clock", children: ["subchannel 5"] }),
  subchannel(5, { children: ["socket 6"] }),
  socket(6, 50_001, 8080),
];

test("puts clients and listeners left of the process, and channels down to remote addresses right of it", () => {
  const graph = graphOf(gateway);
  expect(columns(graph)).toEqual({
    "process|": 0,
    "|server|1": -1,
    "|socket|2": -2,
    "|socket|3": -3,
    "|channel|4": 1,
    "|subchannel|5": 2,
    "|socket|6": 3,
    "address|127.0.0.1:8080": 4,
  });
  expect(lines(graph)).toEqual([
    "process| > |server|1",
    "|server|1 > |socket|2",
    "|socket|2 > |socket|3",
    "process| > |channel|4",
    "|channel|4 > |subchannel|5",
    "|subchannel|5 > |socket|6",
    "|socket|6 > address|127.0.0.1:8080",
  ]);
  expect([...graph.nodes.values()].map(({ title }) => title)).toEqual([
    "gateway",
    "wirescope",
    "127.0.0.1:4690",
    "127.0.0.1:50000",
    "clock",
    "subchannel 5",
    "127.0.0.1:50001",
    "127.0.0.1:8080",
  ]);
});

test("omits the column of subchannels if there are none, and keeps it when the last one has closed", () => {
  const direct = [channel(4, { children: ["socket 6"] }), socket(6, 50_001, 8080)];
  expect(columns(graphOf(direct))["|socket|6"]).toBe(2);
  const previous = graphOf(gateway);
  expect(columns(graphOf(direct, { previous }))["|socket|6"]).toBe(3);
});

test("reuses the unchanged nodes of the previous graph, and only those", () => {
  const before = graphOf(gateway);
  const started = { ...noCounters, started: 1 };
  const after = graphOf(gateway, {
    previous: before,
    ratesOf: (key) => (key === "|channel|4" ? started : undefined),
  });
  const changed = [...after.nodes.values()].filter((node) => before.nodes.get(node.id) !== node && node.object);
  expect(changed.map(({ id, traffic }) => [id, traffic])).toEqual([["|channel|4", 1]]);
});

test("gives nested channels their own columns, before all subchannels", () => {
  const graph = graphOf([
    channel(1, { children: ["channel 2", "subchannel 3"] }),
    channel(2, { isTop: false, children: ["subchannel 4"] }),
    subchannel(3),
    subchannel(4),
  ]);
  expect(columns(graph)).toMatchObject({ "|channel|1": 1, "|channel|2": 2, "|subchannel|3": 3, "|subchannel|4": 3 });
});

test("shows an object with two parents once, with a line from each", () => {
  const shared = [
    channel(1, { children: ["subchannel 3"] }),
    channel(2, { children: ["subchannel 3"] }),
    subchannel(3),
  ];
  const graph = graphOf(shared);
  expect(graph.nodes.size).toBe(4);
  expect(lines(graph)).toEqual(expect.arrayContaining(["|channel|1 > |subchannel|3", "|channel|2 > |subchannel|3"]));
});

test("terminates if references form a cycle, and shows objects that nothing refers to", () => {
  const graph = graphOf([
    channel(1, { children: ["channel 2"] }),
    channel(2, { isTop: false, children: ["channel 1"] }),
    subchannel(9),
    socket(10, 1, 2),
  ]);
  expect(graph.nodes.get("|subchannel|9")?.parent).toBe("process|");
  expect(graph.nodes.get("|socket|10")?.parent).toBe("process|");
});

test("attaches an accepted connection to the listener on its address, its port, or else to the server", () => {
  const sockets = ["socket 2", "socket 3", "socket 4", "socket 5"];
  const graph = graphOf([
    server(1, { listening: 2, children: sockets }),
    socket(2, 1000, 0),
    socket(3, 2000, 0),
    socket(4, 2000, 50_000),
    socket(5, 3000, 50_001),
  ]);
  expect(graph.nodes.get("|socket|4")?.parent).toBe("|socket|3");
  expect(graph.nodes.get("|socket|5")?.parent).toBe("|server|1");
});

test("marks failing channels, unreadable objects and processes that do not respond as problems", () => {
  const snapshot = snapshotOf(
    [
      channel(1, { origin: "a", state: "TRANSIENT_FAILURE" }),
      subchannel(2, { origin: "a", unreadable: "It is broken." }),
    ],
    [
      { name: "a", target: "127.0.0.1:1" },
      { name: "b", target: "127.0.0.1:2", error: "The connection was refused." },
    ],
  );
  const graph = buildGraph({ snapshot, ratesOf: () => undefined, processTitle: (origin) => origin });
  const problems = [...graph.nodes.values()].filter(({ state }) => state.isProblem);
  expect(problems.map(({ id, state }) => [id, state.word])).toEqual([
    ["a|channel|1", "transient failure"],
    ["a|subchannel|2", "unreadable"],
    ["process|b", "The connection was refused."],
  ]);
});

test("counts the traffic of a line in calls, and in messages at a socket and its address", () => {
  const ratesOf = (key: string) => ({
    ...noCounters,
    started: 2,
    messagesSent: key === "|socket|6" ? 30 : 0,
    messagesReceived: 5,
  });
  const graph = graphOf(gateway, { ratesOf });
  const traffic = Object.fromEntries(graph.edges.map(({ child, traffic }) => [child, traffic]));
  expect(traffic).toMatchObject({ "|channel|4": 2, "|socket|6": 35, "address|127.0.0.1:8080": 35 });
});

test("escapes control characters in names, and truncates very long names", () => {
  const graph = graphOf([channel(1, { name: `<b>\u202e\u0007${"x".repeat(10_000)}` })]);
  const title = graph.nodes.get("|channel|1")?.title ?? "";
  expect(title).toMatch(/^<b>\\u202e\\x07xxx/);
  expect(title.length).toBeLessThanOrEqual(120);
});
