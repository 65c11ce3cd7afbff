import { getEventListeners } from "node:events";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { ChannelzPackage } from "../channelz-package.js";
import { type Channelz, GetServersResponseSchema, ServerSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { channelzService } from "../schema.js";
import { createChannelzClient } from "./client.js";
import { createPackageFinder } from "./find-package.js";
import { ForeignResponse } from "./foreign-response.js";
import { peerError } from "./peer-error.js";

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

describe("package detection", () => {
  test("[CZ-D-CLIENT-1] [CZ-D-CLIENT-5] detects a peer that serves grpc.channelz.v1 without a failed call", async () => {
    const { transport, calls } = peerServing("grpc.channelz.v1");
    const client = createChannelzClient(transport);
    expect(await client.findPackage()).toBe("grpc.channelz.v1");
    expect(calls).toEqual(["grpc.channelz.v1.Channelz/GetServers"]);
  });

  test("[CZ-D-CLIENT-1] detects a peer that serves only rpc.channelz.v1 with one failed call, and remembers it", async () => {
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

  test("detects the package once for calls that start together", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    const client = createChannelzClient(transport);
    await Promise.all([client.getServers(), client.getServers(), client.findPackage()]);
    expect(calls.filter((call) => call.startsWith("grpc."))).toHaveLength(1);
    expect(calls.filter((call) => call.startsWith("rpc."))).toHaveLength(3);
  });

  test("continues the detection for other callers after one caller cancels", async () => {
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
    const pending = client.getServers();
    controller.abort();
    await expect(impatient).rejects.toMatchObject({ code: "PEER_TIMEOUT" });
    gate.resolve();
    expect((await pending).end).toBe(true);
  });

  test("does not remember a failed detection", async () => {
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

  test("reports a peer without Channelz with its own error code, and says what to do next", async () => {
    const client = createChannelzClient(
      createRouterTransport(() => {}),
      { peer: "127.0.0.1:80" },
    );
    await expect(client.getSocket(1)).rejects.toMatchObject({
      code: "PEER_WITHOUT_CHANNELZ",
      message: expect.stringMatching(/127\.0\.0\.1:80 .*rpc\.channelz\.v1 nor as grpc\.channelz\.v1.*Check the port/),
      cause: expect.any(ConnectError),
    });
  });

  test("does not try the other package after the peer refused the call", async () => {
    const { transport, calls } = peerServing("grpc.channelz.v1", {
      getServers: () => {
        throw new ConnectError("no token", Code.Unauthenticated);
      },
    });
    await expect(createChannelzClient(transport).getServers()).rejects.toMatchObject({ code: "PEER_REFUSED" });
    expect(calls).toHaveLength(1);
  });

  test("does not try the other package after a lookup returned NOT_FOUND", async () => {
    const { transport, calls } = peerServing("grpc.channelz.v1", {
      getSocket: () => {
        throw new ConnectError("no socket", Code.NotFound);
      },
    });
    const client = createChannelzClient(transport);
    await expect(client.getSocket(12)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(calls).toEqual(["grpc.channelz.v1.Channelz/GetServers", "grpc.channelz.v1.Channelz/GetSocket"]);
  });

  test("skips the detection if the package is given", async () => {
    const { transport, calls } = peerServing("grpc.channelz.v1");
    await createChannelzClient(transport, { package: "grpc.channelz.v1" }).getServers();
    expect(calls).toEqual(["grpc.channelz.v1.Channelz/GetServers"]);
  });

  test("returns the given package without a call, and a detected one after the same calls as a read", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    expect(await createChannelzClient(transport, { package: "grpc.channelz.v1" }).findPackage()).toBe(
      "grpc.channelz.v1",
    );
    expect(calls).toEqual([]);
    const client = createChannelzClient(transport);
    expect(await client.findPackage()).toBe("rpc.channelz.v1");
    expect(await client.findPackage()).toBe("rpc.channelz.v1");
    expect(calls).toEqual(["grpc.channelz.v1.Channelz/GetServers", "rpc.channelz.v1.Channelz/GetServers"]);
  });

  test("rejects findPackage with an error of this package if the peer fails or the caller cancels", async () => {
    const failing = createRouterTransport(({ service }) => {
      service(channelzService("grpc.channelz.v1"), {
        getServers: () => {
          throw new ConnectError("starting", Code.Unavailable);
        },
      });
    });
    await expect(createChannelzClient(failing).findPackage()).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
    const { transport } = peerServing("grpc.channelz.v1", { getServers: () => new Promise(() => {}) });
    const controller = new AbortController();
    const finding = createChannelzClient(transport).findPackage({ signal: controller.signal });
    controller.abort();
    await expect(finding).rejects.toMatchObject({ code: "PEER_TIMEOUT", message: expect.stringMatching(/aborted/) });
  });

  test("leaves no listener on the signal of a caller", async () => {
    const { transport } = peerServing("rpc.channelz.v1");
    const { signal } = new AbortController();
    const client = createChannelzClient(transport);
    await client.findPackage({ signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("keeps the given package after the peer reports that it does not serve a method", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    const client = createChannelzClient(transport, { package: "grpc.channelz.v1" });
    for (let i = 0; i < 2; i += 1) {
      await expect(client.getServers()).rejects.toMatchObject({ code: "PEER_WITHOUT_CHANNELZ" });
    }
    expect(calls).toEqual(Array(2).fill("grpc.channelz.v1.Channelz/GetServers"));
  });

  test("keeps the detected package after a call failed for another reason", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1", {
      getServer: () => {
        throw new ConnectError("overloaded", Code.Unavailable);
      },
    });
    const client = createChannelzClient(transport);
    await expect(client.getServer(1)).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
    await expect(client.getServer(1)).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
    expect(calls.filter((call) => call.endsWith("/GetServers"))).toHaveLength(2);
  });

  test.each([
    ["HTTP 404", "PEER_WITHOUT_CHANNELZ", 2],
    ["HTTP 415", "PEER_WITHOUT_CHANNELZ", 2],
    ["unsupported content type text/html", "PEER_WITHOUT_CHANNELZ", 2],
    ["HTTP 4040", "PEER_FAILED", 1],
    ["HTTP 502", "PEER_FAILED", 1],
    ["the page says HTTP 404", "PEER_FAILED", 1],
    ["it has an unsupported content type", "PEER_FAILED", 1],
  ])("reports a web server that responds with %j as %s, after %i probes", async (message, code, probes) => {
    let count = 0;
    const finder = createPackageFinder(async () => {
      count += 1;
      throw new ConnectError(message, Code.Unknown);
    }, undefined);
    const reason = await finder.find().catch((error: unknown) => error);
    expect(peerError(reason, { method: "GetServers" }).code).toBe(code);
    expect(count).toBe(probes);
  });

  test.each([
    [200, "PEER_WITHOUT_CHANNELZ", 2],
    [418, "PEER_WITHOUT_CHANNELZ", 2],
    [302, "PEER_FAILED", 1],
    [505, "PEER_FAILED", 1],
  ])("reports a web server by the status %i of our transport as %s, after %i probes", async (status, code, probes) => {
    let count = 0;
    const finder = createPackageFinder(async () => {
      count += 1;
      const cause = new ForeignResponse(status, "in other words");
      throw new ConnectError(cause.message, Code.Unknown, undefined, undefined, cause);
    }, undefined);
    const reason = await finder.find().catch((error: unknown) => error);
    expect(peerError(reason, { method: "GetServers" }).code).toBe(code);
    expect(count).toBe(probes);
  });

  test("does not take a failure below the call for a peer without Channelz", async () => {
    const refused = Object.assign(new Error("HTTP 404"), { code: Code.Unimplemented });
    const finder = createPackageFinder(() => Promise.reject(refused), undefined);
    await expect(finder.find()).rejects.toBe(refused);
  });

  test("keeps a newer detection when an older one fails", async () => {
    const older = deferred();
    let probes = 0;
    const finder = createPackageFinder(async () => {
      probes += 1;
      if (probes > 1) return;
      await older.promise;
      throw new Error("the older one");
    }, undefined);
    const first = finder.find();
    finder.forget();
    expect(await finder.find()).toBe("grpc.channelz.v1");
    older.resolve();
    await expect(first).rejects.toThrow("the older one");
    await finder.find();
    expect(probes).toBe(2);
  });

  test("detects the package again after the peer was replaced by one that serves the other package", async () => {
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

describe("ChannelzClient", () => {
  test("[CZ-D-VER-3] keeps fields that the schema does not know", async () => {
    const unknown = { no: 99, wireType: 0, data: new Uint8Array([42]) };
    const server = create(ServerSchema, { ref: { serverId: 1n } });
    server.$unknown = [unknown];
    const { transport } = peerServing("rpc.channelz.v1", {
      getServers: () => create(GetServersResponseSchema, { server: [server], end: true }),
    });
    const response = await createChannelzClient(transport).getServers();
    expect(response.server[0]?.$unknown).toEqual([unknown]);
  });

  test("[CZ-D-COUNT-1] keeps int64 values beyond 2^53 in requests and responses", async () => {
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

  test("[CZ-PAGE-1] [CZ-LIMIT-1] passes each argument of a read to the peer", async () => {
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

  test("[CZ-LIMIT-3] [CZ-D-ARG-1] refuses a negative page size before it reaches a peer that would loop on it", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    const client = createChannelzClient(transport);
    await expect(client.getServers({ maxResults: -1 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(calls).toEqual([]);
  });

  test("[CZ-D-ARG-2] requests the first page for a start id below 0", async () => {
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

  test("rejects an id that is not an integer of 64 bits without a call", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    const client = createChannelzClient(transport);
    for (const id of [2 ** 53, 1.5, 2n ** 63n, -(2n ** 63n) - 1n]) {
      await expect(client.getSocket(id)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      await expect(client.getServers({ startId: id })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(calls).toEqual([]);
  });

  test("sends the lowest and highest id of 64 bits, and requests a socket in full by default", async () => {
    const asked: unknown[] = [];
    const { transport } = peerServing("rpc.channelz.v1", {
      getSocket: ({ socketId, summary }) => {
        asked.push([socketId, summary]);
        return {};
      },
    });
    const client = createChannelzClient(transport);
    await client.getSocket(-(2n ** 63n));
    await client.getSocket(2n ** 63n - 1n, { summary: false });
    expect(asked).toEqual([
      [-(2n ** 63n), false],
      [2n ** 63n - 1n, false],
    ]);
  });

  test("allows a peer 10 seconds for each call by default, as long as configured otherwise, and any time for 0", async () => {
    const timeouts: (number | undefined)[] = [];
    const { transport } = peerServing("rpc.channelz.v1", {
      getServers: (_, context) => {
        timeouts.push(context.timeoutMs());
        return { end: true };
      },
    });
    for (const timeoutMs of [undefined, 90_000, 0]) {
      await createChannelzClient(transport, { package: "rpc.channelz.v1", timeoutMs }).getServers();
    }
    const [byDefault, configured, unlimited] = timeouts;
    expect(byDefault).toBeGreaterThan(5000);
    expect(byDefault).toBeLessThanOrEqual(10_000);
    expect(configured).toBeGreaterThan(80_000);
    expect(unlimited).toBeUndefined();
  });

  test("cancels a call in progress when its signal is aborted", async () => {
    const started = deferred();
    let atPeer: AbortSignal | undefined;
    const { transport } = peerServing("rpc.channelz.v1", {
      getServer: (_, context) => {
        atPeer = context.signal;
        started.resolve();
        return new Promise(() => {});
      },
    });
    const controller = new AbortController();
    // Without a timeout, which would end the call as well.
    const client = createChannelzClient(transport, { timeoutMs: 0 });
    const reading = client.getServer(1, { signal: controller.signal });
    await started.promise;
    controller.abort();
    await expect(reading).rejects.toMatchObject({ code: "PEER_TIMEOUT", message: expect.stringMatching(/aborted/) });
    expect(atPeer?.aborted).toBe(true);
  });

  test.each([
    ["getServer", "server 7"],
    ["getServerSockets", "server 7"],
    ["getChannel", "channel 7"],
    ["getSubchannel", "subchannel 7"],
    ["getSocket", "socket 7"],
  ] as const)("names the object that %s does not find: %s", async (method, subject) => {
    const { transport } = peerServing("rpc.channelz.v1", {
      [method]: () => {
        throw new ConnectError("", Code.NotFound);
      },
    });
    await expect(createChannelzClient(transport)[method](7)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: `The peer has no ${subject}.`,
    });
  });

  test("sends its headers with every call, including the detection of the package", async () => {
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

  test("times out if the peer does not respond in time", async () => {
    const { transport } = peerServing("rpc.channelz.v1", { getServers: () => new Promise(() => {}) });
    await expect(createChannelzClient(transport, { timeoutMs: 20 }).getServers()).rejects.toMatchObject({
      code: "PEER_TIMEOUT",
      message: expect.stringContaining("within 20 ms"),
    });
  });

  test("sends nothing for a call whose signal is already aborted", async () => {
    const { transport, calls } = peerServing("rpc.channelz.v1");
    const client = createChannelzClient(transport);
    const signal = AbortSignal.abort();
    await expect(client.getServers({}, { signal })).rejects.toMatchObject({ code: "PEER_TIMEOUT" });
    await expect(client.findPackage({ signal })).rejects.toMatchObject({ code: "PEER_TIMEOUT" });
    expect(calls).toEqual([]);
  });

  test("treats an unknown package as misuse", () => {
    const { transport } = peerServing("rpc.channelz.v1");
    expect(() => createChannelzClient(transport, { package: "x.v1" as ChannelzPackage })).toThrow(TypeError);
  });
});
