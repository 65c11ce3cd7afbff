import { clone, create, equals, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { ChannelzError } from "./errors.js";
import {
  ChannelTraceEvent_Severity,
  GetServerResponseSchema,
  GetSocketResponseSchema,
  GetTopChannelsResponseSchema,
  SocketOptionLingerSchema,
} from "./gen/rpc/channelz/v1/channelz_pb.js";
import { redactSource } from "./redact.js";
import { createRegistry } from "./registry/registry.js";
import type { Source } from "./source.js";

/** A source with only these responses. */
const sourceOf = (reads: Partial<Source>): Source => Object.assign(createRegistry(), reads);

const socketResponse = (init: MessageInitShape<typeof GetSocketResponseSchema>): Source =>
  sourceOf({ getSocket: async () => create(GetSocketResponseSchema, init) });

const certificate = new Uint8Array([0x30, 0x82, 1, 2]);

const secured = {
  socket: {
    ref: { socketId: 3n, name: "10.1.2.3:80" },
    data: {
      streamsStarted: 7n,
      option: [
        { name: "SO_LINGER", additional: anyPack(SocketOptionLingerSchema, create(SocketOptionLingerSchema)) },
        { name: "IP_ORIGINAL_DST", additional: { typeUrl: "type.example/Sockaddr", value: new Uint8Array([1]) } },
      ],
    },
    local: { address: { case: "tcpipAddress", value: { ipAddress: new Uint8Array([10, 1, 2, 3]), port: 80 } } },
    security: {
      model: {
        case: "tls",
        value: {
          cipherSuite: { case: "standardName", value: "TLS_AES_128_GCM_SHA256" },
          localCertificate: certificate,
          remoteCertificate: certificate,
        },
      },
    },
    remoteName: "db.internal",
  },
} as const satisfies MessageInitShape<typeof GetSocketResponseSchema>;

test("[CZ-D-ACCESS-7] removes certificates, and keeps the name of the cipher", async () => {
  const { socket } = await redactSource(socketResponse(secured), { addresses: false }).getSocket(3);
  expect(socket?.security?.model).toMatchObject({
    case: "tls",
    value: {
      cipherSuite: { value: "TLS_AES_128_GCM_SHA256" },
      localCertificate: new Uint8Array(),
      remoteCertificate: new Uint8Array(),
    },
  });
  expect(socket?.local?.address.case).toBe("tcpipAddress");
  expect(socket?.remoteName).toBe("db.internal");
});

test("removes the details of other security together with the certificates", async () => {
  const security = {
    model: { case: "other", value: { name: "alts", value: { typeUrl: "type.example/Peer" } } },
  } as const;
  const { socket } = await redactSource(socketResponse({ socket: { security } })).getSocket(3);
  expect(socket?.security?.model.value).toMatchObject({ name: "alts" });
  expect(socket?.security?.model.value).not.toHaveProperty("value");
});

test("[CZ-D-ACCESS-7] replaces addresses by an other address named redacted, removes names, and keeps absent addresses absent", async () => {
  const { socket } = await redactSource(socketResponse(secured), { certificates: false }).getSocket(3);
  expect(socket?.local?.address).toMatchObject({ case: "otherAddress", value: { name: "redacted" } });
  expect(socket?.remote).toBeUndefined();
  expect(socket?.ref).toMatchObject({ socketId: 3n, name: "redacted" });
  expect(socket?.remoteName).toBe("redacted");
  expect(socket?.data?.streamsStarted).toBe(7n);
  expect(socket?.security?.model).toMatchObject({ value: { localCertificate: certificate } });
});

test("keeps option payloads that the specification defines, and removes unknown ones together with the addresses", async () => {
  const { socket } = await redactSource(socketResponse(secured)).getSocket(3);
  expect(socket?.data?.option[0]?.additional?.typeUrl).toMatch(/SocketOptionLinger$/);
  expect(socket?.data?.option[1]).toMatchObject({ name: "IP_ORIGINAL_DST", value: "redacted" });
  expect(socket?.data?.option[1]?.additional).toBeUndefined();
});

test("redacts targets and names of channels in pages and in the refs of traces", async () => {
  const registry = createRegistry();
  const channel = registry.addChannel({ target: "dns:///db.internal:5432", name: "db.internal" });
  const subchannel = registry.addSubchannel({ parent: channel, target: "10.1.2.3:5432", name: "10.1.2.3:5432" });
  const socket = registry.addSocket({ parent: subchannel, name: "10.1.2.3:5432", local: { ip: "10.1.2.3", port: 9 } });
  channel.trace("Resolved db.internal to 10.1.2.3:5432 and [fd00::1]:5432", { child: subchannel });
  const held = [channel, subchannel, socket];
  const source = redactSource(registry);
  const responses = [
    await source.getTopChannels(),
    await source.getSubchannel(subchannel.id),
    await source.getSocket(socket.id),
  ];
  const words = JSON.stringify(responses, (_, value) => (typeof value === "bigint" ? String(value) : value));
  expect(words).toContain("redacted");
  expect(held).toHaveLength(3);
  expect(words).not.toMatch(/10\.1\.2\.3|5432|db\.internal|fd00/);
});

test.each([
  ["connect ECONNREFUSED 10.0.0.7:443", "connect ECONNREFUSED redacted"],
  ["connect ECONNREFUSED ::1:50051", "connect ECONNREFUSED redacted"],
  ["peer fe80::1%eth0 left", "peer redacted"],
  ["connect ENOENT /run/app/db.sock", "connect ENOENT redacted"],
  ["dialling unix:/run/db.sock", "dialling redacted"],
  ["getaddrinfo ENOTFOUND db.prod.example", "getaddrinfo ENOTFOUND redacted"],
  ["GET https://user@host/path?q=1 failed", "GET redacted failed"],
  ["retry 3 of 5 at 12.5 s: READY", "retry 3 of 5 at 12.5 s: READY"],
])("replaces %j in the description of an event by %j", async (description, masked) => {
  const source = sourceOf({
    getServer: async () =>
      create(GetServerResponseSchema, {
        server: {
          ref: { serverId: 1n, name: "api" },
          data: { trace: { events: [{ description, severity: ChannelTraceEvent_Severity.CT_INFO }] } },
        },
      }),
  });
  const { server } = await redactSource(source).getServer(1);
  expect(server?.ref?.name).toBe("api");
  expect(server?.data?.trace?.events[0]?.description).toContain(masked);
});

test("does not change the messages of the source", async () => {
  const original = create(GetTopChannelsResponseSchema, {
    channel: [{ ref: { channelId: 1n, name: "a:1" }, data: { target: "a:1" } }],
    end: true,
  });
  const before = clone(GetTopChannelsResponseSchema, original);
  const response = await redactSource(sourceOf({ getTopChannels: async () => original })).getTopChannels();
  expect(response.channel[0]?.data?.target).toBe("redacted");
  expect(equals(GetTopChannelsResponseSchema, original, before)).toBe(true);
});

test("removes fields that the schema does not know", async () => {
  const response = create(GetSocketResponseSchema, { socket: { ref: { socketId: 3n } } });
  if (response.socket) response.socket.$unknown = [{ no: 99, wireType: 2, data: new Uint8Array([1, 10]) }];
  const { socket } = await redactSource(sourceOf({ getSocket: async () => response })).getSocket(3);
  expect(socket).not.toHaveProperty("$unknown");
});

test("keeps the code of an error and removes its addresses", async () => {
  const source = sourceOf({
    getSocket: async () => {
      throw new ChannelzError("PEER_UNAVAILABLE", "10.0.0.7:443 cannot be reached.");
    },
  });
  await expect(redactSource(source).getSocket(1)).rejects.toMatchObject({
    code: "PEER_UNAVAILABLE",
    message: "redacted cannot be reached.",
  });
});
