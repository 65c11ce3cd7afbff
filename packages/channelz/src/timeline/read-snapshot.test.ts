import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { channel, peerWith, socketRefs, subchannel } from "../client/fixed-peer.test.helper.js";
import { mergeSources } from "../client/merge-sources.js";
import { ChannelzError } from "../errors.js";
import { GetSocketResponseSchema, GetTopChannelsResponseSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Source } from "../source.js";
import { decodeSnapshot, encodeSnapshot } from "./encode-snapshot.js";
import { readSnapshot, readSnapshotOfAll } from "./read-snapshot.js";

const world = {
  top: [channel(1, { subchannelRef: [{ subchannelId: 2n, name: "sub" }], data: { target: "dns:///a" } })],
  subchannels: [subchannel(2, { socketRef: socketRefs(3) })],
  servers: [{ id: 4n, listen: [5n], sockets: [6n, 7n] }],
};

const never = (): Promise<never> => new Promise(() => {});

describe("readSnapshot", () => {
  test("[CZ-D-HISTORY-3] reads every object with its links, ordered by kind and id", async () => {
    const snapshot = await readSnapshot(peerWith(world), { target: "127.0.0.1:1" });
    expect([...snapshot.objects.keys()]).toEqual([
      "|channel|1",
      "|subchannel|2",
      "|server|4",
      "|socket|3",
      "|socket|5",
      "|socket|6",
      "|socket|7",
    ]);
    expect(snapshot.objects.get("|channel|1")).toMatchObject({
      isTop: true,
      name: "channel 1",
      target: "dns:///a",
      state: "UNKNOWN",
      children: ["|subchannel|2"],
    });
    expect(snapshot.objects.get("|server|4")?.children).toEqual(["|socket|5", "|socket|6", "|socket|7"]);
    expect(snapshot).toMatchObject({ isComplete: true, origins: [{ name: "", target: "127.0.0.1:1" }] });
  });

  test("keeps what an error is about, also in a recording", async () => {
    const fail = async (): Promise<never> => {
      throw new ChannelzError("PEER_UNAVAILABLE", {
        subject: "10.0.0.2:1",
        problem: "cannot be reached.",
        advice: "Start it.",
      });
    };
    const snapshot = await readSnapshotOfAll([
      { origin: "east", target: "10.0.0.1:1", source: peerWith(world) },
      { origin: "west", target: "10.0.0.2:1", source: { ...peerWith({}), getTopChannels: fail, getServers: fail } },
    ]);
    const origins = [
      { name: "east", target: "10.0.0.1:1" },
      {
        name: "west",
        target: "10.0.0.2:1",
        error: "10.0.0.2:1 cannot be reached. Start it.",
        errorSubject: "10.0.0.2:1",
      },
    ];
    expect(snapshot.origins).toStrictEqual(origins);
    expect(decodeSnapshot(encodeSnapshot(snapshot)).origins).toStrictEqual(origins);
  });

  test("[CZ-D-CLI-3] reads several processes as one snapshot, with the error of those that do not respond", async () => {
    const fail = async (): Promise<never> => {
      throw new ChannelzError("PEER_UNAVAILABLE", "The connection was refused.");
    };
    const parts = [
      { origin: "east", target: "10.0.0.1:1", source: peerWith(world) },
      { origin: "west", target: "10.0.0.2:1", source: { ...peerWith({}), getTopChannels: fail, getServers: fail } },
      { origin: "north", target: "10.0.0.3:1", source: peerWith(world) },
    ];
    const snapshot = await readSnapshotOfAll(parts);
    expect(snapshot.origins).toEqual([
      { name: "east", target: "10.0.0.1:1" },
      { name: "west", target: "10.0.0.2:1", error: "The connection was refused." },
      { name: "north", target: "10.0.0.3:1" },
    ]);
    expect(snapshot.objects.get("east|subchannel|2")?.children).toEqual(["east|socket|3"]);

    const merged = mergeSources(parts);
    const ofMerged = await readSnapshot(merged);
    expect(ofMerged.objects.size).toBe(snapshot.objects.size);
    const id = merged.ids.encode("north", 2n) ?? 0n;
    expect(ofMerged.objects.get(`north|subchannel|${id}`)?.children).toEqual([
      `north|socket|${merged.ids.encode("north", 3n)}`,
    ]);
    await expect(readSnapshotOfAll(parts.slice(1, 2))).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
  });

  test("[CZ-D-HISTORY-4] shows an object that the peer fails to read with its name and the reason", async () => {
    const getSubchannel = async (): Promise<never> => {
      throw new ChannelzError("PEER_FAILED", "It is broken.");
    };
    const snapshot = await readSnapshot({ ...peerWith(world), getSubchannel });
    expect(snapshot.objects.get("|subchannel|2")).toMatchObject({ name: "sub", unreadable: "It is broken." });
    expect(snapshot.objects.has("|socket|6")).toBe(true);
  });

  test("rejects with the failure of the source if nothing was read", async () => {
    const fail = async (): Promise<never> => {
      throw new ChannelzError("PEER_UNAVAILABLE", "The connection was refused.");
    };
    const source = { ...peerWith({}), getTopChannels: fail, getServers: fail };
    await expect(readSnapshot(source)).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
  });
});

describe("a hostile source", () => {
  test("[CZ-D-HISTORY-5] ends in time and keeps what was read if a read never ends and its source ignores the signal", async () => {
    const snapshot = await readSnapshot({ ...peerWith(world), getSocket: never }, { timeoutMs: 50 });
    expect(snapshot.isComplete).toBe(false);
    expect(snapshot.stoppedBy).toMatch(/in time/);
    expect(snapshot.objects.has("|subchannel|2")).toBe(true);
  });

  test("[CZ-D-HISTORY-5] stops at the maximum number of objects if the pages never end", async () => {
    let next = 0;
    const getTopChannels: Source["getTopChannels"] = async () => {
      next += 50;
      return create(GetTopChannelsResponseSchema, {
        channel: Array.from({ length: 50 }, (_, index) => channel(next + index)),
      });
    };
    const snapshot = await readSnapshot({ ...peerWith({}), getTopChannels }, { maxObjects: 200 });
    expect(snapshot.objects.size).toBe(200);
    expect(snapshot.stoppedBy).toMatch(/more than 200/);
  });

  test("[CZ-D-HISTORY-5] stops at the maximum number of bytes", async () => {
    const getSocket: Source["getSocket"] = async (id) =>
      create(GetSocketResponseSchema, { socket: { ref: { socketId: BigInt(id), name: "x".repeat(10_000) } } });
    const snapshot = await readSnapshot(
      { ...peerWith(world), getSocket },
      { maxSnapshotBytes: 25_000, concurrency: 1 },
    );
    expect([...snapshot.objects.values()].filter(({ kind }) => kind === "socket")).toHaveLength(2);
    expect(snapshot.stoppedBy).toMatch(/25000 bytes/);
  });

  test("keeps no text of an object that is too large", async () => {
    const getSocket: Source["getSocket"] = async (id) =>
      create(GetSocketResponseSchema, { socket: { ref: { socketId: BigInt(id), name: "x".repeat(100_000) } } });
    const snapshot = await readSnapshot({ ...peerWith(world), getSocket }, { maxObjectBytes: 50_000 });
    expect(snapshot.objects.get("|socket|6")).toMatchObject({ name: "", unreadable: expect.stringMatching(/50000/) });
    expect(snapshot.isComplete).toBe(true);
  });

  test("ends if channels refer to each other in a circle", async () => {
    const ring = [1, 2, 3].map((n) => channel(n, { channelRef: [{ channelId: BigInt((n % 3) + 1) }] }));
    const snapshot = await readSnapshot(peerWith({ top: [ring[0] ?? {}], channels: ring }));
    expect(snapshot.objects.size).toBe(3);
  });

  test("lets other tasks run during the read of a source in this process", async () => {
    const subchannels = Array.from({ length: 1000 }, (_, index) => subchannel(index + 1));
    const top = [channel(1, { subchannelRef: subchannels.map(({ ref }) => ref ?? {}) })];
    let turns = 0;
    const timer = setInterval(() => (turns += 1));
    await readSnapshot(peerWith({ top, subchannels }));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});
