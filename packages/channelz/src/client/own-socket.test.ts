import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import {
  GetServersResponseSchema,
  GetSocketResponseSchema,
  type SocketDataSchema,
  SocketSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { grantedWindow, type OwnConnection } from "../own-connection.js";
import { createRegistry, type Registry, type SocketAddress } from "../registry/index.js";
import type { Source } from "../source.js";
import { readsOf } from "../source.test.helper.js";
import { peerWith } from "./fixed-peer.test.helper.js";
import { findOwnSocket, windowOrderOf } from "./own-socket.js";

const own: OwnConnection = { localPort: 4000, grantedWindow, requests: 1 };
const at = (port: number): SocketAddress => ({ ip: "127.0.0.1", port });
const held: unknown[] = [];

/** Adds a server with a connection from each of these addresses, oldest first; returns the ids of the connections. */
function addServer(registry: Registry, remotes: readonly (SocketAddress | undefined)[], window = 65_535): bigint[] {
  const server = registry.addServer();
  const sockets = remotes.map((remote) =>
    registry.addSocket({ server, remote, subject: own, describe: () => ({ localFlowControlWindow: window }) }),
  );
  held.push(server, sockets);
  return sockets.map(({ id }) => BigInt(id));
}

const foundIn = async (source: Source): Promise<bigint | undefined> =>
  (await findOwnSocket(source, own))?.ref?.socketId;

/** The registry, with some reads replaced. */
const change = (registry: Registry, reads: Partial<Source>): Source => ({ ...readsOf(registry), ...reads });

describe("the peer's end of our own connection", () => {
  test("[CZ-D-CORRECT-2] finds the newest connection from our local port", async () => {
    const registry = createRegistry();
    addServer(registry, [at(1), at(2)]);
    const ids = addServer(registry, [at(4000), at(3), at(4000), at(5)]);
    expect(await foundIn(registry)).toBe(ids[2]);
  });

  test("finds nothing if no connection comes from our port, whatever its window", async () => {
    const registry = createRegistry();
    addServer(registry, [at(1), at(2)], grantedWindow);
    expect(await foundIn(registry)).toBeUndefined();
    expect(await foundIn(createRegistry())).toBeUndefined();
  });

  test.each(["localFlowControlWindow", "remoteFlowControlWindow"] as const)(
    "[CZ-D-CORRECT-2] finds the connection on a Unix socket whose %s is what we granted",
    async (field) => {
      const registry = createRegistry();
      const server = registry.addServer();
      const add = (window: number, remote: SocketAddress | undefined) =>
        registry.addSocket({ server, remote, subject: own, describe: () => ({ [field]: window }) });
      for (const remote of [{ path: "/run/x.sock" }, undefined]) {
        const ours = add(grantedWindow, remote);
        held.push(server, ours, add(65_535, remote));
        expect(await foundIn(registry)).toBe(BigInt(ours.id));
      }
    },
  );

  test("searches the eight newest connections of each server", async () => {
    const others = Array.from({ length: 7 }, () => at(1));
    const registry = createRegistry();
    const [eighth] = addServer(registry, [at(4000), ...others]);
    expect(await foundIn(registry)).toBe(eighth);
    const busier = createRegistry();
    addServer(busier, [at(4000), ...others, at(1)]);
    expect(await foundIn(busier)).toBeUndefined();
  });

  test("skips connections that are closed, unreadable or empty", async () => {
    const registry = createRegistry();
    const [ours, closed, unreadable, empty, bare] = addServer(registry, [at(4000), at(1), at(2), at(3), at(5)]);
    const source = change(registry, {
      getSocket: async (id, options) => {
        if (id === closed) throw new ChannelzError("NOT_FOUND", "closed");
        if (id === unreadable) throw new ChannelzError("PEER_FAILED", "internal");
        if (id === empty) return create(GetSocketResponseSchema);
        if (id === bare) return create(GetSocketResponseSchema, { socket: {} });
        return await registry.getSocket(id, options);
      },
    });
    expect(await foundIn(source)).toBe(ours);
  });

  test("skips a server whose sockets the peer fails to list", async () => {
    const registry = createRegistry();
    addServer(registry, []);
    const [ours] = addServer(registry, [at(4000)]);
    const [broken] = (await registry.getServers()).server;
    const source = change(registry, {
      getServerSockets: async (id, ...rest) => {
        if (id === broken?.ref?.serverId) throw new ChannelzError("PEER_FAILED", "internal");
        return await registry.getServerSockets(id, ...rest);
      },
    });
    expect(await foundIn(source)).toBe(ours);
  });

  test("searches servers with up to 2000 connections", async () => {
    const sockets = (count: number): bigint[] => Array.from({ length: count }, (_, index) => BigInt(index + 1));
    const ours = create(GetSocketResponseSchema, { socket: { data: windows(grantedWindow, 0) } });
    for (const [count, expected] of [
      [2000, ours.socket],
      [2001, undefined],
    ] as const) {
      const peer = peerWith({ servers: [{ id: 1n, sockets: sockets(count) }] }, 100);
      expect(await findOwnSocket({ ...peer, getSocket: async () => ours }, own)).toBe(expected);
    }
  });

  test("gives up after 200 calls if the servers of a peer never end", async () => {
    let calls = 0;
    const peer = peerWith({});
    const endless: Source = {
      ...peer,
      getServers: async ({ startId = 0 } = {}) => {
        calls += 1;
        return create(GetServersResponseSchema, { server: [{ ref: { serverId: BigInt(startId) + 1n } }] });
      },
      getServerSockets: async (...args) => {
        calls += 1;
        return await peer.getServerSockets(...args);
      },
    };
    expect(await foundIn(endless)).toBeUndefined();
    expect(calls).toBe(200);
  });

  test("rejects if the peer cannot be reached", async () => {
    const registry = createRegistry();
    addServer(registry, [at(4000)]);
    const gone = () => Promise.reject(new ChannelzError("PEER_UNAVAILABLE", "gone"));
    for (const reads of [{ getServers: gone }, { getSocket: gone }]) {
      await expect(findOwnSocket(change(registry, reads), own)).rejects.toThrow("gone");
    }
  });

  test("stops when the caller aborts", async () => {
    const registry = createRegistry();
    addServer(registry, []);
    addServer(registry, [at(4000)]);
    const controller = new AbortController();
    const source = change(registry, {
      getServerSockets: async () => {
        controller.abort();
        throw new ChannelzError("PEER_TIMEOUT", "The caller gave up.");
      },
    });
    await expect(findOwnSocket(source, own, { signal: controller.signal })).rejects.toThrow("The caller gave up.");
  });

  test("passes the signal of the caller to every read", async () => {
    const registry = createRegistry();
    const [ours] = addServer(registry, [at(4000)]);
    const { signal } = new AbortController();
    const signals: unknown[] = [];
    const source = change(registry, {
      getServers: async (request, options) => {
        signals.push(options?.signal);
        return await registry.getServers(request, options);
      },
      getServerSockets: async (id, request, options) => {
        signals.push(options?.signal);
        return await registry.getServerSockets(id, request, options);
      },
      getSocket: async (id, options) => {
        signals.push(options?.signal);
        return await registry.getSocket(id, options);
      },
    });
    expect((await findOwnSocket(source, own, { signal }))?.ref?.socketId).toBe(ours);
    expect(signals).toEqual([signal, signal, signal]);
  });
});

describe("the order of the windows that a peer reports", () => {
  test.each([
    ["right", windows(grantedWindow, 65_535)],
    ["right", windows(grantedWindow / 2, undefined)],
    ["swapped", windows(65_535, grantedWindow)],
    ["swapped", windows(undefined, grantedWindow)],
    ["unknown", windows(65_535, 65_535)],
    ["unknown", windows(grantedWindow, grantedWindow)],
    ["unknown", undefined],
  ] as const)("reports the order %s for row %#", (order, data) => {
    expect(windowOrderOf(create(SocketSchema, data === undefined ? {} : { data }))).toBe(order);
  });
});

/** Socket data with these windows. */
function windows(local: number | undefined, remote: number | undefined): MessageInitShape<typeof SocketDataSchema> {
  return {
    ...(local === undefined ? {} : { localFlowControlWindow: BigInt(local) }),
    ...(remote === undefined ? {} : { remoteFlowControlWindow: BigInt(remote) }),
  };
}
