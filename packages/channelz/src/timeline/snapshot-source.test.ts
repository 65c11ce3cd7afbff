import { expect, test } from "vitest";
import { channel, peerWith, subchannel } from "../client/fixed-peer.test.helper.js";
import { readTree } from "../client/read-tree.js";
import { ChannelzError } from "../errors.js";
import { createRegistry } from "../registry/registry.js";
import { fillRegistry, testSourceContract } from "../source-contract.test.helper.js";
import { readSnapshot } from "./read-snapshot.js";
import type { Snapshot } from "./snapshot.js";
import { snapshotSource } from "./snapshot-source.js";

const handles: unknown[] = [];

testSourceContract("A snapshot", 1, async () => {
  const registry = createRegistry();
  handles.push(fillRegistry(registry));
  return snapshotSource(await readSnapshot(registry));
});

test("[CZ-D-HISTORY-11] shows the same tree as the process did at that time", async () => {
  const registry = createRegistry();
  handles.push(fillRegistry(registry));
  const tree = await readTree(registry);
  const snapshot = await readSnapshot(registry);
  handles.push(registry.addChannel({ target: "dns:///later.example" }));
  expect(await readTree(snapshotSource(snapshot))).toEqual(tree);
});

test("rejects the read of an object that could not be read, with the reason", async () => {
  const getSubchannel = async (): Promise<never> => {
    throw new ChannelzError("PEER_FAILED", "It is broken.");
  };
  const world = { top: [channel(1, { subchannelRef: [{ subchannelId: 2n }] })], subchannels: [subchannel(2)] };
  const source = snapshotSource(await readSnapshot({ ...peerWith(world), getSubchannel }));
  await expect(source.getSubchannel(2)).rejects.toMatchObject({ code: "PEER_FAILED", message: "It is broken." });
});

test("follows a function that returns another snapshot, and has no objects while it returns none", async () => {
  let current: Snapshot | undefined;
  const source = snapshotSource(() => current);
  expect(await source.getTopChannels()).toMatchObject({ channel: [], end: true });
  current = await readSnapshot(peerWith({ top: [channel(1)] }));
  expect((await source.getTopChannels()).channel).toHaveLength(1);
});
