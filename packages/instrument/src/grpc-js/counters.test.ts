import * as grpc from "@grpc/grpc-js";
import type { Registry } from "@wirescope/channelz";
import { beforeEach, describe, expect, test } from "vitest";
import { endHeaders, endStream, errorCode, frameTypes, rawClient, rawServer } from "../http2/raw-peer.test.helper.js";
import {
  chat,
  collect,
  connect,
  type EchoClient,
  expand,
  missing,
  passThrough,
  readAll,
  serve,
  unary,
} from "./echo.test.helper.js";
import { createObservedRegistry } from "./observed-registry.test.helper.js";
import {
  calls,
  type Ends,
  events,
  eventually,
  messages,
  readAccepted,
  readEnds,
  readSockets,
  readSubchannels,
  settled,
  streams,
} from "./reading.test.helper.js";

let registry: Registry;

beforeEach(() => {
  registry = createObservedRegistry();
});

async function clientAndServer(): Promise<{ client: EchoClient; server: grpc.Server }> {
  const { target, server } = await serve();
  return { client: connect(target), server };
}

function expectCalls(ends: Ends, ...expected: bigint[]): void {
  for (const end of [ends.channel, ends.subchannel, ends.server]) expect(calls(end)).toEqual(expected);
}

function expectStreams(ends: Ends, ...expected: bigint[]): void {
  for (const end of [ends.client, ends.accepted]) expect(streams(end)).toEqual(expected);
}

function expectMessages(ends: Ends, fromClient: bigint, fromServer: bigint): void {
  expect(messages(ends.client)).toEqual([fromClient, fromServer]);
  expect(messages(ends.accepted)).toEqual([fromServer, fromClient]);
}

describe("counters of both ends", () => {
  test("[CZ-SOCKET-5] [CZ-SOCKET-6] [CZ-SOCKET-8] [CZ-DATA-4] [CZ-SERVER-3] counts successful calls of all four kinds the same on both ends", async () => {
    const { client } = await clientAndServer();
    expect(await unary(client)).toMatchObject({ code: 0, texts: ["hello"] });
    expectMessages(await settled(registry), 1n, 1n);
    expect((await expand(client, "5")).texts).toHaveLength(5);
    expectMessages(await settled(registry), 2n, 6n);
    expect((await collect(client, "a", "b", "c")).texts).toEqual(["a,b,c"]);
    expectMessages(await settled(registry), 5n, 7n);
    expect((await chat(client, "a", "b")).texts).toEqual(["a", "b"]);
    const ends = await settled(registry);
    expectMessages(ends, 7n, 9n);
    expectCalls(ends, 4n, 4n, 0n);
    expectStreams(ends, 4n, 4n, 0n);
  });

  test("[CZ-SOCKET-6] [CZ-DATA-5] counts errors with trailers as failed calls on successful streams", async () => {
    const { client } = await clientAndServer();
    expect(await unary(client, "fail")).toMatchObject({ code: grpc.status.FAILED_PRECONDITION, reason: "requested" });
    expect(await expand(client, "3 and fail")).toMatchObject({ code: grpc.status.FAILED_PRECONDITION });
    expect(await collect(client, "fail")).toMatchObject({ code: grpc.status.FAILED_PRECONDITION });
    expect(await chat(client, "fail")).toMatchObject({ code: grpc.status.FAILED_PRECONDITION });
    const ends = await settled(registry);
    expectCalls(ends, 4n, 0n, 4n);
    expectStreams(ends, 4n, 4n, 0n);
    expectMessages(ends, 4n, 3n);
  });

  test("[CZ-SOCKET-6] counts UNIMPLEMENTED as a failed call on a successful stream", async () => {
    const { client } = await clientAndServer();
    expect(await missing(client)).toMatchObject({ code: grpc.status.UNIMPLEMENTED });
    const ends = await settled(registry);
    expectCalls(ends, 1n, 0n, 1n);
    expectStreams(ends, 1n, 1n, 0n);
  });

  test("[CZ-SOCKET-7] [CZ-DATA-4] [CZ-DATA-5] counts cancelled calls as failed streams, next to one that succeeds", async () => {
    const { client } = await clientAndServer();
    await unary(client);
    const unanswered = new Promise<number | undefined>((resolve) => {
      const call = client.unary({ text: "hang" }, (error) => resolve(error?.code));
      void eventually(async () => expect(streams((await readEnds(registry)).accepted)[0]).toBe(2n)).then(() =>
        call.cancel(),
      );
    });
    expect(await unanswered).toBe(grpc.status.CANCELLED);
    const stream = client.expand({ text: "1 and hang" });
    stream.once("data", () => stream.cancel());
    expect(await readAll(stream)).toMatchObject({ code: grpc.status.CANCELLED });
    const ends = await settled(registry);
    expectCalls(ends, 3n, 1n, 2n);
    expectStreams(ends, 3n, 1n, 2n);
  });

  test("counts a call that exceeds its deadline as failed, whichever end notices first", async () => {
    const { client } = await clientAndServer();
    await unary(client);
    expect(await unary(client, "hang", { deadline: Date.now() + 500 })).toMatchObject({
      code: grpc.status.DEADLINE_EXCEEDED,
    });
    const ends = await settled(registry);
    expectCalls(ends, 2n, 1n, 1n);
    expect([streams(ends.client)[0], streams(ends.accepted)[0]]).toEqual([2n, 2n]);
  });

  test("[CZ-SOCKET-7] counts only the calls in progress as failed when a connection is lost", async () => {
    const { target } = await serve();
    const proxy = await passThrough(Number(target.split(":")[1]));
    const client = connect(`127.0.0.1:${proxy.port}`);
    await unary(client);
    const before = await readEnds(registry);
    const hanging = [unary(client, "hang"), unary(client, "hang")];
    await eventually(async () => expect(streams((await readEnds(registry)).accepted)).toEqual([3n, 1n, 0n]));
    proxy.cut();
    for (const call of hanging) expect(await call).toMatchObject({ code: grpc.status.UNAVAILABLE });
    await eventually(async () => {
      for (const { ref } of [before.client, before.accepted]) {
        const { socket } = await registry.getSocket(ref!.socketId);
        expect(streams(socket!)).toEqual([3n, 1n, 2n]);
      }
      const { channel } = await registry.getChannel(before.channel.ref!.channelId);
      const { subchannel } = await registry.getSubchannel(before.subchannel.ref!.subchannelId);
      const { server } = await registry.getServer(before.server.ref!.serverId);
      for (const end of [channel, subchannel, server]) expect(calls(end!)).toEqual([3n, 1n, 2n]);
    });
  });

  test("completes calls in flight after GOAWAY from a server that shuts down, and traces the code", async () => {
    const { client, server } = await clientAndServer();
    const chatting = client.chat();
    const done = readAll(chatting);
    chatting.write({ text: "one" });
    await eventually(async () => expect(messages((await readEnds(registry)).client)).toEqual([1n, 1n]));
    const before = await readEnds(registry);
    const shutdown = new Promise((resolve) => server.tryShutdown(resolve));
    await eventually(async () => {
      const { subchannel } = await registry.getSubchannel(before.subchannel.ref!.subchannelId);
      expect(events(subchannel!.data!.trace)).toContain("GOAWAY with NO_ERROR");
    });
    chatting.write({ text: "two" });
    chatting.end();
    expect(await done).toMatchObject({ code: 0, texts: ["one", "two"] });
    await shutdown;
    await eventually(async () => {
      for (const { ref } of [before.client, before.accepted]) {
        const { socket } = await registry.getSocket(ref!.socketId);
        expect(streams(socket!)).toEqual([1n, 1n, 0n]);
        expect(messages(socket!)).toEqual([2n, 2n]);
      }
      expect(calls((await registry.getServer(before.server.ref!.serverId)).server!)).toEqual([1n, 1n, 0n]);
      expect(registry.size).toMatchObject({ servers: 0, sockets: 0 });
    });
  });

  test("counts every started call as succeeded, failed or in progress at any moment", async () => {
    const { client } = await clientAndServer();
    const chats = Array.from({ length: 10 }, () => client.chat());
    const responses = chats.map(readAll);
    for (const one of chats) one.write({ text: "x" });
    await eventually(async () => expect(messages((await readEnds(registry)).client)).toEqual([10n, 10n]));
    for (const [done, one] of chats.entries()) {
      const ends = await readEnds(registry);
      expectCalls(ends, 10n, BigInt(done), 0n);
      expectStreams(ends, 10n, BigInt(done), 0n);
      one.end();
      await responses[done];
      await eventually(async () => {
        const now = await readEnds(registry);
        expectCalls(now, 10n, BigInt(done + 1), 0n);
        expectStreams(now, 10n, BigInt(done + 1), 0n);
      });
    }
  });
});

describe("a peer that writes frames by hand", () => {
  test.each([
    [0, grpc.status.INTERNAL],
    [2, grpc.status.INTERNAL],
    [7, grpc.status.UNAVAILABLE],
    [8, grpc.status.CANCELLED],
    [11, grpc.status.RESOURCE_EXHAUSTED],
  ])(
    "[CZ-SOCKET-7] counts a stream that is reset with code %i as failed, and the call with status %i",
    async (code, status) => {
      const raw = await rawServer();
      const client = connect(`127.0.0.1:${raw.port}`);
      const response = readAll(client.expand({ text: "" }));
      const peer = await raw.peer;
      const { streamId } = await peer.frame(({ type }) => type === frameTypes.headers);
      peer.write(frameTypes.rstStream, 0, streamId, errorCode(code));
      // grpc-js retries a refused stream once, on a second stream.
      if (code === 7) {
        const again = await peer.frame((frame) => frame.type === frameTypes.headers && frame.streamId !== streamId);
        peer.write(frameTypes.rstStream, 0, again.streamId, errorCode(code));
      }
      const count = code === 7 ? 2n : 1n;
      expect((await response).code).toBe(status);
      await eventually(async () => {
        const channel = (await registry.getTopChannels()).channel[0]!;
        const subchannel = (await readSubchannels(registry, channel))[0]!;
        const socket = (await readSockets(registry, subchannel))[0]!;
        expect(calls(channel)).toEqual([1n, 0n, 1n]);
        expect(calls(subchannel)).toEqual([count, 0n, count]);
        expect(streams(socket)).toEqual([count, 0n, count]);
      });
      raw.close();
    },
  );

  test("[CZ-SOCKET-7] counts a stream that the caller resets as failed, and traces the code", async () => {
    const { target } = await serve();
    const peer = await rawClient(Number(target.split(":")[1]));
    peer.write(frameTypes.headers, endHeaders, 1, requestHeaders("/wirescope.test.Echo/Chat"));
    await peer.frame(({ type }) => type === frameTypes.settings);
    await eventually(async () => {
      const server = (await registry.getServers()).server[0]!;
      expect(calls(server)).toEqual([1n, 0n, 0n]);
    });
    peer.write(frameTypes.rstStream, 0, 1, errorCode(8));
    await eventually(async () => {
      const server = (await registry.getServers()).server[0]!;
      expect(calls(server)).toEqual([1n, 0n, 1n]);
      expect(streams((await readAccepted(registry, server))[0]!)).toEqual([1n, 0n, 1n]);
      expect(events(server.data!.trace)).toContain("Stream reset: CANCEL");
    });
    peer.cut();
  });

  test("counts a request that is not gRPC as a failed call on a successful stream", async () => {
    const { target } = await serve();
    const peer = await rawClient(Number(target.split(":")[1]));
    peer.write(frameTypes.headers, endHeaders | endStream, 1, Buffer.from([0x83, 0x86, 0x84, 0x41, 0x01, 0x61]));
    await eventually(async () => {
      const server = (await registry.getServers()).server[0]!;
      expect(calls(server)).toEqual([1n, 0n, 1n]);
      expect(streams((await readAccepted(registry, server))[0]!)).toEqual([1n, 1n, 0n]);
    });
    peer.cut();
  });
});

/** The headers of a call, in HPACK with only the static table. */
function requestHeaders(path: string): Buffer {
  const literal = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
  return Buffer.concat([
    Buffer.from([0x83, 0x86, 0x04]),
    literal(path),
    Buffer.from([0x41, 0x01, 0x61, 0x0f, 0x10]),
    literal("application/grpc"),
    Buffer.from([0x00]),
    literal("te"),
    literal("trailers"),
  ]);
}
