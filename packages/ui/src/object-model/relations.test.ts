import { expect, test } from "vitest";
import { childrenOf, listenerAt, otherEndOf, parentsOf } from "./relations.js";
import { channel, server, snapshotOf, socket, subchannel } from "./snapshot.test.helper.js";

const snapshot = snapshotOf([
  channel(1, { children: ["subchannel 2", "subchannel 99"] }),
  subchannel(2, { children: ["socket 3"] }),
  socket(3, 50_000, 4690),
  server(4, { children: ["socket 5", "socket 6"] }),
  socket(5, 4690, 0),
  socket(6, 4690, 50_000),
]);
const get = (key: string) => snapshot.objects.get(key)!;

test("finds the parents of an object, and the children that still exist", () => {
  expect(parentsOf(snapshot, "|socket|3").map(({ key }) => key)).toEqual(["|subchannel|2"]);
  expect(childrenOf(snapshot, get("|channel|1")).map(({ key }) => key)).toEqual(["|subchannel|2"]);
});

test("finds the other end of a connection by its addresses", () => {
  expect(otherEndOf(snapshot, get("|socket|3"))?.key).toBe("|socket|6");
  expect(otherEndOf(snapshot, get("|socket|6"))?.key).toBe("|socket|3");
  expect(otherEndOf(snapshot, get("|socket|5"))).toBeUndefined();
  expect(otherEndOf(snapshot, get("|channel|1"))).toBeUndefined();
});

test("finds the socket that listens on an address", () => {
  expect(listenerAt(snapshot, "127.0.0.1:4690")?.key).toBe("|socket|5");
  expect(listenerAt(snapshot, "127.0.0.1:1")).toBeUndefined();
});
