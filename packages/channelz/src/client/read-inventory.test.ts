import { expect, test } from "vitest";
import type { Source } from "../source.js";
import { peerWith } from "./fixed-peer.test.helper.js";
import { readInventory } from "./read-inventory.js";

test.each([
  [undefined, [true]],
  ["summary", [true]],
  ["details", [false]],
  ["refs", []],
] as const)("[CZ-D-SUMMARY-1] reads sockets as requested: %s", async (sockets, summaries) => {
  const peer = peerWith({ servers: [{ id: 1n, sockets: [2n] }] });
  const read: unknown[] = [];
  const recording: Source = {
    ...peer,
    getSocket: (id, options) => {
      read.push(options?.summary);
      return peer.getSocket(id, options);
    },
  };
  const inventory = await readInventory(recording, { sockets });
  expect(read).toEqual(summaries);
  expect([...inventory.sockets.keys()]).toEqual([2n]);
});
