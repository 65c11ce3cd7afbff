import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { ChannelzPackage } from "../channelz-package.js";
import { type Channelz, GetServersResponseSchema, ServerSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { channelzService } from "../schema.js";
import { createChannelzClient } from "./client.js";

type Handlers = Partial<ServiceImpl<typeof Channelz>>;

function peerServing(channelzPackage: ChannelzPackage, handlers: Handlers = {}) {
  const calls: string[] = [];
  const transport = createRouterTransport(
    (router: ConnectRouter) => {
      router.service(channelzService(channelzPackage), { getServers: () => ({ end: true }), ...handlers });
    },
    {
      transport: {
        interceptors: [
          (next) => (request) => {
            calls.push(`${request.service.typeName}/${request.method.name}`);
            return next(request);
          },
        ],
      },
    },
  );
  return { transport, calls };
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe("finding the package of a peer", () => {
  test("[CZ-D-CLIENT-1] [CZ-D-CLIENT-5] a peer of grpc.channelz.v1 is found without a failed call", async () => {
    const { transport, calls } = peerServing("grpc.channelz.v1");
    const client = createChannelzClient(transport);
    expect(await client.findPackage()).toBe("grpc.channelz.v1");
    expect(calls).toEqual(["grpc.channelz.v1.Channelz/GetServers"]);
  });

  test("[CZ-D-CLIENT-1] a peer of rpc.channelz.v1 alone is found with one failed call, and remembered", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    const client = createChannelzClient(transport);
    await client.getServers();
    await client.getServers();
    expect(calls).toEqual([
      "grpc.channelz.v1.Channelz/GetServers",
      "rpc.channelz.v1.Channelz/GetServers",
      "rpc.channelz.v1.Channelz/GetServers",
      "rpc.channelz.v1.Channelz/GetServers",
    ]);
  });

  test("calls that begin together share one search", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    const client = createChannelzClient(transport);
    await Promise.all([client.getServers(), client.getServers(), client.findPackage()]);
    expect(calls.filter((call) => call.startsWith("grpc."))).toHaveLength(1);
    expect(calls.filter((call) => call.startsWith("rpc."))).toHaveLength(3);
  });

  test("a caller who gives up does not end the search of the others", async () => {
    const gate = deferred();
    const { transport } = peerServing("rpc.channelz.v1", {
      getServers: async () => {
        await gate.promise;
        return { end: true };
      },
    });
    const client = createChannelzClient(transport);
    const controller = new AbortController();
    const impatient = client.getServers({}, { signal: controller.signal });
    const patient = client.getServers();
    controller.abort();
    await expect(impatient).rejects.toMatchObject({ code: "PEER_TIMEOUT" });
    gate.resolve();
    expect((await patient).end).toBe(true);
  });

  test("a search that failed is not remembered", async () => {
    let isUp = false;
    const { transport } = peerServing("rpc.channelz.v1", {
      getServers: () => {
        if (!isUp) throw new ConnectError("starting", Code.Unavailable);
        return { end: true };
      },
    });
    const client = createChannelzClient(transport);
    await expect(client.getServers()).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
    isUp = true;
    expect((await client.getServers()).end).toBe(true);
  });

  test("a peer without Channelz has an error code of its own, and the message says what to do next", async () => {
    const client = createChannelzClient(
      createRouterTransport(() => {}),
      { peer: "127.0.0.1:80" },
    );
    await expect(client.getSocket(1)).rejects.toMatchObject({
      code: "PEER_WITHOUT_CHANNELZ",
      message: expect.stringMatching(/127\.0\.0\.1:80 .*rpc\.channelz\.v1 nor as grpc\.channelz\.v1.*Check the port/),
    });
  });

  test("a refusal is a refusal, and no reason to try another package", async () => {
    const { transport, calls } = peerServing("grpc.channelz.v1", {
      getServers: () => {
        throw new ConnectError("no token", Code.Unauthenticated);
      },
    });
    await expect(createChannelzClient(transport).getServers()).rejects.toMatchObject({ code: "PEER_REFUSED" });
    expect(calls).toHaveLength(1);
  });

  test("NOT_FOUND of a lookup is no reason to try another package", async () => {
    const { transport, calls } = peerServing("grpc.channelz.v1", {
      getSocket: () => {
        throw new ConnectError("no socket", Code.NotFound);
      },
    });
    const client = createChannelzClient(transport);
    await expect(client.getSocket(12)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(calls).toEqual(["grpc.channelz.v1.Channelz/GetServers", "grpc.channelz.v1.Channelz/GetSocket"]);
  });

  test("with the package given, nothing is searched", async () => {
    const { transport, calls } = peerServing("grpc.channelz.v1");
    await createChannelzClient(transport, { package: "grpc.channelz.v1" }).getServers();
    expect(calls).toEqual(["grpc.channelz.v1.Channelz/GetServers"]);
  });

  test("a peer that was replaced by one of the other package is found at the next call", async () => {
    let now: ChannelzPackage = "rpc.channelz.v1";
    const router = createRouterTransport(({ service }) => {
      for (const name of ["rpc.channelz.v1", "grpc.channelz.v1"] as const) {
        service(channelzService(name), {
          getServers: () => {
            if (name !== now) throw new ConnectError("gone", Code.Unimplemented);
            return { end: true };
          },
        });
      }
    });
    const client = createChannelzClient(router);
    await client.getServers();
    now = "grpc.channelz.v1";
    await expect(client.getServers()).rejects.toMatchObject({ code: "PEER_WITHOUT_CHANNELZ" });
    expect((await client.getServers()).end).toBe(true);
  });
});

describe("reading", () => {
  test("[CZ-D-VER-3] fields that the schema does not know survive a read", async () => {
    const unknown = { no: 99, wireType: 0, data: new Uint8Array([42]) };
    const server = create(ServerSchema, { ref: { serverId: 1n } });
    server.$unknown = [unknown];
    const { transport } = peerServing("rpc.channelz.v1", {
      getServers: () => create(GetServersResponseSchema, { server: [server], end: true }),
    });
    const response = await createChannelzClient(transport).getServers();
    expect(response.server[0]?.$unknown).toEqual([unknown]);
  });

  test("[CZ-D-COUNT-1] int64 values beyond 2^53 survive both ways", async () => {
    const asked: bigint[] = [];
    const huge = 2n ** 63n - 1n;
    const { transport } = peerServing("rpc.channelz.v1", {
      getSocket: ({ socketId }) => {
        asked.push(socketId);
        return { socket: { ref: { socketId }, data: { messagesSent: huge - 1n } } };
      },
    });
    const { socket } = await createChannelzClient(transport).getSocket(huge);
    expect(asked).toEqual([huge]);
    expect(socket?.data?.messagesSent).toBe(huge - 1n);
  });

  test("[CZ-PAGE-1] [CZ-LIMIT-1] each read asks for what it was given", async () => {
    const asked: unknown[] = [];
    const note = ({ $typeName, ...request }: { $typeName: string }) => {
      asked.push(request);
      return {};
    };
    const { transport } = peerServing("rpc.channelz.v1", {
      getTopChannels: note,
      getServers: note,
      getServerSockets: note,
      getServer: note,
      getChannel: note,
      getSubchannel: note,
      getSocket: note,
    });
    const client = createChannelzClient(transport, { package: "rpc.channelz.v1" });
    await client.getTopChannels({ startId: 5, maxResults: 7n });
    await client.getServers({ startId: 6, maxResults: 8 });
    await client.getServerSockets(3, { startId: 9 });
    await client.getServer(1);
    await client.getChannel(2);
    await client.getSubchannel(3);
    await client.getSocket(4, { summary: true });
    expect(asked).toEqual([
      { startChannelId: 5n, maxResults: 7n },
      { startServerId: 6n, maxResults: 8n },
      { serverId: 3n, startSocketId: 9n, maxResults: 0n },
      { serverId: 1n },
      { channelId: 2n },
      { subchannelId: 3n },
      { socketId: 4n, summary: true },
    ]);
  });

  test("[CZ-LIMIT-3] [CZ-D-ARG-1] a negative page size is refused before it reaches a peer that would loop on it", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    const client = createChannelzClient(transport);
    await expect(client.getServers({ maxResults: -1 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(calls).toEqual([]);
  });

  test("[CZ-D-ARG-2] a start id below 0 asks for the first page", async () => {
    const starts: bigint[] = [];
    const { transport } = peerServing("rpc.channelz.v1", {
      getTopChannels: ({ startChannelId }) => {
        starts.push(startChannelId);
        return { end: true };
      },
    });
    await createChannelzClient(transport).getTopChannels({ startId: -4n });
    expect(starts).toEqual([0n]);
  });

  test("an id that a number cannot hold exactly is misuse, and one beyond 64 bits an invalid argument", async () => {
    const client = createChannelzClient(peerServing("rpc.channelz.v1").transport);
    await expect(client.getSocket(2 ** 53)).rejects.toThrow(TypeError);
    await expect(client.getSocket(1.5)).rejects.toThrow(TypeError);
    await expect(client.getSocket(2n ** 63n)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("headers go with every call, the search included", async () => {
    const seen: (string | null)[] = [];
    const { transport } = peerServing("rpc.channelz.v1", {
      getServers: (_, context) => {
        seen.push(context.requestHeader.get("authorization"));
        return { end: true };
      },
    });
    await createChannelzClient(transport, { headers: { authorization: "Bearer t" } }).getServers();
    expect(seen).toEqual(["Bearer t", "Bearer t"]);
  });

  test("a peer that does not respond in time causes a timeout", async () => {
    const { transport } = peerServing("rpc.channelz.v1", { getServers: () => new Promise(() => {}) });
    await expect(createChannelzClient(transport, { timeoutMs: 20 }).getServers()).rejects.toMatchObject({
      code: "PEER_TIMEOUT",
      message: expect.stringContaining("within 20 ms"),
    });
  });

  test("a call whose signal is aborted already reaches nobody", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    await expect(createChannelzClient(transport).getServers({}, { signal: AbortSignal.abort() })).rejects.toMatchObject(
      { code: "PEER_TIMEOUT" },
    );
    expect(calls).toEqual([]);
  });

  test("a package that does not exist is misuse", () => {
    const { transport } = peerServing("rpc.channelz.v1");
    expect(() => createChannelzClient(transport, { package: "x.v1" as ChannelzPackage })).toThrow(TypeError);
  });
});
