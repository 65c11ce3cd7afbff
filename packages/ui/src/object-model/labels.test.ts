import { noCounters } from "@wirescope/channelz/timeline";
import { expect, test } from "vitest";
import { countOf, formatRate, objectState, objectTitle, shortTitle, trafficOf } from "./labels.js";
import { findObject, parseObjectPath, pathOfKey } from "./object-path.js";
import { channel, snapshotOf, socket, subchannel } from "./snapshot.test.helper.js";

test("titles an object by its name, its target, its address, or else its kind and id", () => {
  expect(objectTitle(channel(1, { name: "clock", target: "dns:///clock" }))).toBe("clock");
  expect(objectTitle(channel(1, { target: "dns:///clock" }))).toBe("dns:///clock");
  expect(objectTitle(subchannel(2))).toBe("subchannel 2");
  expect(objectTitle(socket(3, 50_000, 4690), "client")).toBe("127.0.0.1:50000");
  expect(objectTitle(socket(3, 4690, 50_000), "server")).toBe("127.0.0.1:50000");
  expect(objectTitle(socket(3, 0, 0, { name: "listener" }), "listen")).toBe("listener");
  expect(objectTitle(socket(3, 0, 0))).toBe("socket 3");
});

test("shortens addresses and commands for narrow places", () => {
  expect(shortTitle("http://127.0.0.1:80/mcp")).toBe("127.0.0.1:80/mcp");
  expect(shortTitle("dns:///orders.internal:443")).toBe("orders.internal:443");
  expect(shortTitle("stdio:/usr/bin/node /srv/tools/clock.mjs")).toBe("clock.mjs");
  expect(shortTitle("clock")).toBe("clock");
});

test("derives the state of a socket from its role, its traffic and its failures", () => {
  const open = socket(3, 1, 2);
  expect(objectState(open)).toEqual({ tone: "idle", word: "idle", isProblem: false });
  expect(objectState(open, { ...noCounters, messagesSent: 1 }).word).toBe("active");
  expect(objectState(open, { ...noCounters, failed: 0.2 })).toMatchObject({ word: "failing", isProblem: true });
  expect(objectState(open, undefined, "listen").word).toBe("listening");
  expect(objectState(socket(3, 1, 2, { unreadable: "no" }), undefined, "listen").word).toBe("unreadable");
  // A channel whose calls fail is still connected: its state is what Channelz says.
  expect(objectState(channel(1), { ...noCounters, failed: 3 })).toMatchObject({ word: "ready", isProblem: false });
});

test("counts streams of a socket whose peer counts no messages", () => {
  expect(trafficOf(socket(3, 1, 2), { ...noCounters, started: 4 })).toBe(4);
  expect(trafficOf(channel(3), { ...noCounters, started: 4, messagesSent: 9 })).toBe(4);
});

test("formats rates with a sensible number of digits, and counts with their noun", () => {
  expect([0, 0.04, 0.5, 12.34, 1234.5, 56_789].map(formatRate)).toEqual(["0", "<0.1", "0.5", "12", "1,235", "56.8K"]);
  expect(countOf(1, "call")).toBe("1 call");
  expect(countOf(1204, "call")).toBe("1,204 calls");
});

test("finds the object at an address in any process, and rejects an invalid address", () => {
  const snapshot = snapshotOf(
    [channel(12, { origin: "b" })],
    [
      { name: "a", target: "" },
      { name: "b", target: "" },
    ],
  );
  expect(findObject(snapshot, "channel", 12n)?.key).toBe("b|channel|12");
  expect(pathOfKey("b|c|channel|12")).toBe("/object/channel/12");
  expect(parseObjectPath("channel", "12")).toEqual({ kind: "channel", id: 12n });
  for (const [kind, id] of [
    ["channel", "0"],
    ["channel", "-1"],
    ["channel", "x"],
    ["channel", "9".repeat(20)],
    ["thing", "1"],
    [undefined, undefined],
  ]) {
    expect(parseObjectPath(kind, id)).toBeUndefined();
  }
});
