import { once } from "node:events";
import { type ClientHttp2Session, createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterEach, expect, test } from "vitest";
import { channelzPackages } from "../channelz-package.js";
import {
  GetSocketResponseSchema,
  GetTopChannelsRequestSchema,
  GetTopChannelsResponseSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { eventually, grpcFrame, openSession, rawGrpc } from "../listener/raw-caller.test.helper.js";
import { createRegistry } from "../registry/registry.js";
import { lingerOption } from "../registry/socket-options.js";
import type { Source } from "../source.js";
import { readsOf } from "../source.test.helper.js";
import { createGrpcUnary, type GrpcUnaryOptions } from "./grpc-unary.js";

const path = (method: string, channelzPackage = "rpc.channelz.v1"): string => `/${channelzPackage}.Channelz/${method}`;

const stops: (() => void)[] = [];
/** The registry removes what the application drops, so the tests hold on to it. */
const held: unknown[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function serve(source: Source, options: Partial<GrpcUnaryOptions> = {}): Promise<ClientHttp2Session> {
  const grpcUnary = createGrpcUnary(source, { maxMessageBytes: 1024, ...options });
  const server: Http2Server = createServer();
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    if (!grpcUnary(stream, headers)) stream.respond({ ":status": 404 }, { endStream: true });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = await openSession(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  stops.push(() => {
    session.destroy();
    server.close();
  });
  return session;
}

test.each(channelzPackages)(
  "[CZ-D-PATH-1] returns a page in one frame under %s, from bytes and from messages",
  async (channelzPackage) => {
    const registry = createRegistry();
    const channel = registry.addChannel({ target: "dns:///a" });
    held.push(channel);
    // The registry responds in bytes, its reads with messages.
    for (const source of [registry, readsOf(registry)]) {
      const session = await serve(source);
      const request = toBinary(GetTopChannelsRequestSchema, {
        $typeName: "rpc.channelz.v1.GetTopChannelsRequest",
        startChannelId: 0n,
        maxResults: 10n,
      });
      const response = await rawGrpc(session, path("GetTopChannels", channelzPackage), grpcFrame(request));
      expect(response.headers).toMatchObject({ ":status": 200, "content-type": "application/grpc" });
      expect(response.trailers["grpc-status"]).toBe("0");
      expect(response.body[0]).toBe(0);
      expect(response.body.readUInt32BE(1)).toBe(response.body.length - 5);
      const page = fromBinary(GetTopChannelsResponseSchema, response.body.subarray(5));
      expect(page.channel.map((one) => one.ref?.channelId)).toEqual([BigInt(channel.id)]);
      expect(page.end).toBe(true);
    }
  },
);

test.each(channelzPackages)(
  "[CZ-D-VER-2] names a payload after %s, from bytes and from messages",
  async (channelzPackage) => {
    const registry = createRegistry();
    const subject = {};
    const socket = registry.addSocket({ subject, describe: () => ({ options: [lingerOption(true, 10)] }) });
    held.push(socket, subject);
    for (const source of [registry, readsOf(registry)]) {
      const response = await rawGrpc(
        await serve(source),
        path("GetSocket", channelzPackage),
        grpcFrame([0x08, socket.id]),
      );
      const { socket: found } = fromBinary(GetSocketResponseSchema, response.body.subarray(5));
      expect(found?.data?.option[0]?.additional?.typeUrl).toBe(
        `type.googleapis.com/${channelzPackage}.SocketOptionLinger`,
      );
    }
  },
);

test("[CZ-ERR-1] returns an error without a message frame: only status and reason", async () => {
  const registry = createRegistry();
  for (const source of [registry, readsOf(registry)]) {
    const response = await rawGrpc(await serve(source), path("GetServer"), grpcFrame([0x08, 7]));
    expect(response.grpcStatus).toBe(Code.NotFound);
    expect(response.grpcMessage).toContain("7");
    expect(response.body).toHaveLength(0);
    expect(response.trailers).toEqual({});
  }
});

test.each([
  ["no message", Buffer.alloc(0), Code.Unimplemented],
  ["two messages", Buffer.concat([grpcFrame(), grpcFrame()]), Code.Unimplemented],
  ["half a frame header", Buffer.from([0, 0]), Code.InvalidArgument],
  ["a frame that is cut short", Buffer.from([0, 0, 0, 0, 9, 8, 1]), Code.InvalidArgument],
  ["a frame of a kind that does not exist", Buffer.from([7, 0, 0, 0, 0]), Code.InvalidArgument],
  ["a compressed message without its encoding", Buffer.from([1, 0, 0, 0, 0]), Code.Internal],
  ["bytes that are no protobuf", grpcFrame([0xff, 0xff, 0xff]), Code.InvalidArgument],
])("refuses a body with %s", async (_, body, status) => {
  const response = await rawGrpc(await serve(createRegistry()), path("GetServers"), body);
  expect(response.grpcStatus).toBe(status);
  expect(response.grpcMessage).not.toBe("");
});

test("assembles a request that arrives in many small pieces", async () => {
  const registry = createRegistry();
  const server = registry.addServer({ name: "api" });
  held.push(server);
  const pieces = [...grpcFrame([0x08, server.id])].map((byte) => Buffer.from([byte]));
  const response = await rawGrpc(await serve(registry), path("GetServer"), pieces);
  expect(response.grpcStatus).toBe(0);
});

test("[CZ-D-LISTEN-2] refuses a message by its announced length if it is too large, and counts it once", async () => {
  let tooLarge = 0;
  const session = await serve(createRegistry(), { maxMessageBytes: 100, onTooLarge: () => tooLarge++ });
  const announced = await rawGrpc(session, path("GetServers"), Buffer.from([0, 0xff, 0, 0, 0]));
  expect(announced.grpcStatus).toBe(Code.ResourceExhausted);
  const sent = await rawGrpc(session, path("GetServers"), [Buffer.from([0]), Buffer.alloc(300), Buffer.alloc(300)]);
  expect(sent.grpcStatus).toBe(Code.ResourceExhausted);
  expect(tooLarge).toBe(2);
});

test("returns UNIMPLEMENTED for a method that Channelz does not have", async () => {
  const response = await rawGrpc(await serve(createRegistry()), path("DropTables"));
  expect(response.grpcStatus).toBe(Code.Unimplemented);
  expect(response.grpcMessage).toContain("DropTables");
});

test.each([
  ["another service", "/a.B/C", {}],
  ["a compressed request", path("GetServers"), { "grpc-encoding": "gzip" }],
  ["JSON in gRPC", path("GetServers"), { "content-type": "application/grpc+json" }],
  ["gRPC-Web", path("GetServers"), { "content-type": "application/grpc-web+proto" }],
])("leaves %s to the router", async (_, at, headers) => {
  expect((await rawGrpc(await serve(createRegistry()), at, grpcFrame(), headers)).headers[":status"]).toBe(404);
});

test("ends a read at the caller's deadline, and aborts the signal of the source", async () => {
  let signal: AbortSignal | undefined;
  const source: Source = {
    ...readsOf(createRegistry()),
    getServers: (_, options) => {
      signal = options?.signal;
      return new Promise(() => {});
    },
  };
  const response = await rawGrpc(await serve(source), path("GetServers"), grpcFrame(), { "grpc-timeout": "20m" });
  expect(response.grpcStatus).toBe(Code.DeadlineExceeded);
  expect(signal?.aborted).toBe(true);
});

test("aborts the signal of the source when the caller disconnects, and ignores the late response", async () => {
  let signal: AbortSignal | undefined;
  let finish = (): void => {};
  const registry = createRegistry();
  const source: Source = {
    ...readsOf(registry),
    getServers: async (_, options) => {
      signal = options?.signal;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return registry.getServers();
    },
  };
  const session = await serve(source);
  const stream = session.request({
    ":method": "POST",
    ":path": path("GetServers"),
    "content-type": "application/grpc",
  });
  stream.on("error", () => {});
  stream.end(grpcFrame());
  await eventually(() => signal !== undefined);
  stream.close(8);
  await eventually(() => signal?.aborted === true);
  finish();
  expect((await rawGrpc(session, path("GetTopChannels"))).grpcStatus).toBe(0);
});

test("keeps the connection for others after a caller resets in the middle of its request", async () => {
  const session = await serve(createRegistry());
  const stream = session.request({
    ":method": "POST",
    ":path": path("GetServers"),
    "content-type": "application/grpc",
  });
  stream.on("error", () => {});
  stream.write(Buffer.from([0, 0, 0]));
  stream.close(8);
  expect((await rawGrpc(session, path("GetServers"))).grpcStatus).toBe(0);
});

test("returns INTERNAL without details if a source throws another error", async () => {
  const registry = createRegistry();
  const failing = Object.assign(createRegistry(), {
    encode: () => {
      throw new Error("password is hunter2");
    },
  });
  const rejecting: Source = {
    ...readsOf(registry),
    getServers: () => Promise.reject(new Error("password is hunter2")),
  };
  for (const source of [failing, rejecting]) {
    const response = await rawGrpc(await serve(source), path("GetServers"));
    expect(response.grpcStatus).toBe(Code.Internal);
    expect(response.grpcMessage).not.toContain("hunter2");
  }
});
