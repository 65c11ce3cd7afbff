import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { channel, peerWith, subchannel } from "../client/fixed-peer.test.helper.js";
import { readTree } from "../client/read-tree.js";
import { correctSource } from "../corrected/correct-source.js";
import { correctionsOf } from "../correction-marks.js";
import { ChannelzError } from "../errors.js";
import { SnapshotSchema } from "../gen/wirescope/v1/timeline_pb.js";
import { createRegistry } from "../registry/registry.js";
import { fillRegistry, testSourceContract } from "../source-contract.test.helper.js";
import { decodeSnapshot, encodeSnapshot } from "./encode-snapshot.js";
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

test("[CZ-D-CORRECT-8] marks what was corrected in an object when its snapshot was read, also after it was sent or stored", async () => {
  const data = { lastCallStartedTimestamp: { seconds: 0n } };
  const snapshot = await readSnapshot(correctSource(peerWith({ top: [channel(1, { data }), channel(2)] })));
  const decoded = decodeSnapshot(fromBinary(SnapshotSchema, toBinary(SnapshotSchema, encodeSnapshot(snapshot))));
  const source = snapshotSource(decoded);
  const expected = [{ id: "unset-times", detail: "last_call_started_timestamp was 1970-01-01T00:00:00.000Z" }];
  for (let read = 0; read < 2; read += 1) {
    const { channel: list } = await source.getTopChannels();
    expect(list.map(correctionsOf)).toEqual([expected, []]);
    const { channel: one } = await source.getChannel(1);
    expect(correctionsOf(one ?? {})).toEqual(expected);
  }
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
