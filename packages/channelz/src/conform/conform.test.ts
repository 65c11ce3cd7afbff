import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import {
  AddressSchema,
  type Channel,
  GetServerSocketsResponseSchema,
  GetServersResponseSchema,
  SecuritySchema,
  type Server,
  type Socket,
  type SocketData,
  SocketOptionSchema,
  SocketRefSchema,
  type Subchannel,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Source } from "../source.js";
import { checkConformance, conformanceChecks } from "./conform.js";
import { createModelEndpoint } from "./model-endpoint.test.helper.js";

type Change = (source: Source) => Partial<Source>;

const failedRules = async (change?: Change): Promise<string[]> => {
  const { rules } = await checkConformance(createModelEndpoint(change));
  return rules.filter(({ outcome }) => outcome === "failed").map(({ id }) => id);
};

const inChannels =
  (edit: (channel: Channel) => void): Change =>
  (source) => ({
    async getChannel(...args) {
      const response = await source.getChannel(...args);
      if (response.channel !== undefined) edit(response.channel);
      return response;
    },
  });
const inSubchannels =
  (edit: (subchannel: Subchannel) => void): Change =>
  (source) => ({
    async getSubchannel(...args) {
      const response = await source.getSubchannel(...args);
      if (response.subchannel !== undefined) edit(response.subchannel);
      return response;
    },
  });
const inServers =
  (edit: (server: Server) => void): Change =>
  (source) => ({
    async getServer(...args) {
      const response = await source.getServer(...args);
      if (response.server !== undefined) edit(response.server);
      return response;
    },
  });
const inSockets =
  (edit: (socket: Socket) => void): Change =>
  (source) => ({
    async getSocket(...args) {
      const response = await source.getSocket(...args);
      if (response.socket !== undefined) edit(response.socket);
      return response;
    },
  });
const inSocketData = (edit: (data: SocketData) => void): Change =>
  inSockets(({ data }) => {
    if (data !== undefined) edit(data);
  });
const isListening = ({ remote, local }: Socket): boolean => remote === undefined && local !== undefined;

const unimplemented = async (): Promise<never> => {
  throw new ChannelzError("PEER_WITHOUT_CHANNELZ", "unimplemented");
};
const internal = async (): Promise<never> => {
  throw new ChannelzError("PEER_FAILED", "internal");
};
const unknownField = { no: 3, wireType: 0, data: new Uint8Array([1]) };
const empty = { seconds: 0n, nanos: 0, $typeName: "google.protobuf.Timestamp" } as const;
let count = 0n;

/** One wrong endpoint for each rule. */
const wrong: Readonly<Record<string, Change>> = {
  "CZ-SCHEMA-2": () => ({ getSubchannel: unimplemented }),
  "CZ-SCHEMA-4": inServers((server) => {
    if (server.ref !== undefined) server.ref.$unknown = [unknownField];
  }),
  "CZ-SCHEMA-22": inChannels((channel) => {
    channel.$unknown = [{ ...unknownField, no: 77 }];
  }),
  "CZ-REF-1": inChannels((channel) => {
    for (const ref of channel.subchannelRef) ref.subchannelId = -3n;
  }),
  "CZ-REF-2": (source) => ({
    async getServerSockets(...args) {
      const response = await source.getServerSockets(...args);
      const shared = create(SocketRefSchema, { socketId: 1n });
      return { ...response, socketRef: BigInt(args[0]) === 1n ? [shared] : [] };
    },
  }),
  "CZ-OP-4": () => ({ getServer: internal }),
  "CZ-OP-5": (source) => ({
    getServerSockets: async (id, ...rest) => await source.getServerSockets(BigInt(id) < 100n ? 1n : id, ...rest),
  }),
  "CZ-OP-6": inChannels((channel) => {
    if (channel.ref !== undefined) channel.ref.channelId += 500n;
  }),
  "CZ-OP-7": () => ({
    getSubchannel: async () => {
      throw new ChannelzError("NOT_FOUND", "not found");
    },
  }),
  "CZ-OP-8": () => ({ getSocket: internal }),
  "CZ-OP-9": (source) => ({
    getSocket: async (id, options) => {
      const response = await source.getSocket(id, options);
      if (options?.summary && response.socket?.ref !== undefined) response.socket.ref.socketId = 999n;
      return response;
    },
  }),
  "CZ-PAGE-1": (source) => ({
    getServers: (request, options) => source.getServers({ ...request, startId: 0 }, options),
  }),
  "CZ-PAGE-2": (source) => ({
    async getTopChannels(_, options) {
      return { ...(await source.getTopChannels({}, options)), end: false };
    },
  }),
  "CZ-PAGE-3": (source) => ({
    async getServers(...args) {
      const response = await source.getServers(...args);
      return { ...response, server: response.server.toReversed() };
    },
  }),
  "CZ-PAGE-4": () => ({ getServerSockets: async () => create(GetServerSocketsResponseSchema, { end: false }) }),
  "CZ-PAGE-5": (source) => ({
    async getServers(...args) {
      const response = await source.getServers(...args);
      return { ...response, end: response.server.length === 0 };
    },
  }),
  "CZ-LIMIT-1": (source) => ({
    getServers: (request, options) => source.getServers({ ...request, maxResults: 0 }, options),
  }),
  "CZ-LIMIT-2": (source) => ({
    async getServers(request, options) {
      if (!request?.maxResults && !request?.startId) count += 1n;
      const isFirst = !request?.maxResults && !request?.startId && count === 1n;
      const response = await source.getServers(request, options);
      return isFirst ? { ...response, server: [], end: false } : response;
    },
  }),
  "CZ-ERR-1": () => ({ getSubchannel: internal }),
  "CZ-ERR-2": (source) => ({
    async getTopChannels(request, options) {
      if (BigInt(request?.startId ?? 0) > 1000n) return await internal();
      return await source.getTopChannels(request, options);
    },
  }),
  "CZ-D-ARG-4": (source) => ({
    getServer: async (id, options) => {
      const page = await source.getTopChannels({ startId: id, maxResults: 1 });
      return page.channel[0]?.ref?.channelId === BigInt(id) ? await internal() : await source.getServer(id, options);
    },
  }),
  "CZ-D-ARG-5": (source) => ({
    getServerSockets: async (id, ...rest) =>
      BigInt(id) > 1000n
        ? create(GetServerSocketsResponseSchema, { end: true })
        : await source.getServerSockets(id, ...rest),
  }),
  "CZ-D-TRACE-3": inChannels((channel) => {
    for (const event of channel.data?.trace?.events ?? []) {
      if (event.childRef.case === "subchannelRef") event.childRef.value.subchannelId += 5000n;
    }
  }),
  "CZ-CHANNEL-1": inChannels((channel) => {
    delete channel.data;
  }),
  "CZ-CHANNEL-2": inChannels((channel) => {
    if (channel.subchannelRef.length > 0) channel.socketRef.push(create(SocketRefSchema, { socketId: 3n }));
  }),
  "CZ-CHANNEL-4": inSubchannels((subchannel) => {
    subchannel.socketRef = [];
    subchannel.subchannelRef = [
      { $typeName: "rpc.channelz.v1.SubchannelRef", subchannelId: subchannel.ref?.subchannelId ?? 0n, name: "" },
    ];
  }),
  "CZ-SUBCHANNEL-1": inSubchannels((subchannel) => {
    delete subchannel.data;
  }),
  "CZ-SUBCHANNEL-2": inSubchannels((subchannel) => {
    subchannel.channelRef = [{ $typeName: "rpc.channelz.v1.ChannelRef", channelId: 7n, name: "" }];
  }),
  "CZ-STATE-1": inChannels((channel) => {
    delete channel.data?.state;
  }),
  "CZ-DATA-1": inChannels(({ data }) => {
    if (data !== undefined) data.target = "dns:///elsewhere.example";
  }),
  "CZ-DATA-3": inChannels(({ data }) => {
    if (data !== undefined) data.callsStarted = -1n;
  }),
  "CZ-DATA-4": inSubchannels(({ data }) => {
    if (data !== undefined) data.callsSucceeded = 9n;
  }),
  "CZ-DATA-5": inSubchannels(({ data }) => {
    if (data !== undefined) data.callsFailed = 9n;
  }),
  "CZ-DATA-6": inChannels(({ data }) => {
    delete data?.lastCallStartedTimestamp;
  }),
  "CZ-TRACE-1": inChannels(({ data }) => {
    if (data?.trace !== undefined) data.trace.numEventsLogged = 0n;
  }),
  "CZ-TRACE-2": inChannels(({ data }) => {
    delete data?.trace?.creationTimestamp;
  }),
  "CZ-TRACE-3": inChannels(({ data }) => {
    for (const event of data?.trace?.events ?? []) event.description = "";
  }),
  "CZ-SERVER-1": inServers((server) => {
    delete server.ref;
  }),
  "CZ-SERVER-2": (source) => ({
    getSocket: async (id, options) => {
      const response = await source.getSocket(id, options);
      return response.socket !== undefined && isListening(response.socket) ? await internal() : response;
    },
  }),
  "CZ-SERVER-3": inServers(({ data }) => {
    if (data !== undefined) data.callsStarted = 0n;
  }),
  "CZ-SERVER-4": inServers(({ data }) => {
    delete data?.lastCallStartedTimestamp;
  }),
  "CZ-SOCKET-1": inSockets((socket) => {
    delete socket.local;
  }),
  "CZ-SOCKET-2": inSockets((socket) => {
    if (isListening(socket) && socket.local !== undefined) socket.remote = socket.local;
  }),
  "CZ-SOCKET-3": inSockets((socket) => {
    socket.security = create(SecuritySchema);
  }),
  "CZ-SOCKET-5": inSocketData((data) => {
    data.streamsStarted += 100n;
  }),
  "CZ-SOCKET-6": inSocketData((data) => {
    data.streamsSucceeded = 0n;
  }),
  "CZ-SOCKET-7": inSocketData((data) => {
    data.streamsFailed = data.streamsStarted + 5n;
  }),
  "CZ-SOCKET-8": inSocketData((data) => {
    data.messagesReceived = 0n;
  }),
  "CZ-SOCKET-9": inSocketData((data) => {
    count += 1n;
    data.keepAlivesSent = -count;
  }),
  "CZ-SOCKET-10": inSocketData((data) => {
    delete data.lastLocalStreamCreatedTimestamp;
  }),
  "CZ-SOCKET-11": inSocketData((data) => {
    delete data.lastRemoteStreamCreatedTimestamp;
  }),
  "CZ-SOCKET-12": inSocketData((data) => {
    if (data.messagesSent > 0n) data.lastMessageSentTimestamp = { ...empty, seconds: data.messagesSent };
  }),
  "CZ-SOCKET-13": inSocketData(swapWindows),
  "CZ-SOCKET-14": inSocketData(swapWindows),
  "CZ-SOCKET-15": inSockets((socket) => {
    if (isListening(socket) && socket.data !== undefined) socket.data.localFlowControlWindow = 0n;
  }),
  "CZ-ADDR-1": inSockets((socket) => {
    socket.local = create(AddressSchema);
  }),
  "CZ-ADDR-2": inSockets(({ local }) => {
    if (local?.address.case === "tcpipAddress") local.address.value.ipAddress = new Uint8Array(5);
  }),
  "CZ-ADDR-3": inSockets(({ local }) => {
    if (local?.address.case === "tcpipAddress") local.address.value.port = 70_000;
  }),
  "CZ-ADDR-4": inSockets(({ local }) => {
    if (local?.address.case === "udsAddress") local.address.value.filename = "";
  }),
  "CZ-ADDR-5": inSockets(({ remote }) => {
    if (remote?.address.case === "otherAddress") remote.address.value.name = "";
  }),
  "CZ-SEC-1": inSockets(({ security }) => {
    if (security?.model.case === "tls") security.model.value.cipherSuite = { case: undefined };
  }),
  "CZ-SEC-3": inSockets(({ security }) => {
    if (security?.model.case === "other") security.model.value.name = "";
  }),
  "CZ-OPT-1": inSocketData(({ option }) => {
    for (const each of option) each.name = "";
  }),
  "CZ-OPT-2": inSocketData(({ option }) => {
    option.push(create(SocketOptionSchema, { name: "SO_BROKEN" }));
  }),
  "CZ-OPT-3": inSocketData(({ option }) => {
    for (const each of option) if (each.additional !== undefined) each.name = "TCP_INFO";
  }),
  "CZ-D-TIME-1": inSocketData((data) => {
    data.lastRemoteStreamCreatedTimestamp ??= empty;
  }),
};

function swapWindows(data: SocketData): void {
  const { localFlowControlWindow: local, remoteFlowControlWindow: remote } = data;
  if (local === undefined || remote === undefined) return;
  data.localFlowControlWindow = remote;
  data.remoteFlowControlWindow = local;
}

test("[CZ-D-CONFORM-1] finds nothing to object to in an endpoint that follows every rule", async () => {
  const { rules, conforms, stoppedBy, calls } = await checkConformance(createModelEndpoint());
  expect(rules.filter(({ outcome }) => outcome !== "passed").map(({ id, evidence }) => `${id}: ${evidence}`)).toEqual(
    [],
  );
  expect(conforms).toBe(true);
  expect(stoppedBy).toBeUndefined();
  expect(calls).toBeLessThan(100);
});

describe("a check of each rule", () => {
  test.each(Object.entries(wrong))("[CZ-D-CONFORM-1] fails on an endpoint that breaks %s", async (id, change) => {
    count = 0n;
    expect(await failedRules(change)).toContain(id);
  });

  test("names an endpoint that breaks it, except for the version, which no endpoint can break", () => {
    const ids = conformanceChecks.map(({ id }) => id);
    expect(ids.filter((id) => !(id in wrong))).toEqual(["CZ-VER-1"]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("does not blame an endpoint for objects that close between their listing and their lookup", async () => {
    const closing: Change = (source) => {
      let isClosed = false;
      return {
        async getServers(...args) {
          const response = await source.getServers(...args);
          return isClosed ? create(GetServersResponseSchema, { end: true }) : response;
        },
        getServer: async () => {
          isClosed = true;
          throw new ChannelzError("NOT_FOUND", "closed");
        },
      };
    };
    expect(await failedRules(closing)).toEqual([]);
  });
});

describe("the limits of an examination", () => {
  test("[CZ-D-CONFORM-2] ends it at the maximum number of calls, and reports what was seen until then", async () => {
    const { rules, calls, stoppedBy } = await checkConformance(createModelEndpoint(), { maxCalls: 12 });
    expect(calls).toBe(12);
    expect(stoppedBy?.code).toBe("LIMIT_REACHED");
    expect(rules.find(({ id }) => id === "CZ-PAGE-3")?.outcome).toBe("passed");
    expect(rules.find(({ id }) => id === "CZ-SOCKET-1")?.outcome).toBe("not-applicable");
  });

  test("[CZ-D-CONFORM-2] ends it after the maximum time, also if the endpoint never responds", async () => {
    const silent: Change = () => ({
      getTopChannels: (_, options) =>
        new Promise((_resolve, reject) => {
          options?.signal?.addEventListener("abort", () => reject(new ChannelzError("PEER_TIMEOUT", "gave up")));
        }),
    });
    const { stoppedBy } = await checkConformance(createModelEndpoint(silent), { maxMs: 50 });
    expect(stoppedBy).toMatchObject({ code: "PEER_TIMEOUT" });
  });

  test("[CZ-D-CONFORM-2] looks up at most the given number of objects, the oldest and the newest", async () => {
    const read = new Set<bigint>();
    const many: Change = (source) => ({
      async getServers(request, options) {
        const start = BigInt(request?.startId ?? 0);
        if (start > 5000n) return create(GetServersResponseSchema, { end: true });
        const server = Array.from({ length: 5000 }, (_, at) => ({ ref: { serverId: BigInt(at + 1) } }))
          .filter(({ ref }) => ref.serverId >= start)
          .slice(0, Number(request?.maxResults ?? 0) || 5000);
        void options;
        return create(GetServersResponseSchema, { server, end: true });
      },
      getServer: async (id, options) => {
        if (BigInt(id) <= 5000n) read.add(BigInt(id));
        return await source.getServer(1, options);
      },
    });
    await checkConformance(createModelEndpoint(many), { maxObjects: 4 });
    expect([...read].sort((a, b) => (a < b ? -1 : 1))).toEqual(expect.arrayContaining([1n, 2n, 4999n, 5000n]));
    expect(read.size).toBeLessThan(8);
  });

  test("[CZ-D-CONFORM-2] never asks for a negative page, and asks only for ids and pages", async () => {
    const sizes: number[] = [];
    const watched: Change = (source) => ({
      getServers: (request, options) => {
        sizes.push(Number(request?.maxResults ?? 0));
        return source.getServers(request, options);
      },
    });
    await checkConformance(createModelEndpoint(watched));
    expect(Math.min(...sizes)).toBe(0);
  });

  test("rejects if the peer cannot be reached or the caller gives up", async () => {
    const gone: Change = () => ({
      getServers: async () => {
        throw new ChannelzError("PEER_UNAVAILABLE", "gone");
      },
    });
    await expect(checkConformance(createModelEndpoint(gone))).rejects.toMatchObject({ code: "PEER_UNAVAILABLE" });
    const signal = AbortSignal.abort();
    await expect(checkConformance(createModelEndpoint(), { signal })).rejects.toMatchObject({ code: "PEER_TIMEOUT" });
  });
});
