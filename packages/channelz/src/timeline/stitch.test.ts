import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ChannelSchema, SocketSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { createRegistry, type SocketAddress } from "../registry/index.js";
import { readSnapshot, readSnapshotOfAll } from "./read-snapshot.js";
import { createObject, createSnapshot, type Snapshot } from "./snapshot.js";
import { stitch } from "./stitch.js";

const held: unknown[] = [];
const at = (host: number, port: number): SocketAddress => ({ ip: `10.0.0.${host}`, port });

/** A process with a connection to another, and one from another. */
function processWith(options: {
  readonly outgoing?: readonly (readonly [local: SocketAddress, remote: SocketAddress])[];
  readonly incoming?: readonly (readonly [local: SocketAddress, remote: SocketAddress])[];
}) {
  const registry = createRegistry();
  const channel = registry.addChannel({ target: "dns:///next", name: "next" });
  const subchannel = registry.addSubchannel({ parent: channel });
  const server = registry.addServer({ name: "web" });
  held.push(channel, subchannel, server);
  for (const [local, remote] of options.outgoing ?? [])
    held.push(registry.addSocket({ parent: subchannel, local, remote }));
  for (const [local, remote] of options.incoming ?? []) held.push(registry.addSocket({ server, local, remote }));
  return registry;
}

test("[CZ-D-CLI-8] pairs the two ends of connections across processes", async () => {
  const front = processWith({
    outgoing: [
      [at(1, 5001), at(2, 443)],
      [at(1, 5002), at(9, 443)],
    ],
  });
  const orders = processWith({ incoming: [[at(2, 443), at(1, 5001)]], outgoing: [[at(2, 6001), at(3, 443)]] });
  // A dual-stack listener reports IPv4 inside IPv6.
  const stock = processWith({
    incoming: [
      [
        { ip: "::ffff:10.0.0.3", port: 443 },
        { ip: "::ffff:10.0.0.2", port: 6001 },
      ],
    ],
  });
  const snapshot = await readSnapshotOfAll(
    Object.entries({ front, orders, stock }).map(([origin, source]) => ({ origin, target: origin, source })),
  );
  const pairs = stitch(snapshot).map(({ client, server }) => [
    `${client.origin} ${client.owner.kind} ${client.top.kind} ${client.top.name}`,
    `${server.origin} ${server.top.kind} ${server.top.name}`,
  ]);
  expect(pairs).toEqual([
    ["front subchannel channel next", "orders server web"],
    ["orders subchannel channel next", "stock server web"],
  ]);
});

test("takes several snapshots, one for each process", async () => {
  const snapshots = await Promise.all([
    readSnapshot(processWith({ outgoing: [[at(1, 5001), at(2, 443)]] })),
    readSnapshot(processWith({ incoming: [[at(2, 443), at(1, 5001)]] })),
  ]);
  expect(stitch(snapshots)).toHaveLength(1);
});

test("[CZ-D-CLI-8] leaves out addresses that more than one socket has, and sockets without addresses", async () => {
  const loopback = (port: number): SocketAddress => ({ ip: "127.0.0.1", port });
  const twin = processWith({ incoming: [[loopback(443), loopback(5001)]] });
  const parts = { a: processWith({ outgoing: [[loopback(5001), loopback(443)]] }), b: twin, c: twin };
  const all = Object.entries(parts).map(([origin, source]) => ({ origin, target: origin, source }));
  expect(stitch(await readSnapshotOfAll(all))).toEqual([]);
  expect(stitch(await readSnapshotOfAll(all.slice(0, 2)))).toHaveLength(1);
  const unix = processWith({ outgoing: [[{ path: "/a" } as SocketAddress, { path: "/b" } as SocketAddress]] });
  expect(stitch(await readSnapshot(unix))).toEqual([]);
});

test("ends on references that form a cycle", () => {
  const channel = (id: bigint, to: bigint) =>
    createObject({
      origin: "",
      kind: "channel",
      message: create(ChannelSchema, {
        ref: { channelId: id },
        channelRef: [{ channelId: to }],
        socketRef: [{ socketId: 9n }],
      }),
    });
  const socket = createObject({ origin: "", kind: "socket", message: create(SocketSchema, { ref: { socketId: 9n } }) });
  const snapshot: Snapshot = createSnapshot({
    timeMs: 0,
    origins: [],
    objects: [channel(1n, 2n), channel(2n, 1n), socket],
  });
  expect(stitch(snapshot)).toEqual([]);
});
