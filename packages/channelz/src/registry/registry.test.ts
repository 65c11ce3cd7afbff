import { toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { beforeEach, describe, expect, test } from "vitest";
import type { EncodedRead } from "../encoded-source.js";
import { ChannelzError } from "../errors.js";
import {
  ChannelConnectivityState_StateSchema,
  GetSocketResponseSchema,
  GetTopChannelsResponseSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { ConnectivityState } from "./connectivity.js";
import { createRegistry, type Registry, type SocketInit } from "./registry.js";
import { lingerOption, tcpInfoOption, timeoutOption } from "./socket-options.js";

let time: number;
let registry: Registry;

beforeEach(() => {
  time = 1_700_000_000_000;
  registry = createRegistry({ clock: { now: () => time } });
});

async function codeOf(read: Promise<unknown>): Promise<string | undefined> {
  return read.then(
    () => undefined,
    (error: unknown) => (ChannelzError.is(error) ? error.code : String(error)),
  );
}

describe("ids", () => {
  test("[CZ-REF-1] [CZ-REF-2] [CZ-D-ID-1] assigns ids of all kinds from one ascending sequence, and never twice", () => {
    const ids: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const channel = registry.addChannel();
      const subchannel = registry.addSubchannel({ parent: channel });
      const server = registry.addServer();
      const added = [channel, subchannel, server, registry.addSocket({ server })];
      ids.push(...added.map((one) => one.id));
      for (const one of added) one.close();
    }
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids[0]).toBe(1);
  });

  test("says of each handle what kind of object it is", () => {
    const server = registry.addServer();
    const handles = [registry.addChannel(), registry.addSubchannel(), server, registry.addSocket({ server })];
    expect(handles.map(({ kind }) => kind)).toEqual(["channel", "subchannel", "server", "socket"]);
  });

  test("[CZ-REF-3] includes the name of an object in its ref if it has one", async () => {
    const named = registry.addChannel({ name: "orders" });
    const plain = registry.addChannel();
    const { channel } = await registry.getTopChannels();
    expect(channel.map((one) => [Number(one.ref?.channelId), one.ref?.name])).toEqual([
      [named.id, "orders"],
      [plain.id, ""],
    ]);
  });
});

describe("channels", () => {
  test("[CZ-CHANNEL-1] [CZ-OP-6] [CZ-DATA-1] [CZ-STATE-1] returns a channel with its ref, state and target", async () => {
    const channel = registry.addChannel({ target: "dns:///orders" });
    const nested = registry.addChannel({ parent: channel });
    const { channel: top } = await registry.getChannel(channel.id);
    expect(top?.ref?.channelId).toBe(BigInt(channel.id));
    expect(top?.data?.state?.state).toBe(1);
    expect(top?.data?.target).toBe("dns:///orders");
    expect((await registry.getChannel(BigInt(nested.id))).channel?.data?.target).toBe("");
  });

  test("[CZ-DATA-1] keeps the first target of a channel through every change of state, link and child, and after close", async () => {
    const init = { target: "dns:///orders", name: "orders" };
    const channel = registry.addChannel(init);
    const target = async (): Promise<string | undefined> =>
      (await registry.getChannel(channel.id)).channel?.data?.target;
    init.target = "dns:///elsewhere";
    channel.setState("CONNECTING", "10.0.0.7:443");
    channel.setState("TRANSIENT_FAILURE", "connection refused");
    const subchannel = registry.addSubchannel({ parent: channel, target: "10.0.0.8:443" });
    registry.addChannel({ target: "dns:///parent" }).link(channel);
    subchannel.setState("CONNECTING");
    expect(await target()).toBe("dns:///orders");
    channel.close();
    expect(await target()).toBe("dns:///orders");
  });

  test("[CZ-DATA-3] [CZ-DATA-4] [CZ-DATA-5] [CZ-DATA-6] [CZ-SERVER-4] [CZ-D-TIME-1] counts the calls of a channel and a server, and the time of the last start", async () => {
    const [channel, server] = [registry.addChannel(), registry.addServer()];
    const before = (await registry.getChannel(channel.id)).channel?.data;
    expect(before?.lastCallStartedTimestamp).toBeUndefined();
    expect((await registry.getServer(server.id)).server?.data?.lastCallStartedTimestamp).toBeUndefined();
    for (let i = 0; i < 5; i += 1) {
      time += 1000;
      for (const counter of [channel, server]) counter.callStarted();
    }
    time += 1000;
    for (const counter of [channel, server]) {
      counter.callSucceeded();
      counter.callSucceeded();
      counter.callFailed();
    }
    const { channel: shownChannel } = await registry.getChannel(channel.id);
    const { server: shownServer } = await registry.getServer(server.id);
    for (const data of [shownChannel?.data, shownServer?.data]) {
      expect([data?.callsStarted, data?.callsSucceeded, data?.callsFailed]).toEqual([5n, 2n, 1n]);
      expect(timestampMs(data!.lastCallStartedTimestamp!)).toBe(1_700_000_005_000);
    }
  });

  test.each(["callStarted", "callSucceeded", "callFailed"] as const)(
    "[CZ-DATA-3] [CZ-DATA-4] [CZ-DATA-5] counts %s first of all for one channel only",
    async (count) => {
      const [channel, other] = [registry.addChannel(), registry.addChannel()];
      channel[count]();
      const read = async (id: number): Promise<unknown[]> => {
        const { data } = (await registry.getChannel(id)).channel!;
        return [data?.callsStarted, data?.callsSucceeded, data?.callsFailed];
      };
      const expected = ["callStarted", "callSucceeded", "callFailed"].map((one) => (one === count ? 1n : 0n));
      expect(await read(channel.id)).toEqual(expected);
      expect(await read(other.id)).toEqual([0n, 0n, 0n]);
    },
  );

  test("[CZ-STATE-1] [CZ-D-STATE-1] starts a channel in the given state, and changes it from UNKNOWN to any other without a warning", async () => {
    const channel = registry.addChannel({ state: "UNKNOWN" });
    const subchannel = registry.addSubchannel({ parent: channel, state: "READY" });
    const states = async (): Promise<unknown[]> => [
      (await registry.getChannel(channel.id)).channel?.data?.state?.state,
      (await registry.getSubchannel(subchannel.id)).subchannel?.data?.state?.state,
    ];
    expect(await states()).toEqual([0, 3]);
    channel.setState("READY");
    expect(await states()).toEqual([3, 3]);
    const { data } = (await registry.getChannel(channel.id)).channel!;
    expect(data?.trace?.events.at(-1)).toMatchObject({ description: "UNKNOWN -> READY", severity: 1 });
    expect(() => registry.addChannel({ state: "FINE" as "READY" })).toThrow(TypeError);
    expect(registry.size.channels).toBe(1);
  });

  test.each(ChannelConnectivityState_StateSchema.values)(
    "[CZ-STATE-1] reports the state $name by its number in the schema",
    async ({ name, number }) => {
      const channel = registry.addChannel({ state: name as ConnectivityState });
      expect((await registry.getChannel(channel.id)).channel?.data?.state?.state).toBe(number);
      const subchannel = registry.addSubchannel({ state: name as ConnectivityState });
      expect((await registry.getSubchannel(subchannel.id)).subchannel?.data?.state?.state).toBe(number);
    },
  );

  test("[CZ-SUBCHANNEL-1] [CZ-OP-7] returns a subchannel with its ref and data", async () => {
    const channel = registry.addChannel();
    const subchannel = registry.addSubchannel({ parent: channel, name: "b", target: "127.0.0.1:1" });
    subchannel.callStarted();
    const { subchannel: reported } = await registry.getSubchannel(subchannel.id);
    expect(reported?.ref).toMatchObject({ subchannelId: BigInt(subchannel.id), name: "b" });
    expect(reported?.data).toMatchObject({ target: "127.0.0.1:1", callsStarted: 1n });
  });
});

describe("servers", () => {
  test("[CZ-SERVER-1] [CZ-SERVER-2] [CZ-SERVER-3] [CZ-SERVER-4] [CZ-OP-4] returns a server with its calls and listen sockets", async () => {
    const server = registry.addServer({ name: "api" });
    expect((await registry.getServer(server.id)).server?.listenSocket).toEqual([]);
    const listen = registry.addListenSocket({ server, local: { ip: "127.0.0.1", port: 80 } });
    registry.addSocket({ server });
    server.callStarted();
    time += 5;
    server.callStarted();
    server.callSucceeded();
    server.callFailed();
    const { server: reported } = await registry.getServer(server.id);
    expect(reported?.ref).toMatchObject({ serverId: BigInt(server.id), name: "api" });
    expect(reported?.listenSocket.map((ref) => Number(ref.socketId))).toEqual([listen.id]);
    expect(reported?.data).toMatchObject({ callsStarted: 2n, callsSucceeded: 1n, callsFailed: 1n });
    expect(timestampMs(reported!.data!.lastCallStartedTimestamp!)).toBe(time);
  });

  test("[CZ-SERVER-6] [CZ-OP-3] [CZ-OP-5] lists several servers, each with only its own sockets", async () => {
    const one = registry.addServer();
    const two = registry.addServer();
    const socket = registry.addSocket({ server: one, name: "a" });
    registry.addSocket({ server: two });
    const { server, end } = await registry.getServers();
    expect(server.map((reported) => Number(reported.ref?.serverId))).toEqual([one.id, two.id]);
    expect(end).toBe(true);
    const { socketRef } = await registry.getServerSockets(one.id);
    expect(socketRef.map((ref) => [Number(ref.socketId), ref.name])).toEqual([[socket.id, "a"]]);
  });
});

describe("sockets", () => {
  test("[CZ-SOCKET-5] [CZ-SOCKET-6] [CZ-SOCKET-7] [CZ-SOCKET-8] [CZ-SOCKET-9] counts streams, messages and keep-alives of a socket", async () => {
    const socket = registry.addSocket();
    socket.localStreamStarted();
    socket.localStreamStarted();
    socket.remoteStreamStarted();
    socket.streamSucceeded();
    socket.streamFailed();
    socket.streamFailed();
    for (let i = 0; i < 4; i += 1) socket.messageSent();
    for (let i = 0; i < 5; i += 1) socket.messageReceived();
    for (let i = 0; i < 6; i += 1) socket.keepAliveSent();
    const { socket: reported } = await registry.getSocket(socket.id);
    expect(reported?.data).toMatchObject({
      streamsStarted: 3n,
      streamsSucceeded: 1n,
      streamsFailed: 2n,
      messagesSent: 4n,
      messagesReceived: 5n,
      keepAlivesSent: 6n,
    });
  });

  test.each([
    ["localStreamStarted", "streamsStarted"],
    ["remoteStreamStarted", "streamsStarted"],
    ["streamSucceeded", "streamsSucceeded"],
    ["streamFailed", "streamsFailed"],
    ["messageSent", "messagesSent"],
    ["messageReceived", "messagesReceived"],
    ["keepAliveSent", "keepAlivesSent"],
  ] as const)(
    "[CZ-SOCKET-5] [CZ-SOCKET-6] [CZ-SOCKET-7] [CZ-SOCKET-8] [CZ-SOCKET-9] counts %s first of all for one socket only, as %s",
    async (count, field) => {
      const [socket, other] = [registry.addSocket(), registry.addSocket()];
      socket[count]();
      expect((await registry.getSocket(socket.id)).socket?.data?.[field]).toBe(1n);
      expect((await registry.getSocket(other.id)).socket?.data?.[field]).toBe(0n);
    },
  );

  test("keeps the remote name of a socket if nothing else is known about it", async () => {
    const { id } = registry.addSocket({ remoteName: "orders.example" });
    expect((await registry.getSocket(id)).socket?.remoteName).toBe("orders.example");
  });

  test("does not call the describer of a socket without a subject", async () => {
    const describe = (): never => {
      throw new Error("asked");
    };
    const { id } = registry.addSocket({ describe });
    expect((await registry.getSocket(id)).socket?.data?.option).toEqual([]);
  });

  test("reports no options for a socket with a subject and without a describer", async () => {
    const { id } = registry.addSocket({ subject: {} });
    expect((await registry.getSocket(id)).socket?.data?.option).toEqual([]);
  });

  test("does not find a socket by the method of another kind, and names the kind of the id", async () => {
    const { id } = registry.addSocket();
    await expect(registry.getServer(id)).rejects.toThrow(`There is no server ${id}: this is the id of a socket.`);
    await expect(registry.getServer(id + 1)).rejects.toThrow(`There is no server ${id + 1}. It never existed`);
  });

  test("[CZ-SOCKET-10] [CZ-SOCKET-11] [CZ-SOCKET-12] [CZ-D-TIME-1] reports the times of a socket, and omits those that never occurred", async () => {
    const client = registry.addSocket();
    const server = registry.addSocket();
    client.localStreamStarted();
    time += 1;
    client.messageSent();
    time += 1;
    server.remoteStreamStarted();
    time += 1;
    server.messageReceived();
    const ofClient = (await registry.getSocket(client.id)).socket!.data!;
    const ofServer = (await registry.getSocket(server.id)).socket!.data!;
    expect(timestampMs(ofClient.lastLocalStreamCreatedTimestamp!)).toBe(1_700_000_000_000);
    expect(timestampMs(ofClient.lastMessageSentTimestamp!)).toBe(1_700_000_000_001);
    expect(ofClient.lastRemoteStreamCreatedTimestamp).toBeUndefined();
    expect(ofClient.lastMessageReceivedTimestamp).toBeUndefined();
    expect(timestampMs(ofServer.lastRemoteStreamCreatedTimestamp!)).toBe(1_700_000_000_002);
    expect(timestampMs(ofServer.lastMessageReceivedTimestamp!)).toBe(1_700_000_000_003);
    expect(ofServer.lastLocalStreamCreatedTimestamp).toBeUndefined();
    expect(ofServer.lastMessageSentTimestamp).toBeUndefined();
  });

  test("[CZ-SOCKET-10] [CZ-SOCKET-11] [CZ-SOCKET-12] reports the latest of several streams and messages", async () => {
    const socket = registry.addSocket();
    const stamps = {
      lastLocalStreamCreatedTimestamp: () => socket.localStreamStarted(),
      lastRemoteStreamCreatedTimestamp: () => socket.remoteStreamStarted(),
      lastMessageSentTimestamp: () => socket.messageSent(),
      lastMessageReceivedTimestamp: () => socket.messageReceived(),
    };
    for (let round = 0; round < 3; round += 1) {
      for (const [field, stamp] of Object.entries(stamps)) {
        time += 10;
        stamp();
        const { data } = (await registry.getSocket(socket.id)).socket!;
        expect(timestampMs(data![field as keyof typeof stamps]!), `${field}, round ${round}`).toBe(time);
      }
    }
  });

  test("[CZ-SOCKET-1] [CZ-SOCKET-2] [CZ-SOCKET-3] [CZ-SOCKET-4] [CZ-OP-8] returns a socket with its addresses, and without fields that it does not have", async () => {
    const server = registry.addServer();
    const listen = registry.addListenSocket({ server, local: { ip: "0.0.0.0", port: 443 } });
    const { socket: bare } = await registry.getSocket(listen.id);
    expect(bare?.local?.address.case).toBe("tcpipAddress");
    expect(bare?.remote).toBeUndefined();
    expect(bare?.security).toBeUndefined();
    expect(bare?.remoteName).toBe("");
    const connection = registry.addSocket({
      local: { ip: "10.0.0.1", port: 50_000 },
      remote: { ip: "2001:db8::1", port: 443 },
      remoteName: "orders-7",
    });
    const { socket: reported } = await registry.getSocket(connection.id);
    expect(reported?.remote?.address.value).toMatchObject({ port: 443 });
    expect(reported?.remoteName).toBe("orders-7");
  });

  test("[CZ-ADDR-1] [CZ-ADDR-3] [CZ-ADDR-4] [CZ-ADDR-5] returns addresses of each kind, each with one member", async () => {
    const value = { type: "example.v1.Pipes", value: Uint8Array.of(1) };
    const socket = registry.addSocket({ local: { path: "/run/a.sock" }, remote: { name: "pid 7 (node)", value } });
    const { socket: reported } = await registry.getSocket(socket.id);
    expect(reported?.local?.address).toMatchObject({ case: "udsAddress", value: { filename: "/run/a.sock" } });
    expect(reported?.remote?.address).toMatchObject({
      case: "otherAddress",
      value: {
        name: "pid 7 (node)",
        value: { typeUrl: "type.googleapis.com/example.v1.Pipes", value: Uint8Array.of(1) },
      },
    });
    const portless = registry.addSocket({
      local: { ip: "::ffff:127.0.0.1", port: -1 },
      remote: { ip: "no-ip", port: 5 },
    });
    const { socket: other } = await registry.getSocket(portless.id);
    expect(other?.local?.address).toMatchObject({
      case: "tcpipAddress",
      value: { ipAddress: Uint8Array.of(127, 0, 0, 1), port: -1 },
    });
    expect(other?.remote?.address).toMatchObject({ case: "otherAddress", value: { name: "no-ip:5" } });
    for (const port of [-2, 65_536, 1.5, Number.NaN]) {
      expect(() => registry.addSocket({ local: { ip: "127.0.0.1", port } })).toThrow(/must be 0 to 65535/);
    }
    for (const port of [0, 1, 65_535]) {
      const { id } = registry.addSocket({ local: { ip: "127.0.0.1", port } });
      expect((await registry.getSocket(id)).socket?.local?.address.value).toMatchObject({ port });
    }
  });

  test("[CZ-SEC-1] [CZ-SEC-2] [CZ-SEC-3] reports how a socket is secured", async () => {
    const certificate = new Uint8Array(700).fill(7);
    const securities = [
      {
        tls: {
          standardName: "TLS_AES_128_GCM_SHA256",
          localCertificate: certificate,
          remoteCertificate: Uint8Array.of(8),
        },
      },
      { tls: { otherName: "house blend" } },
      { other: { name: "alts", value: { type: "example.v1.Alts", value: Uint8Array.of(9) } } },
    ];
    const reported = [];
    for (const security of securities) {
      reported.push((await registry.getSocket(registry.addSocket({ security }).id)).socket?.security?.model);
    }
    expect(reported[0]).toMatchObject({
      case: "tls",
      value: {
        cipherSuite: { case: "standardName", value: "TLS_AES_128_GCM_SHA256" },
        localCertificate: certificate,
        remoteCertificate: Uint8Array.of(8),
      },
    });
    expect(reported[1]).toMatchObject({
      case: "tls",
      value: { cipherSuite: { case: "otherName", value: "house blend" } },
    });
    expect(reported[2]).toMatchObject({
      case: "other",
      value: {
        name: "alts",
        value: { typeUrl: "type.googleapis.com/example.v1.Alts", value: Uint8Array.of(9) },
      },
    });
  });

  test("[CZ-ADDR-5] [CZ-SEC-2] [CZ-SEC-3] omits the optional fields of an address and of security that are not given", async () => {
    const read = async (init: SocketInit) => (await registry.getSocket(registry.addSocket(init).id)).socket;
    const named = await read({ remote: { name: "pid 7" }, security: { other: { name: "alts" } } });
    expect(named?.remote?.address.value).toMatchObject({ name: "pid 7" });
    expect(named?.remote?.address.value).not.toHaveProperty("value");
    expect(named?.security?.model.value).toMatchObject({ name: "alts" });
    expect(named?.security?.model.value).not.toHaveProperty("value");
    const { security } = (await read({ security: { tls: {} } }))!;
    expect(security?.model).toMatchObject({ case: "tls", value: { cipherSuite: { case: undefined } } });
  });

  test("[CZ-OP-9] [CZ-D-SUMMARY-1] [CZ-SOCKET-13] [CZ-SOCKET-14] [CZ-SOCKET-15] calls the describer for each read of details, and never for a summary", async () => {
    let asked = 0;
    const subject = { window: 0 };
    const socket = registry.addSocket({
      local: { ip: "127.0.0.1", port: 1 },
      subject,
      describe: ({ window }) => {
        asked += 1;
        return {
          localFlowControlWindow: window,
          remoteFlowControlWindow: 65_535,
          options: [{ name: "TCP_NODELAY", value: "1" }],
        };
      },
    });
    const summary = (await registry.getSocket(socket.id, { summary: true })).socket!;
    expect(asked).toBe(0);
    expect(summary.data?.option).toEqual([]);
    expect(summary.data?.localFlowControlWindow).toBeUndefined();
    expect(summary.local).toBeDefined();
    const full = (await registry.getSocket(socket.id)).socket!;
    expect(full.data?.localFlowControlWindow).toBe(0n);
    expect(full.data?.remoteFlowControlWindow).toBe(65_535n);
    expect(full.data?.option[0]).toMatchObject({ name: "TCP_NODELAY", value: "1" });
    subject.window = 5;
    expect((await registry.getSocket(socket.id)).socket!.data?.localFlowControlWindow).toBe(5n);
    socket.close();
    await registry.getSocket(socket.id);
    expect(asked).toBe(2);
  });

  test("[CZ-OPT-1] [CZ-OPT-2] [CZ-OPT-3] [CZ-D-VER-2] returns socket options with their payloads, named after the requested package", () => {
    const socket = registry.addSocket({
      subject: {},
      describe: () => ({
        options: [
          timeoutOption("SO_RCVTIMEO", 1500),
          lingerOption(true, 2000),
          tcpInfoOption({ tcpiState: 1, tcpiReordering: 3 }),
        ],
      }),
    });
    const read = { method: "GetSocket", id: BigInt(socket.id), summary: false } as const;
    for (const channelzPackage of ["rpc.channelz.v1", "grpc.channelz.v1"] as const) {
      const text = Buffer.from(registry.encode(read, channelzPackage, 0)).toString("latin1");
      for (const payload of ["SocketOptionTimeout", "SocketOptionLinger", "SocketOptionTcpInfo"]) {
        expect(text).toContain(`type.googleapis.com/${channelzPackage}.${payload}`);
      }
    }
  });

  test.each([
    ["an empty local address", { local: {} }, /`local` requires/],
    ["a remote address with an empty name", { remote: { name: "" } }, /`remote` requires/],
    ["security of no kind", { security: {} }, /`security` requires/],
    ["other security without a name", { security: { other: { name: "" } } }, /non-empty `name`/],
  ])("[CZ-ADDR-1] [CZ-ADDR-5] [CZ-SEC-3] [CZ-D-INPUT-1] refuses a socket with %s", (_what, init, message) => {
    expect(() => registry.addSocket(init as SocketInit)).toThrow(message);
    expect(registry.size.sockets).toBe(0);
  });

  test("[CZ-SEC-1] reports a cipher suite only by its standard name if the application gives both names", async () => {
    const security = { tls: { standardName: "TLS_AES_128_GCM_SHA256", otherName: "house blend" } };
    const { id } = registry.addSocket({ security });
    const bytes = registry.encode({ method: "GetSocket", id: BigInt(id), summary: false }, "rpc.channelz.v1", 0);
    expect(Buffer.from(bytes).toString("latin1")).toContain("TLS_AES_128_GCM_SHA256");
    expect(Buffer.from(bytes).toString("latin1")).not.toContain("house blend");
  });

  test("[CZ-OPT-2] omits only the details if a describer fails or returns invalid values", async () => {
    const describers = [
      () => {
        throw new RangeError("secret-value");
      },
      () => ({ options: [{ name: "SO_NOTHING" }] }),
      () => ({ options: [{ name: "SO_NOTHING", value: "" }] }),
      () => ({ options: [{ name: "", value: "1" }] }),
      () => ({ local: {} as never }),
      () => ({ local: { ip: "127.0.0.1", port: 70_000 } }),
    ];
    for (const describe of describers) {
      const socket = registry.addSocket({ subject: {}, describe });
      socket.messageSent();
      const { socket: reported } = await registry.getSocket(socket.id);
      expect(reported?.data?.messagesSent).toBe(1n);
      expect(reported?.data?.option.map(({ name }) => name)).toEqual(["DESCRIBE_FAILED"]);
      expect(JSON.stringify(reported?.data?.option)).not.toContain("secret-value");
    }
  });

  test("allows a describer to read from the registry", async () => {
    const other = registry.addChannel({ target: "other" });
    const socket = registry.addSocket({
      subject: {},
      describe: () => {
        registry.encode({ method: "GetChannel", id: BigInt(other.id) }, "rpc.channelz.v1", 0);
        return { remoteName: "seen" };
      },
    });
    expect((await registry.getSocket(socket.id)).socket?.remoteName).toBe("seen");
  });
});

describe("lookups", () => {
  test("[CZ-ERR-1] [CZ-D-ARG-3] [CZ-D-ARG-4] [CZ-D-ARG-5] returns NOT_FOUND for ids that are unknown, not positive or of another kind", async () => {
    const channel = registry.addChannel();
    const subchannel = registry.addSubchannel({ parent: channel });
    const server = registry.addServer();
    const socket = registry.addSocket({ server });
    const reads = {
      channel: (id: bigint) => registry.getChannel(id),
      subchannel: (id: bigint) => registry.getSubchannel(id),
      server: (id: bigint) => registry.getServer(id),
      sockets: (id: bigint) => registry.getServerSockets(id),
      socket: (id: bigint) => registry.getSocket(id),
    };
    const right: Record<string, number> = {
      channel: channel.id,
      subchannel: subchannel.id,
      server: server.id,
      sockets: server.id,
      socket: socket.id,
    };
    for (const [name, read] of Object.entries(reads)) {
      for (const id of [channel.id, subchannel.id, server.id, socket.id, 99, 0, -1, 2n ** 63n - 1n, -(2n ** 63n)]) {
        expect(await codeOf(read(BigInt(id))), `${name} ${id}`).toBe(id === right[name] ? undefined : "NOT_FOUND");
      }
    }
  });

  test("[CZ-OP-1] changes nothing in the registry, by any of the seven methods", async () => {
    const channel = registry.addChannel();
    const subchannel = registry.addSubchannel({ parent: channel });
    const server = registry.addServer();
    const socket = registry.addSocket({ server, local: { ip: "127.0.0.1", port: 1 } });
    channel.callStarted();
    const page = { startId: 0n, maxResults: 0n };
    const reads: EncodedRead[] = [
      { method: "GetTopChannels", ...page },
      { method: "GetServers", ...page },
      { method: "GetServer", id: BigInt(server.id) },
      { method: "GetServerSockets", id: BigInt(server.id), ...page },
      { method: "GetChannel", id: BigInt(channel.id) },
      { method: "GetSubchannel", id: BigInt(subchannel.id) },
      { method: "GetSocket", id: BigInt(socket.id), summary: false },
    ];
    const readAll = (): Buffer[] => reads.map((read) => Buffer.from(registry.encode(read, "rpc.channelz.v1", 0)));
    const before = readAll();
    for (let i = 0; i < 20; i += 1) {
      time += 1000;
      readAll();
    }
    expect(readAll()).toEqual(before);
    expect(registry.addChannel().id, "no id was used by a read").toBe(socket.id + 1);
  });
});

test("returns the same bytes to a reader in this process as on the wire", async () => {
  const channel = registry.addChannel({ name: "é".repeat(100), target: "x".repeat(300) });
  const subchannel = registry.addSubchannel({ parent: channel });
  subchannel.setState("CONNECTING", "because");
  const socket = registry.addSocket({
    parent: subchannel,
    local: { ip: "127.0.0.1", port: 1 },
    remote: { path: "/x" },
    security: { tls: { standardName: "TLS", remoteCertificate: new Uint8Array(20_000) } },
  });
  const encoded = registry.encode({ method: "GetSocket", id: BigInt(socket.id), summary: false }, "rpc.channelz.v1", 0);
  expect(Buffer.from(toBinary(GetSocketResponseSchema, await registry.getSocket(socket.id))).equals(encoded)).toBe(
    true,
  );
  const page = registry.encode({ method: "GetTopChannels", startId: 0n, maxResults: 0n }, "rpc.channelz.v1", 0);
  expect(Buffer.from(toBinary(GetTopChannelsResponseSchema, await registry.getTopChannels())).equals(page)).toBe(true);
});

test("counts after close while the object is kept, and ignores counts afterwards", async () => {
  const small = createRegistry({ maxClosed: 1 });
  const first = small.addSocket();
  first.messageSent();
  first.close();
  first.messageSent();
  expect((await small.getSocket(first.id)).socket?.data?.messagesSent).toBe(2n);
  const second = small.addSocket();
  second.close();
  first.messageSent();
  first.localStreamStarted();
  const third = small.addSocket();
  third.messageSent();
  first.messageSent();
  first.localStreamStarted();
  expect((await small.getSocket(third.id)).socket?.data).toMatchObject({ messagesSent: 1n, streamsStarted: 0n });
  expect(await codeOf(small.getSocket(first.id))).toBe("NOT_FOUND");
});

test("never counts for another object after an object was removed, even if an event named it later", async () => {
  const small = createRegistry({ maxClosed: 0, maxTraceEvents: 1 });
  const gone = small.addChannel();
  gone.callStarted();
  gone.close();
  const channel = small.addChannel();
  for (let i = 0; i < 3; i += 1) channel.trace(`about it ${i}`, { child: gone });
  channel.trace("about nothing");
  const others = [small.addChannel(), small.addChannel(), small.addServer()];
  for (const other of others) other.callStarted();
  for (let i = 0; i < 5; i += 1) {
    gone.callStarted();
    gone.callFailed();
  }
  const data = [
    (await small.getChannel(others[0]!.id)).channel?.data,
    (await small.getChannel(others[1]!.id)).channel?.data,
    (await small.getServer(others[2]!.id)).server?.data,
  ];
  expect(data.map((one) => [one?.callsStarted, one?.callsFailed])).toEqual(Array(3).fill([1n, 0n]));
});

test("rejects a limit that is not an integer with a TypeError that names it", () => {
  expect(() => createRegistry({ maxClosed: -1 })).toThrow(/maxClosed must be a non-negative integer/);
  expect(() => createRegistry({ maxTraceEvents: 1.5 })).toThrow(/maxTraceEvents/);
});

test.each<[string, (registry: Registry) => unknown]>([
  ["`target` must be a string, not an instance of URL", (registry) => registry.addChannel({ target: url as never })],
  ["`target` must be a string", (registry) => registry.addSubchannel({ target: 443 as never })],
  ["`name` must be a string, not null", (registry) => registry.addServer({ name: null as never })],
  ["`name` must be a string, not 5", (registry) => registry.addChannel({ name: 5 as never })],
  ["`name` must be a string", (registry) => registry.addSocket({ name: 5 as never })],
  ["`remoteName` must be a string", (registry) => registry.addSocket({ remoteName: 5 as never })],
  ["`remote.path` must be a string", (registry) => registry.addSocket({ remote: { path: 5 as never } })],
  ["`local.name` must be a string", (registry) => registry.addSocket({ local: { name: 5 as never } })],
  ["`remote` must be an object", (registry) => registry.addSocket({ remote: "10.0.0.1:443" as never })],
])("throws a TypeError, %s, for a value that would make every later list fail", async (message, add) => {
  const registry = createRegistry();
  expect(() => add(registry)).toThrow(TypeError);
  expect(() => add(registry)).toThrow(message);
  await expect(registry.getTopChannels()).resolves.toMatchObject({ channel: [] });
  await expect(registry.getServers()).resolves.toMatchObject({ server: [] });
});
const url = new URL("http://orders.internal/");
