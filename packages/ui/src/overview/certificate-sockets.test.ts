import { expect, test } from "vitest";
import { channel, server, snapshotOf, socket } from "../object-model/snapshot.test.helper.js";
import { certificateSockets } from "./certificate-sockets.js";

test("[TS-D-PAGE-13] reads the certificates of one socket for each address, of at most 32, and of no listener", () => {
  const same = [1, 2, 3].map((id) => socket(id, 50_000 + id, 443));
  const own = channel(9, { children: ["socket 1", "socket 2", "socket 3"] });
  expect(certificateSockets(snapshotOf([own, ...same]))).toHaveLength(1);
  const many = Array.from({ length: 100 }, (_, index) => socket(100 + index, 50_000, 1000 + index));
  const all = channel(9, { children: many.map(({ id }) => `socket ${id}`) });
  expect(certificateSockets(snapshotOf([all, ...many]))).toHaveLength(32);
  const listening = server(5, { children: ["socket 1"] });
  expect(certificateSockets(snapshotOf([listening, ...same]))).toEqual([]);
});
